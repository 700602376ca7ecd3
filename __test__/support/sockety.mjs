// A client of Sockety on a socket of node:net: sends bytes that a test makes, and returns received packets one by one.
import net from 'node:net';
import secure from 'node:tls';

import { within } from './deadline.mjs';
import { connectOptions } from './http.mjs';
import { packets } from './sockety-wire.mjs';

const HEADER = Buffer.of(0xe3);

/** See the file. */
export class SocketyClient {
  #socket;
  #ended = false;
  #packets = [];
  #changed = () => {};

  /** Options: header (bytes; default: 4096 channels), tls (options of `tls.connect`). Destroyed with the test. */
  static async connect(t, address, { header = HEADER, tls } = {}) {
    const client = new SocketyClient();
    const options = connectOptions(address);
    const socket = tls ? secure.connect({ ...options, ...tls }) : net.connect(options);
    t.teardown(() => socket.destroy());
    client.#socket = socket;
    const reader = packets((packet) => client.#packets.push(packet));
    let wanted = reader.next().value;
    let received = Buffer.alloc(0);
    socket.on('data', (bytes) => {
      received = received.length === 0 ? bytes : Buffer.concat([received, bytes]);
      while (received.length >= wanted) {
        const given = received.subarray(0, wanted);
        received = received.subarray(wanted);
        wanted = reader.next(given).value;
      }
      client.#changed();
    });
    const end = () => {
      client.#ended = true;
      client.#changed();
    };
    for (const event of ['error', 'end', 'close']) socket.on(event, end);
    await within(new Promise((resolve) => socket.once(tls ? 'secureConnect' : 'connect', resolve)), 'a connection');
    socket.write(header);
    const { type } = await client.packet();
    if (type !== 'header') throw new Error(`${type} before the header`);
    return client;
  }

  write(...parts) {
    this.#socket.write(Buffer.concat(parts));
  }

  end(...parts) {
    this.#socket.end(Buffer.concat(parts));
  }

  pause() {
    this.#socket.pause();
  }

  resume() {
    this.#socket.resume();
  }

  destroy() {
    this.#socket.destroy();
  }

  /** The next packet; heartbeats are left out. Undefined: the server has ended the connection. */
  async packet() {
    for (;;) {
      await this.#until(() => this.#packets.length > 0 || this.#ended);
      const packet = this.#packets.shift();
      if (packet?.type !== 'heartbeat') return packet;
    }
  }

  /** The next message or response with all of its data. */
  async message() {
    const message = await this.packet();
    if (message?.type !== 'message') throw new Error(`${JSON.stringify(message)} instead of a message`);
    const pieces = [];
    let left = message.dataSize;
    while (left > 0) {
      const { type, bytes } = (await this.packet()) ?? {};
      if (type !== 'data') throw new Error(`${type} instead of data`);
      pieces.push(bytes);
      left -= bytes.length;
    }
    return { ...message, data: Buffer.concat(pieces) };
  }

  /** Resolves when the server has ended the connection. */
  async ended() {
    await this.#until(() => this.#ended);
    return this.#packets;
  }

  async #until(holds) {
    while (!holds()) {
      await within(
        new Promise((resolve) => {
          this.#changed = resolve;
        }),
        'a packet',
      );
    }
  }
}
