// A proxy between a node and its nats-server, which loses messages of some subjects: as if they had been lost between
// two servers of a cluster.
import { once } from 'node:events';
import net from 'node:net';

/** See the file. */
export class LossyProxy {
  /** Messages whose subject contains this are lost. */
  loses = undefined;
  /** The subjects of those that were. */
  lost = [];
  #port;
  #server;

  /** One for a single test. */
  static async to(t, nats) {
    const proxy = new LossyProxy();
    proxy.#port = nats.port;
    proxy.#server = net.createServer((node) => proxy.#connect(t, node)).listen(0, '127.0.0.1');
    t.teardown(() => proxy.#server.close());
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url() {
    return `nats://127.0.0.1:${this.#server.address().port}`;
  }

  #connect(t, node) {
    const server = net.connect(this.#port, '127.0.0.1');
    t.teardown(() => node.destroy());
    for (const [one, other] of [
      [node, server],
      [server, node],
    ]) {
      one.on('error', () => {});
      one.on('close', () => other.destroy());
    }
    node.on('data', (chunk) => server.write(chunk));
    let waiting = Buffer.alloc(0);
    server.on('data', (chunk) => {
      waiting = Buffer.concat([waiting, chunk]);
      for (let length = lengthOf(waiting); length > 0; length = lengthOf(waiting)) {
        this.#forward(waiting.subarray(0, length), node);
        waiting = waiting.subarray(length);
      }
    });
  }

  #forward(piece, node) {
    const [verb, subject] = piece.toString('latin1').split(' ', 2);
    const isLost = this.loses !== undefined && /^H?MSG$/.test(verb) && subject.includes(this.loses);
    if (isLost) this.lost.push(subject);
    else node.write(piece);
  }
}

/** The length of the first line, with its message; 0: it has not all come. */
function lengthOf(bytes) {
  const end = bytes.indexOf('\r\n') + 2;
  if (end === 1) return 0;
  const line = bytes.toString('latin1', 0, end).trimEnd();
  const length = /^H?MSG /.test(line) ? end + Number(line.split(' ').at(-1)) + 2 : end;
  return length <= bytes.length ? length : 0;
}
