/**
 * Writes to the standard streams. A closed pipe, such as the output of a log viewer that was ended, must not end a
 * server. Formats nothing, and does not protect what the application prints itself.
 */

/** A standard stream. */
export type Stream = Pick<NodeJS.WriteStream, 'write' | 'isTTY' | 'once' | 'listeners'>;

/** Writes a text. If that fails, the text is lost, as with `console.error`. */
export function write(stream: Stream, text: string): void {
  try {
    stream.write(text, (error) => {
      // the event `error` follows; listen beside other listeners, because a stream without a listener throws
      if (error && !stream.listeners('error').includes(ignore)) stream.once('error', ignore);
    });
  } catch {
    // some runtimes throw the error instead of emitting it
  }
}

function ignore(): void {}
