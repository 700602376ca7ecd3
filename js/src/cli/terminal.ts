/** Writing for people and pipes: lines, colours where they are wanted, a progress line. */

import { wantsColour } from '../log.js';

/** A place to write to. */
export type Stream = Pick<NodeJS.WriteStream, 'write' | 'isTTY'>;

/** Writes one line, or several. */
export function line(stream: Stream, text: string): void {
  stream.write(`${text}\n`);
}

/** Text in bold, where a terminal shows colours. */
export function bold(stream: Stream, text: string): string {
  return wantsColour(stream) ? `\x1b[1m${text}\x1b[0m` : text;
}

/** A line of progress: on a terminal it takes the place of the one before. */
export function progress(stream: Stream, text: string): void {
  stream.write(stream.isTTY ? `\r\x1b[K${text}` : `${text}\n`);
}

/** After the last line of progress. */
export function endProgress(stream: Stream): void {
  if (stream.isTTY) stream.write('\r\x1b[K');
}
