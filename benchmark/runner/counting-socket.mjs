// A WebSocket that receives binary messages of one length: it counts them by their bytes, and checks their numbers if it is
// asked to. A client that parsed more would be the limit.
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';

/** The length of a message. Its first four bytes are its number. */
export const SIZE = 64;
/** The header of such a message. */
const HEADER = [0x82, SIZE];
const FRAME = HEADER.length + SIZE;

export class CountingSocket {
  /** Messages so far. */
  count = 0;
  #socket;
  #rest = Buffer.alloc(0);
  #checks;

  /** `told(numbers)` is called with the numbers of messages that came together; without it they are only counted. */
  static async open(port, path, told) {
    const one = new CountingSocket();
    one.#checks = told;
    one.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await new Promise((resolve, reject) => {
      let head = '';
      const answered = (chunk) => {
        head += chunk.toString('latin1');
        const end = head.indexOf('\r\n\r\n');
        if (end === -1) return;
        if (!head.startsWith('HTTP/1.1 101 ')) return reject(new Error(head.split('\r\n')[0]));
        one.#socket.off('data', answered);
        one.#socket.on('data', (bytes) => one.#take(bytes));
        one.#take(Buffer.from(head.slice(end + 4), 'latin1'));
        resolve();
      };
      one.#socket.on('data', answered);
      one.#socket.once('error', reject);
      one.#socket.once('close', () => reject(new Error('the server has closed a connection')));
      const key = randomBytes(16).toString('base64');
      const asks = ['Host: localhost', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'];
      one.#socket.write([`GET ${path} HTTP/1.1`, ...asks, `Sec-WebSocket-Key: ${key}`, '', ''].join('\r\n'));
    });
    return one;
  }

  /** Sends messages with these numbers. */
  send(first, count) {
    const frames = Buffer.alloc(count * (FRAME + 4));
    for (let index = 0; index < count; index++) {
      // the mask is zero, so the message is as it is
      frames.set([0x82, 0x80 | SIZE], index * (FRAME + 4));
      frames.writeUInt32BE(first + index, index * (FRAME + 4) + HEADER.length + 4);
    }
    this.#socket.write(frames);
  }

  end() {
    this.#socket.destroy();
  }

  #take(chunk) {
    const bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    const whole = Math.floor(bytes.length / FRAME);
    this.count += whole;
    this.#rest = bytes.subarray(whole * FRAME);
    if (this.#checks && whole > 0) {
      const numbers = Array.from({ length: whole }, (_, index) => bytes.readUInt32BE(index * FRAME + HEADER.length));
      this.#checks(numbers);
    }
  }
}
