// A strict raw WebSocket client over node:net. It sends any bytes, and accepts from the server only what RFC 6455
// allows: everything else is recorded as a violation and fails the waiting test.
import net from 'node:net';
import secure from 'node:tls';

import { SOON, within } from './deadline.mjs';
import {
  BINARY,
  CLOSE,
  CONTINUATION,
  close,
  FrameParser,
  frame,
  PING,
  PONG,
  pong,
  TEXT,
  Violation,
} from './frames.mjs';
import { acceptOf, connectOptions, handshakeBytes, KEY, parseHead } from './http.mjs';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The server answered with another status than 101. */
export class Refused extends Error {
  constructor(response) {
    super(`handshake refused: ${response.status} ${response.body}`);
    this.status = response.status;
    this.headers = response.headers;
    this.body = response.body;
  }
}

/**
 * Connects and performs the handshake. Options: path, headers (as `handshakeBytes`), protocols (offered
 * subprotocols), before (bytes before everything else), after (bytes sent in the same segment as the handshake),
 * autoPong, autoClose (both true), compression (a `Compression` of deflate.mjs, whose offer is sent), paused (nothing is read after the handshake until `resume()`), localAddress, tls
 * (options of `tls.connect`), http2 (a client session of node:http2, in which it is a stream), ms. Pass ava's `t` to
 * destroy the connection after the test.
 */
export async function connect(t, address, options = {}) {
  for (;;) {
    const client = new WsClient(address, options);
    t?.teardown(() => client.destroy());
    try {
      await within(client.opened, 'the handshake', options.ms ?? SOON);
      return client;
    } catch (error) {
      client.destroy();
      if (!client.spokeLate || error.status !== 0) throw error;
    }
  }
}

/** How long a connected client may send nothing, in ms; the server's default timeout is twice as long. */
const LATE_MS = 1000;

export class WsClient {
  /** Complete messages that `next()` has not returned yet. */
  inbox = [];
  pings = [];
  pongs = [];
  /** `{code, reason}` of the server's close frame; code 1005 when it had none. */
  closeFrame = undefined;
  violation = undefined;
  /** The TCP connection has ended. */
  over = false;
  /** The server sent FIN (an orderly end), not a reset. */
  finished = false;
  /** Messages seen in total, replies to `request()` not included. */
  received = 0;
  /** The bytes of the server's compressed messages as they came. */
  compressedBytes = 0;
  /** This process was so busy that the handshake went out long after it could have. */
  spokeLate = false;
  #socket;
  #parser = new FrameParser();
  #parts = [];
  #kind = TEXT;
  #compressed = false;
  #waiters = new Set();
  #pending = new Map();
  #serial = 0;
  #options;

