/** Writes lines for terminals and pipes, with colours where they are supported, and a progress line. */

import { wantsColour } from '../log/log.js';
import { type Stream, write } from '../log/output.js';

/** Writes one or several lines. */
export function line(stream: Stream, text: string): void {
  write(stream, `${text}\n`);
}

/** A text in bold, if the terminal shows colours. */
export function bold(stream: Stream, text: string): string {
  return wantsColour(stream) ? `\x1b[1m${text}\x1b[0m` : text;
}

/** Writes a line of progress, which replaces the previous one on a terminal. */
export function progress(stream: Stream, text: string): void {
  write(stream, stream.isTTY ? `\r\x1b[K${text}` : `${text}\n`);
}

/** Ends the line of progress. */
export function endProgress(stream: Stream): void {
  if (stream.isTTY) write(stream, '\r\x1b[K');
}
