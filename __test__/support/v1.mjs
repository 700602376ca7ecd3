// A client of the subprotocol `millrace.v1`, on the client of `ws`. It checks that each message is a header, one line of
// JSON, with a payload or without.
import { once } from 'node:events';

import WebSocket from 'ws';

import { within } from './deadline.mjs';

/** The frames of a message: text if the payload is, or if there is none. */
export function encoded(header, payload) {
  const line = typeof header === 'string' ? header : JSON.stringify(header);
  if (payload === undefined) return line;
  if (typeof payload === 'string') return `${line}\n${payload}`;
  return Buffer.concat([Buffer.from(`${line}\n`), payload]);
}

/** `[header]`, or `[header, payload]` with the payload as text or bytes. */
export function decoded(data, isBinary) {
  const end = data.indexOf('\n');
  const header = JSON.parse((end === -1 ? data : data.slice(0, end)).toString());
  if (end === -1) return [header];
  const payload = data.slice(end + 1);
  return [header, isBinary ? payload : payload.toString()];
}

/** Opens a connection, and waits for `hi`. Options: protocols, path, and those of `ws`. */
export async function speak(t, server, { protocols = ['millrace.v1'], path = '/', address, ...options } = {}) {
  const client = new V1Client(`ws://${address ?? server.addresses[0]}${path}`, protocols, options);
  t.teardown(() => client.ws.terminate());
  await within(client.opened, 'the handshake');
  if (client.ws.protocol !== 'millrace.v1') return client;
  [client.hi] = await client.next();
  return client;
}

export class V1Client {
  hi = undefined;
  closed = undefined;
  #inbox = [];
  #waiting = [];
  #serial = 0;

  constructor(url, protocols, options) {
    this.ws = new WebSocket(url, protocols, options);
    this.opened = once(this.ws, 'open');
    this.ended = once(this.ws, 'close').then(([code, reason]) => {
      this.closed = { code, reason: reason.toString() };
      for (const { reject } of this.#waiting.splice(0)) reject(this.#over());
      return this.closed;
    });
    this.ended.catch(() => {});
    this.ws.on('message', (data, isBinary) => {
      const message = this.ws.protocol === 'millrace.v1' ? decoded(data, isBinary) : data.toString();
      const waiting = this.#waiting.shift();
      if (waiting) waiting.resolve(message);
      else this.#inbox.push(message);
    });
  }

  /** Sends a message. A header that is text is sent as it is. */
  send(header, payload) {
    this.ws.send(encoded(header, payload));
  }

  /** The next message: `[header]` or `[header, payload]`; without the subprotocol the message itself. */
  next() {
    const message = this.#inbox.shift();
    if (message !== undefined) return Promise.resolve(message);
    if (this.closed) return Promise.reject(this.#over());
    const arrived = new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
    return within(arrived, 'a message');
  }

  /** Sends a message with an id, and resolves with the header of the answer, which has to be the next message. */
  async ask(header, payload) {
    const id = ++this.#serial;
    this.send({ id, ...header }, payload);
    const [{ id: answered, ...answer }] = await this.next();
    if (answered !== id) throw new Error(`not the answer to ${id}: ${answered} ${JSON.stringify(answer)}`);
    return answer;
  }

  subscribe(c, more = {}) {
    return this.ask({ t: 'sub', c, ...more });
  }

  /** Everything that has come, once the server has answered what was sent until now. */
  async all() {
    this.send({ t: 'ping' });
    const messages = [];
    for (;;) {
      const message = await this.next();
      if (message[0].t === 'pong') return messages;
      messages.push(message);
    }
  }

  #over() {
    return new Error(`closed: ${this.closed.code} ${this.closed.reason}`);
  }
}