  constructor(address, options = {}) {
    this.#options = { autoPong: true, autoClose: true, ...options };
    const { localAddress, path = '/', headers, protocols, before, after, tls, http2 } = this.#options;
    const key = options.key ?? KEY;
    if (http2 === undefined) {
      const where = { ...connectOptions(address), localAddress, noDelay: true };
      const bare = net.connect(where);
      const began = performance.now();
      bare.once('connect', () => {
        this.spokeLate = performance.now() - began > LATE_MS;
      });
      if (before !== undefined) bare.write(before);
      this.#socket = tls === undefined ? bare : secure.connect({ socket: bare, host: where.host, ...tls });
      if (tls !== undefined) bare.on('error', () => {});
    } else this.#socket = http2.request(connectHeaders(address, path, { ...this.#offer(), ...headers }, protocols));
    this.#socket.on('error', () => {});
    this.#socket.on('end', () => {
      this.finished = true;
    });
    this.#socket.on('close', () => {
      this.over = true;
      this.#changed();
    });
    if (http2 !== undefined) {
      this.opened = this.#handshakeInHttp2();
      this.opened.catch(() => {});
      return;
    }
    const extra = protocols ? { 'Sec-WebSocket-Protocol': protocols.join(', ') } : {};
    const request = handshakeBytes({
      path,
      headers: Array.isArray(headers) ? headers : { ...extra, ...this.#offer(), 'Sec-WebSocket-Key': key, ...headers },
    });
    this.#socket.write(after ? Buffer.concat([request, after]) : request);
    this.opened = this.#handshake(acceptOf(key));
    this.opened.catch(() => {});
  }

  #handshake(accept) {
    return new Promise((resolve, reject) => {
      let seen = Buffer.alloc(0);
      const fail = () => reject(new Refused({ status: 0, headers: {}, body: 'closed without an answer' }));
      const onData = (chunk) => {
        seen = Buffer.concat([seen, chunk]);
        const head = parseHead(seen);
        if (!head) return;
        const rest = seen.subarray(head.length);
        if (head.status !== 101) {
          if (rest.length < Number(head.headers['content-length'] ?? 0)) return;
          reject(new Refused({ ...head, body: rest.toString() }));
          this.destroy();
          return;
        }
        this.headers = head.headers;
        this.#socket.off('data', onData);
        this.#socket.off('close', fail);
        if (head.headers['sec-websocket-accept'] !== accept) {
          reject(new Violation(`wrong Sec-WebSocket-Accept ${head.headers['sec-websocket-accept']}`));
          return;
        }
        try {
          this.#agree(head.headers['sec-websocket-extensions']);
        } catch (error) {
          reject(error);
          return;
        }
        if (this.#options.paused) this.#socket.pause();
        else this.#socket.on('data', (data) => this.#take(data));
        this.#take(rest);
        resolve(this);
      };
      this.#socket.on('data', onData);
      this.#socket.once('close', fail);
    });
  }

  #handshakeInHttp2() {
    return new Promise((resolve, reject) => {
      const fail = () => reject(new Refused({ status: 0, headers: {}, body: 'closed without an answer' }));
      this.#socket.once('close', fail);
      this.#socket.once('response', (headers) => {
        this.headers = headers;
        if (headers[':status'] === 200) {
          this.#socket.off('close', fail);
          this.#agree(headers['sec-websocket-extensions']);
          if (!this.#options.paused) this.#socket.on('data', (data) => this.#take(data));
          resolve(this);
          return;
        }
        let body = '';
        this.#socket.on('data', (chunk) => {
          body += chunk;
        });
        this.#socket.once('end', () => reject(new Refused({ status: headers[':status'], headers, body })));
      });
    });
  }

  #offer() {
    const { compression } = this.#options;
    return compression === undefined ? {} : { 'Sec-WebSocket-Extensions': compression.offer };
  }

  /** Takes the extensions of the answer, which are a violation without an offer. */
  #agree(extensions) {
    const { compression } = this.#options;
    if (compression !== undefined) this.#parser.compression = compression.agree(extensions);
    else if (extensions !== undefined && this.#options.headers?.['Sec-WebSocket-Extensions'] === undefined) {
      throw new Violation(`extensions that were not offered: ${extensions}`);
    }
  }

  /** Writes bytes as they are; a list is written piece by piece, each in its own turn of the event loop. */
  async raw(bytes) {
    if (!Array.isArray(bytes)) {
      this.#socket.write(bytes);
      return;
    }
    for (const piece of bytes) {
      this.#socket.write(piece);
      await new Promise(setImmediate);
    }
  }

  /** Sends one frame (see `frame`); returns false if the kernel's buffer is full. */
  frame(options) {
    return this.#socket.write(frame(options));
  }

  /** Sends a text (string) or binary message. */
  send(data) {
    return this.frame(typeof data === 'string' ? { opcode: TEXT, payload: data } : { opcode: BINARY, payload: data });
  }

  ping(payload) {
    return this.frame({ opcode: PING, payload });
  }

  close(code, reason) {
    this.#socket.write(close(code, reason));
  }

  pause() {
    this.#socket.pause();
  }

  /** Continues to read, or begins if it was opened paused. */
  resume() {
    if (this.#options.paused) {
      this.#options.paused = false;
      this.#socket.on('data', (data) => this.#take(data));
    }
    this.#socket.resume();
  }

  /** Ends our half of the TCP connection without a close frame. */
  end() {
    this.#socket.end();
  }

  /** Resets the TCP connection. */
  reset() {
    this.#socket.resetAndDestroy();
  }

  destroy() {
    this.#socket.destroy();
  }

  get bytesBuffered() {
    return this.#socket.writableLength;
  }

  get localPort() {
    return this.#socket.localPort;
  }

  /** Waits until `condition()` is truthy; rejects on a violation, when the connection ends, or at the deadline. */
  async when(condition, what, { ms = SOON, evenOver = false } = {}) {
    let check;
    const met = new Promise((resolve, reject) => {
      check = () => {
        const value = condition();
        if (value) resolve(value);
        else if (this.violation) reject(this.violation);
        else if (this.over && !evenOver) {
          const why = this.closeFrame ? `close ${this.closeFrame.code} ${this.closeFrame.reason}` : 'no close frame';
          reject(new Error(`connection over (${why}) while waiting for ${what}`));
        }
      };
      this.#waiters.add(check);
      check();
    });
    try {
      return await within(met, what, ms);
    } finally {
      this.#waiters.delete(check);
    }
  }

  /** The next message `{kind, data}`: kind is 'text' or 'binary', data a string or a Buffer. */
  async next(ms) {
    await this.when(() => this.inbox.length > 0, 'a message', { ms });
    return this.inbox.shift();
  }

  /** The next message's data, which must be text. */
  async text(ms) {
    const message = await this.next(ms);
    if (message.kind !== 'text') throw new Error(`expected text, got ${message.data.length} bytes of binary`);
    return message.data;
  }

  async json(ms) {
    return JSON.parse(await this.text(ms));
  }

  /** The payload of the next unread pong. */
  async pong(ms) {
    await this.when(() => this.pongs.length > 0, 'a pong', { ms });
    return this.pongs.shift();
  }

  /** Waits for the end of the TCP connection: `{code, reason, finished}`, code 1006 when no close frame came. */
  async closed(ms) {
    await this.when(() => this.over, 'the end of the connection', { ms, evenOver: true });
    if (this.violation) throw this.violation;
    return { code: 1006, reason: '', ...this.closeFrame, finished: this.finished };
  }

  /** Sends a command to a worker that answers `{"re": n, …}`; resolves with the parsed answer. */
  async ask(command, ms) {
    const serial = ++this.#serial;
    this.#pending.set(serial, undefined);
    this.send(JSON.stringify({ ...command, n: serial }));
    await this.when(() => this.#pending.get(serial), `the answer to ${command.cmd}`, { ms });
    const answer = this.#pending.get(serial);
    this.#pending.delete(serial);
    return answer;
  }

  #changed() {
    for (const check of [...this.#waiters]) check();
  }

  #take(bytes) {
    if (this.violation) return;
    try {
      for (const found of this.#parser.push(bytes)) this.#frame(found);
    } catch (error) {
      this.violation = error;
      this.destroy();
    }
    this.#changed();
  }

  #frame({ opcode, fin, compressed, payload }) {
    if (this.closeFrame) throw new Violation(`frame with opcode ${opcode} after the close frame`);
    if (opcode === PING) {
      this.pings.push(payload);
      if (this.#options.autoPong) this.#socket.write(pong(payload));
    } else if (opcode === PONG) {
      this.pongs.push(payload);
    } else if (opcode === CLOSE) {
      this.#onClose(payload);
    } else {
      if (opcode !== CONTINUATION) {
        this.#kind = opcode;
        this.#compressed = compressed;
      }
      this.#parts.push(payload);
      if (!fin) return;
      const whole = this.#parts.length === 1 ? payload : Buffer.concat(this.#parts);
      if (this.#compressed) this.compressedBytes += whole.length;
      this.#message(this.#compressed ? this.#options.compression.inflate(whole) : whole);
    }
  }

  #onClose(payload) {
    if (payload.length === 1) throw new Violation('close frame with one byte');
    const code = payload.length === 0 ? 1005 : payload.readUInt16BE(0);
    this.closeFrame = { code, reason: utf8.decode(payload.subarray(2)) };
    if (this.#options.autoClose) this.#socket.end(frame({ opcode: CLOSE, payload: payload.subarray(0, 2) }));
  }

  #message(payload) {
    this.#parts = [];
    const data = this.#kind === TEXT ? utf8.decode(payload) : payload;
    if (this.#kind === TEXT && data.startsWith('{"re":')) {
      const answer = JSON.parse(data);
      if (this.#pending.has(answer.re)) {
        this.#pending.set(answer.re, answer);
        return;
      }
    }
    this.received++;
    const message = { kind: this.#kind === TEXT ? 'text' : 'binary', data };
    if (this.#options.onMessage) this.#options.onMessage(message, this);
    else this.inbox.push(message);
  }
}

/** The extended CONNECT of RFC 8441. */
function connectHeaders(address, path = '/', headers = {}, protocols = undefined) {
  const offered = protocols ? { 'sec-websocket-protocol': protocols.join(', ') } : {};
  const names = { ':method': 'CONNECT', ':protocol': 'websocket', ':scheme': 'https', ':authority': address };
  return { ...names, ':path': path, 'sec-websocket-version': '13', ...offered, ...headers };
}
