// A raw RESP client: sends exact bytes, and splits its input into complete replies without interpreting them.
import net from 'node:net';
import secure from 'node:tls';

import { SOON, within } from './deadline.mjs';
import { connectOptions } from './http.mjs';

/** The bytes of a request. */
export function request(...words) {
  const parts = words.flatMap((word) => {
    const bytes = Buffer.from(word);
    return [Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n')];
  });
  return Buffer.concat([Buffer.from(`*${words.length}\r\n`), ...parts]);
}

/** Connects. Pass ava's `t` to destroy the connection after the test. `tls`: options of `tls.connect`. */
export async function connect(t, address, { tls, localAddress } = {}) {
  const bare = net.connect({ ...connectOptions(address), localAddress, noDelay: true });
  const socket = tls === undefined ? bare : secure.connect({ socket: bare, ...tls });
  t.teardown(() => socket.destroy());
  if (tls !== undefined) bare.on('error', () => {});
  const client = new RespClient(socket);
  await within(client.opened, 'a connection');
  return client;
}

export class RespClient {
  /** Complete replies that were not read yet. */
  #inbox = [];
  #rest = Buffer.alloc(0);
  #waiting = [];
  #socket;
  /** Resolves when the server has ended the connection. */
  ended;
  opened;
  received = 0;

  constructor(socket) {
    this.#socket = socket;
    this.opened = new Promise((resolve, reject) => {
      socket.once(socket.encrypted ? 'secureConnect' : 'connect', resolve);
      socket.once('error', reject);
    });
    this.ended = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => {});
    socket.on('data', (chunk) => this.#take(chunk));
    socket.once('close', () => {
      for (const { reject } of this.#waiting.splice(0)) reject(new Error(`the connection ended${this.#shown()}`));
    });
  }

  /** Sends bytes, or words as a request. */
  send(...words) {
    const bytes = words.length === 1 && Buffer.isBuffer(words[0]) ? words[0] : request(...words);
    return this.#socket.write(bytes);
  }

  /** Sends a request; resolves with the next reply, as latin1 text. */
  ask(...words) {
    this.send(...words);
    return this.next();
  }

  /** The next reply or push, as latin1 text. */
  next() {
    const next = this.#inbox.shift();
    if (next !== undefined) return Promise.resolve(next);
    const waiting = new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
    return within(waiting, () => `a reply${this.#shown()}`);
  }

  /** The next replies. */
  async take(count) {
    const replies = [];
    while (replies.length < count) replies.push(await this.next());
    return replies;
  }

  /** Received replies that were not read, including an incomplete one. */
  get left() {
    return this.#inbox.join('') + this.#rest.toString('latin1');
  }

  pause() {
    this.#socket.pause();
  }

  resume() {
    this.#socket.resume();
  }

  end() {
    this.#socket.end();
  }

  /** Resolves when the server has ended the connection, or rejects after `ms`. */
  over(ms = SOON) {
    return within(this.ended, 'the end of the connection', ms);
  }

  #take(chunk) {
    this.received += chunk.length;
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let start = 0;
    for (;;) {
      const end = endOf(this.#rest, start);
      if (end === undefined) break;
      const reply = this.#rest.toString('latin1', start, end);
      start = end;
      const waiting = this.#waiting.shift();
      if (waiting === undefined) this.#inbox.push(reply);
      else waiting.resolve(reply);
    }
    this.#rest = this.#rest.subarray(start);
  }

  #shown() {
    return this.#rest.length === 0 ? '' : `; there is ${JSON.stringify(this.#rest.toString('latin1').slice(0, 200))}`;
  }
}

/** The end of the reply that begins at `start`; undefined: it is incomplete. */
export function endOf(bytes, start) {
  const line = bytes.indexOf('\r\n', start);
  if (line < 0) return undefined;
  const kind = String.fromCharCode(bytes[start]);
  const number = Number(bytes.toString('latin1', start + 1, line));
  let end = line + 2;
  if (kind === '$' || kind === '=') {
    if (number >= 0) end += number + 2;
    return end <= bytes.length ? end : undefined;
  }
  if (!'*%~>'.includes(kind)) return end;
  for (let left = kind === '%' ? 2 * number : number; left > 0; left--) {
    end = endOf(bytes, end);
    if (end === undefined) return undefined;
  }
  return end;
}
