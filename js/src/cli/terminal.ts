/** Writing for people and pipes: lines, colours where they are wanted, a progress line. */

import { wantsColour } from '../log/log.js';
import { type Stream, write } from '../log/output.js';

/** Writes one line, or several. */
export function line(stream: Stream, text: string): void {
  write(stream, `${text}\n`);
}

/** Text in bold, where a terminal shows colours. */
export function bold(stream: Stream, text: string): string {
  return wantsColour(stream) ? `\x1b[1m${text}\x1b[0m` : text;
}

/** A line of progress: on a terminal it takes the place of the one before. */
export function progress(stream: Stream, text: string): void {
  write(stream, stream.isTTY ? `\r\x1b[K${text}` : `${text}\n`);
}

/** After the last line of progress. */
export function endProgress(stream: Stream): void {
  if (stream.isTTY) write(stream, '\r\x1b[K');
}
