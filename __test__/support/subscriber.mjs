// A WebSocket client that does nothing but check numbered messages, `<publisher> <n>`: so lean that millions of
// deliveries are checked in a test's time.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';

import { within } from './deadline.mjs';
import { text } from './frames.mjs';

/** See the file. */
export class Subscriber {
  /** Messages by their publisher. */
  received = new Map();
  /** Numbers that were left out, by publisher. */
  missing = new Map();
  /** Messages that were not above the one before: came twice, or in another order. */
  misplaced = [];
  /** What is no numbered message. */
  others = [];
  #last = new Map();
  #rest = Buffer.alloc(0);
  #isOpen = false;

  /** Connects and subscribes to a channel by the worker `backplane`. */
  static async open(t, address, channel) {
    const subscriber = new Subscriber();
    const { hostname, port } = new URL(`http://${address}`);
    const socket = net.connect(Number(port), hostname);
    t.teardown(() => socket.destroy());
    socket.on('error', () => {});
    const key = randomBytes(16).toString('base64');
    socket.write(
      `GET / HTTP/1.1\r\nHost: ${address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
    );
    socket.write(text(JSON.stringify({ cmd: 'sub', channel })));
    const subscribed = new Promise((resolve) => {
      socket.on('data', (chunk) => {
        subscriber.#take(chunk);
        if (subscriber.others.length > 0) resolve();
      });
    });
    const ended = once(socket, 'close').then(() => Promise.reject(new Error(`the connection to ${address} closed`)));
    ended.catch(() => {});
    await within(Promise.race([subscribed, ended]), 'the subscription');
    subscriber.others.length = 0;
    return subscriber;
  }

  get total() {
    return [...this.received.values()].reduce((sum, count) => sum + count, 0);
  }

  #take(chunk) {
    let data = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    if (!this.#isOpen) {
      const end = data.indexOf('\r\n\r\n');
      if (end < 0) {
        this.#rest = data;
        return;
      }
      this.#isOpen = true;
      data = data.subarray(end + 4);
    }
    let at = 0;
    while (at + 2 <= data.length) {
      let length = data[at + 1];
      let start = at + 2;
      if (length === 126) {
        if (at + 4 > data.length) break;
        length = data.readUInt16BE(at + 2);
        start = at + 4;
      }
      if (start + length > data.length) break;
      if (data[at] === 0x81) this.#message(data.latin1Slice(start, start + length));
      else this.others.push(data.subarray(at, start + length).toString('hex'));
      at = start + length;
    }
    this.#rest = data.subarray(at);
  }

  #message(text) {
    const space = text.indexOf(' ');
    const publisher = text.slice(0, space);
    const number = Number(text.slice(space + 1));
    if (space <= 0 || !Number.isInteger(number)) {
      this.others.push(text);
      return;
    }
    const last = this.#last.get(publisher) ?? -1;
    if (number <= last) this.misplaced.push(text);
    else this.missing.set(publisher, (this.missing.get(publisher) ?? 0) + number - last - 1);
    this.#last.set(publisher, number);
    this.received.set(publisher, (this.received.get(publisher) ?? 0) + 1);
  }
}
