// A WebSocket client that only checks numbered messages, `<publisher> <n>`, where a publisher is the number of its node
// and a letter. It is fast enough to check a hundred million deliveries in a few minutes.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';

import { within } from './deadline.mjs';
import { text } from './frames.mjs';

const [SPACE, ZERO, NINE, A] = Buffer.from(' 09a');
/** The number of publishers of one node, and of all nodes. */
const LETTERS = 2;
const PUBLISHERS = 12;
/** The first byte of a text message, and the size of the head of one with less than 126 bytes. */
const TEXT = 0x81;
const HEAD = 2;

/** See the file. */
export class Subscriber {
  /** Messages whose number is not above the previous one: duplicates, or messages in the wrong order. */
  misplaced = [];
  /** Messages that are not numbered messages. */
  others = [];
  #received = new Float64Array(PUBLISHERS);
  #missing = new Float64Array(PUBLISHERS);
  #last = new Float64Array(PUBLISHERS).fill(-1);
  #rest = Buffer.alloc(0);
  #isOpen = false;

  /** Connects, and subscribes to a channel with the worker `backplane`. */
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

  /** How many messages of a publisher were received. */
  received(publisher) {
    return this.#received[place(publisher)];
  }

  /** How many numbers of a publisher are missing before the last one that was received. */
  missing(publisher) {
    return this.#missing[place(publisher)];
  }

  /** How many messages of a publisher were received or are missing. */
  seen(publisher) {
    return this.#last[place(publisher)] + 1;
  }

  /** How many messages were received. */
  get total() {
    return this.#received.reduce((sum, count) => sum + count, 0);
  }

  /** How many messages are missing. */
  get missed() {
    return this.#missing.reduce((sum, count) => sum + count, 0);
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
    while (at + HEAD <= data.length) {
      let start = at + HEAD;
      let length = data[at + 1];
      if (length === 126) {
        if (at + 4 > data.length) break;
        length = data.readUInt16BE(at + 2);
        start += 2;
      }
      const end = start + length;
      if (end > data.length) break;
      if (data[at] !== TEXT || !this.#message(data, start, end)) this.others.push(data.toString('latin1', at, end));
      at = end;
    }
    this.#rest = data.subarray(at);
  }

  /** Returns false if it is not a numbered message. */
  #message(data, start, end) {
    const publisher = (data[start] - ZERO) * LETTERS + data[start + 1] - A;
    if (!(publisher >= 0 && publisher < PUBLISHERS) || data[start + 2] !== SPACE || start + 3 === end) return false;
    let number = 0;
    for (let at = start + 3; at < end; at++) {
      if (data[at] < ZERO || data[at] > NINE) return false;
      number = number * 10 + data[at] - ZERO;
    }
    const last = this.#last[publisher];
    if (number <= last) this.misplaced.push(data.toString('latin1', start, end));
    else this.#missing[publisher] += number - last - 1;
    this.#last[publisher] = number;
    this.#received[publisher]++;
    return true;
  }
}

const place = (publisher) => (publisher.charCodeAt(0) - ZERO) * LETTERS + publisher.charCodeAt(1) - A;
