// Splice with the ws package: a client, and targets.
import { once } from 'node:events';
import { WebSocket, WebSocketServer } from 'ws';

import { within } from './deadline.mjs';

const CONTROL = Buffer.of(255, 255);

/** A target on a free port, which sends every message back; `url()`, and its `clients`. Ends with the test. */
export async function echoTarget(t, host = '127.0.0.1') {
  const server = new WebSocketServer({ host, port: 0 });
  t.teardown(() => {
    for (const client of server.clients) client.terminate();
    server.close();
  });
  await once(server, 'listening');
  server.on('connection', (socket) => {
    socket.on('error', () => {});
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
  });
  const { port } = server.address();
  return { server, url: (name = '127.0.0.1') => `ws://${name}:${port}/` };
}

/** A client of the multiplexer. */
export class Session {
  /** Messages of its targets: `{index, text, isBinary}`. */
  messages = [];
  /** Events of the multiplexer. */
  events = [];
  #replies = new Map();
  #serial = 0;
  #changed = () => {};

  /** Connects; `address` is one of `addresses`, options are those of `ws`. Ends with the test. */
  static async open(t, address, { secure = false, ...options } = {}) {
    const url = address.startsWith('unix:') ? `ws+${address}:/` : `${secure ? 'wss' : 'ws'}://${address}/`;
    const session = new Session(new WebSocket(url, options));
    t.teardown(() => session.ws.terminate());
    await within(once(session.ws, 'open'), 'the handshake');
    return session;
  }

  constructor(ws) {
    this.ws = ws;
    this.closed = new Promise((resolve) => {
      ws.once('close', (code, reason) => resolve({ code, reason: String(reason) }));
    });
    ws.on('error', () => {});
    ws.on('message', (data, isBinary) => {
      this.#take(data, isBinary);
      this.#changed();
    });
  }

  /** Calls a method; resolves with the result, or `{error}`. */
  async call(method, params) {
    const id = ++this.#serial;
    this.control(JSON.stringify({ id, type: 'method', method, params }));
    return this.#when(() => this.#replies.get(id), `the reply to ${method}`);
  }

  /** Sends text on the control channel. */
  control(text) {
    this.ws.send(Buffer.concat([CONTROL, Buffer.from(text)]));
  }

  /** Sends a text to a target; resolves with the answer: `{index, text, isBinary}`. */
  async echo(index, text) {
    this.ws.send(Buffer.concat([Buffer.of(index >> 8, index & 255), Buffer.from(text)]), { binary: false });
    return this.#when(() => this.messages.shift(), 'the echo');
  }

  /** The next unread event. */
  async event() {
    return this.#when(() => this.events.shift(), 'an event');
  }

  /** Resolves with the result of `look` when it is not undefined. */
  #when(look, what) {
    const seen = new Promise((resolve, reject) => {
      this.#changed = () => {
        const value = look();
        if (value !== undefined) resolve(value);
      };
      this.closed.then(({ code }) => reject(new Error(`closed with ${code}, waiting for ${what}`)));
      this.#changed();
    });
    return within(seen, what);
  }

  #take(data, isBinary) {
    const index = data.readUInt16BE(0);
    const text = data.toString('utf8', 2);
    if (index !== 0xffff) {
      this.messages.push({ index, text, isBinary });
      return;
    }
    const { id, type, method, params, result, error } = JSON.parse(text);
    if (type === 'reply') this.#replies.set(id, result ?? { error });
    else this.events.push({ method, params });
  }
}

/** Resolves with the target's side of a connection when the multiplexer has connected. */
export async function reach(session, target) {
  const [[socket], reached] = await within(
    Promise.all([once(target.server, 'connection'), session.call('connect', { url: target.url() })]),
    'the target',
  );
  const closed = new Promise((resolve) => {
    socket.once('close', (code, reason) => resolve({ code, reason: String(reason) }));
  });
  return { ...reached, socket, closed };
}
