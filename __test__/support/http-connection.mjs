// One raw HTTP/1.1 connection: sends exact bytes, and reads the answers one by one, in order.
import net from 'node:net';

import { SOON, within } from './deadline.mjs';
import { connectOptions, parseHead } from './http.mjs';

/** A request as bytes: `headers` is a list of lines, which follow `Host` unless `host` is null. */
export function request(line, headers = [], { host = 'localhost', body = '' } = {}) {
  const lines = [line, ...(host === null ? [] : [`Host: ${host}`]), ...headers];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body)]);
}

/** See the file. */
export class HttpConnection {
  /** What has come, in pieces, which are joined when somebody looks: there may be megabytes. */
  #pieces = [];
  /** The connection has ended. */
  over = false;
  /** The connection was reset instead of closed. */
  reset = false;
  #waiting = new Set();

  constructor(address, options = {}) {
    this.socket = net.connect({ ...connectOptions(address), allowHalfOpen: true, ...options });
    this.socket.setNoDelay(true);
    this.socket.on('data', (chunk) => {
      this.#pieces.push(chunk);
      this.#look();
    });
    for (const event of ['end', 'close', 'error']) {
      this.socket.on(event, (error) => {
        if (error instanceof Error) this.reset = true;
        this.over = true;
        this.#look();
      });
    }
  }

  /** What has come and was not taken as an answer. */
  get seen() {
    if (this.#pieces.length !== 1) this.#pieces = [Buffer.concat(this.#pieces)];
    return this.#pieces[0];
  }

  set seen(bytes) {
    this.#pieces = [bytes];
  }

  write(bytes) {
    this.socket.write(bytes);
    return this;
  }

  /** Ends the sending side. */
  half() {
    this.socket.end();
    return this;
  }

  destroy() {
    this.socket.destroy();
  }

  /** The next answer `{status, reason, headers, body, version}`; `head`: it answers HEAD. */
  answer({ head = false, ms = SOON } = {}) {
    return this.#when(() => this.#take(head), 'an answer', ms);
  }

  /** Resolves when the server has ended the connection, with the bytes that were not read. */
  async closed(ms = SOON) {
    await this.#when(() => this.over, 'the end of the connection', ms);
    this.destroy();
    return this.seen.toString('latin1');
  }

  #take(isHead) {
    const head = parseHead(this.seen);
    if (!head) {
      if (this.over) throw new Error(`the connection ended instead: ${JSON.stringify(this.seen.toString('latin1'))}`);
      return undefined;
    }
    const bodiless = isHead || head.status < 200 || head.status === 204 || head.status === 304;
    const length = bodiless ? 0 : Number(head.headers['content-length'] ?? 0);
    if (this.seen.length < head.length + length) return undefined;
    const version = this.seen.toString('latin1', 0, 8);
    const body = this.seen.toString('utf8', head.length, head.length + length);
    this.seen = this.seen.subarray(head.length + length);
    return { ...head, version, body };
  }

  #when(condition, what, ms) {
    let look;
    const promise = new Promise((resolve, reject) => {
      look = () => {
        try {
          const value = condition();
          if (value) resolve(value);
        } catch (error) {
          reject(error);
        }
      };
    });
    this.#waiting.add(look);
    look();
    return within(promise, () => `${what} after ${JSON.stringify(this.seen.toString('latin1'))}`, ms).finally(() =>
      this.#waiting.delete(look),
    );
  }

  #look() {
    for (const look of this.#waiting) look();
  }
}

/** A connection that is closed with its test. */
export function talk(t, address, options) {
  const connection = new HttpConnection(address, options);
  t.teardown(() => connection.destroy());
  return connection;
}
