// @ts-check
/** Log lines about requests, starts and stops, on the console and in a file. summary.mjs sums them up. */
import { createWriteStream } from 'node:fs';

export class Log {
  /** @param {string} file lines are added to it */
  constructor(file) {
    this.stream = createWriteStream(file, { flags: 'a' });
    this.stream.on('error', (error) => console.error(`The log cannot be written: ${error.message}`));
  }

  /** @param {string} text */
  info(text) {
    this.#line(`INFO: ${text}`);
  }

  /** @param {unknown} error */
  error(error) {
    this.#line(`ERROR: ${error instanceof Error ? error.message : String(error)}`);
  }

  /**
   * @param {import('./request.mjs').Request} request
   * @param {number} status
   * @param {number} ms
   */
  request({ method, uri }, status, ms) {
    this.#line(`${method} ${uri} ${status} (${Math.round(ms)}ms)`);
  }

  /** Resolves when all is in the file. */
  end() {
    return new Promise((resolve) => this.stream.end(resolve));
  }

  /** @param {string} text */
  #line(text) {
    const now = new Date();
    const local = new Date(now.getTime() - now.getTimezoneOffset() * 60_000).toISOString();
    // Line breaks in the text must not start a new line.
    const line = `[${local.slice(0, 10)} ${local.slice(11, 19)}] ${text.replace(/\p{Cc}/gu, ' ')}\n`;
    process.stdout.write(line);
    this.stream.write(line);
  }
}
