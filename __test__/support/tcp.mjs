// Raw TCP under test: a client, and a worker module (this file) that answers it and records events in keys.
import net from 'node:net';
import secure from 'node:tls';

import { until, within } from './deadline.mjs';
import { connectOptions } from './http.mjs';

/** A connection that reads exactly as many bytes as requested. */
export class TcpClient {
  #socket;
  #received = Buffer.alloc(0);
  #ended = false;
  #changed = () => {};

  /** Options: tls (options of `tls.connect`), before (bytes before everything else). Destroyed with the test. */
  static async connect(t, address, { tls, before } = {}) {
    const client = new TcpClient();
    const options = { ...connectOptions(address), allowHalfOpen: true };
    const plain = net.connect(options);
    t.teardown(() => plain.destroy());
    await within(
      new Promise((resolve, reject) => plain.once('connect', resolve).once('error', reject)),
      'a connection',
    );
    if (before) plain.write(before);
    const socket = tls ? secure.connect({ socket: plain, allowHalfOpen: true, ...tls }) : plain;
    t.teardown(() => socket.destroy());
    client.#socket = socket;
    client.port = plain.localPort;
    socket.on('data', (bytes) => {
      client.#received = Buffer.concat([client.#received, bytes]);
      client.#changed();
    });
    // a reset ends the connection, too
    socket.on('error', () => client.#end());
    socket.on('end', () => client.#end());
    socket.on('close', () => client.#end());
    return client;
  }

  write(bytes) {
    this.#socket.write(bytes);
  }

  /** Ends the sending side. */
  end(bytes) {
    this.#socket.end(bytes);
  }

  reset() {
    this.#socket.resetAndDestroy();
  }

  /** The next `count` bytes. */
  async bytes(count) {
    await this.#until(() => this.#received.length >= count || this.#ended, `${count} bytes`);
    if (this.#received.length < count) throw new Error(`the end after ${this.#received}`);
    const bytes = this.#received.subarray(0, count);
    this.#received = this.#received.subarray(count);
    return bytes;
  }

  /** The next line, without its end. */
  async line() {
    await this.#until(() => this.#received.includes(10) || this.#ended, 'a line');
    const line = await this.bytes(this.#received.indexOf(10) + 1 || 1);
    return line.toString('utf8', 0, line.length - 1);
  }

  /** The next message with a length prefix. */
  async message(lengthBytes) {
    const head = await this.bytes(lengthBytes);
    return this.bytes(head.readUIntBE(0, lengthBytes));
  }

  /** All data until the server ends the connection. */
  async rest() {
    await this.#until(() => this.#ended, 'the end');
    return this.#received.toString();
  }

  async #until(condition, what) {
    const there = new Promise((resolve) => {
      this.#changed = () => condition() && resolve();
      this.#changed();
    });
    await within(there, () => `${what}, after ${this.#received.subarray(0, 200)}`);
  }

  #end() {
    this.#ended = true;
    this.#changed();
  }
}

/** A payload with its length before it. */
export function framed(lengthBytes, payload) {
  const head = Buffer.alloc(lengthBytes);
  head.writeUIntBE(Buffer.byteLength(payload), 0, lengthBytes);
  return Buffer.concat([head, Buffer.from(payload)]);
}

/** Resolves with the value of a key when the worker has set it. */
export async function told(server, key) {
  const text = await until(() => server.call('getKey', key), `the key ${key}`);
  return JSON.parse(Buffer.from(text).toString());
}

// The worker. Its imports are dynamic, because tests load this file for the client only.

let millrace;

export async function handleStart() {
  millrace = await import('./millrace.mjs');
}

export function handleOpen(socketId, ip, headers, request) {
  const { url, path, transport, port, protocols, clientCertificate } = request;
  const subject = clientCertificate?.subject;
  const name = `${transport} ${port}`;
  const all = { socketId, ip, headers, url, path, transport, port, protocols, subject };
  const isRefused = millrace.getKey('refuse') !== undefined;
  if (!isRefused) millrace.subscribe(socketId, 'news');
  millrace.setKey(`open ${name}`, JSON.stringify(all));
  return isRefused ? false : { token: name };
}

/** Commands by their word; everything else is sent back. */
const COMMANDS = {
  publish: (_id, text) => millrace.send('news', text),
  close: (id) => millrace.close(id, 4001, 'as asked'),
  // answers when a test sets the key
  later: async (id, key) => {
    while (millrace.getKey(key) === undefined) await new Promise(setImmediate);
    millrace.send(id, `released by ${key}`);
  },
};

export function handleTextMessage(text, socketId) {
  const [command, ...words] = text.split(' ');
  if (Object.hasOwn(COMMANDS, command)) return COMMANDS[command](socketId, words.join(' '));
  millrace.send(socketId, text);
  return undefined;
}

export function handleBinaryMessage(data, socketId) {
  millrace.send(socketId, Buffer.concat([Buffer.from('bytes '), data]));
}

export function handleEnd(socketId, token) {
  millrace.send(socketId, `the end of ${Buffer.from(token)}`);
  millrace.send('news', 'somebody ended');
  setTimeout(() => {
    millrace.send(socketId, 'and later');
    millrace.close(socketId, 4002, 'ended');
  }, 20);
}

export function handleClose(socketId, token, code, reason) {
  millrace.setKey(`close ${Buffer.from(token)}`, JSON.stringify({ socketId, code, reason }));
}
