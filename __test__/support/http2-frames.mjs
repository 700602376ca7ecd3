// HTTP/2 as frames, for input that no client sends: exact bytes, and the types of the frames in the answer.
import { once } from 'node:events';
import tls from 'node:tls';

import { until, within } from './deadline.mjs';
import { connectOptions } from './http.mjs';

export const [DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE] = [0, 1, 3, 4, 6, 7, 8];
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** One frame. */
export function frame(type, flags, id, payload = Buffer.alloc(0)) {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUIntBE((type << 8) | flags, 3, 2);
  head.writeUInt32BE(id, 5);
  return Buffer.concat([head, payload]);
}

/** A complete request, GET of `path` from https://x. */
export function get(id, path = '/') {
  const literal = (text) => Buffer.from([text.length, ...Buffer.from(text)]);
  // indexes of the static table, except for the path and the authority
  const block = [Buffer.from([0x82, 0x87, 0x04]), literal(path), Buffer.from([0x01]), literal('x')];
  return frame(HEADERS, 0x05, id, Buffer.concat(block));
}

/** Cancels a request. */
export const cancel = (id) => frame(RST_STREAM, 0, id, number(8));

/** Enlarges the window of a stream, or with 0 that of the connection. */
export const widen = (id, bytes) => frame(WINDOW_UPDATE, 0, id, number(bytes));

/** SETTINGS: pairs of an identifier and its value. */
export function settings(...pairs) {
  const entries = pairs.map(([name, value]) => {
    const entry = Buffer.alloc(6);
    entry.writeUInt16BE(name, 0);
    entry.writeUInt32BE(value, 2);
    return entry;
  });
  return frame(SETTINGS, 0, 0, Buffer.concat(entries));
}

function number(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** A connection that has sent only its preface; closed with the test. */
export class FrameConnection {
  seen = Buffer.alloc(0);
  closed = false;

  constructor(t, address, ca) {
    const options = { ...connectOptions(address), ca, ALPNProtocols: ['h2'], servername: 'localhost' };
    this.socket = tls.connect(options);
    t.teardown(() => this.socket.destroy());
    this.socket.on('error', () => {});
    this.socket.on('close', () => {
      this.closed = true;
    });
    this.socket.on('data', (chunk) => {
      this.seen = Buffer.concat([this.seen, chunk]);
    });
    this.write(PREFACE);
  }

  write(...frames) {
    this.socket.write(Buffer.concat(frames));
    return this;
  }

  /** The types of all complete frames that were received. */
  types() {
    const types = [];
    for (let at = 0; at + 9 <= this.seen.length; at += 9 + this.seen.readUIntBE(at, 3)) types.push(this.seen[at + 3]);
    return types;
  }

  /** Waits until the server has read everything written so far, or the connection is closed. */
  async settle() {
    const pongs = () => this.types().filter((type) => type === PING).length;
    const before = pongs();
    this.write(frame(PING, 0, 0, Buffer.alloc(8)));
    await until(() => this.closed || pongs() > before, 'the answer to a ping');
  }

  /** Waits for the end of the connection. */
  async end() {
    if (!this.closed) await within(once(this.socket, 'close'), 'the end of the connection');
  }
}
