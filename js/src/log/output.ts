/**
 * Writing to the standard streams. A line of ours that nobody reads any more does not end a server. Formats nothing,
 * and does not guard what the application prints.
 */

/** A place to write to. */
export type Stream = Pick<NodeJS.WriteStream, 'write' | 'isTTY' | 'once' | 'listeners'>;

/** Writes a text. One that cannot be written is lost, as with `console.error`. */
export function write(stream: Stream, text: string): void {
  try {
    stream.write(text, (error) => {
      // the event follows; to listen besides others is needed, because a pipe throws where it listened alone
      if (error && !stream.listeners('error').includes(ignore)) stream.once('error', ignore);
    });
  } catch {
    // some runtimes throw what others emit
  }
}

function ignore(): void {}
