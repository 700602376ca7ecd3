// A server of millrace/tcp in the process under test, on its main thread or in a
// worker thread. `(millrace, 'open' | 'open in a thread' | 'end the thread' | 'forget onError' |
// 'throw in onError' | 'close')`.
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { createServer } from '../millrace-tcp.mjs';

let server;
let thread;

/** Echoes, records ends, and throws on request. */
async function open() {
  const errors = [];
  server = createServer({ bufferLimit: 100_000 });
  server.onData = (connection) => {
    const text = connection.buffer;
    connection.buffer = '';
    if (text === 'throw') throw new Error('as asked');
    if (text.startsWith('much')) much(connection);
    else connection.write(`${text}${errors.length > 0 ? ` after ${errors.length}` : ''}`);
  };
  server.onDrain = much;
  server.onEnd = (connection) => {
    if (!rests.has(connection.fd)) connection.write(' and the end');
  };
  server.onError = (error) => errors.push(error);
  await server.listen(0, '127.0.0.1');
  return server.port;
}

const MUCH = Buffer.alloc(9_000_000, '€');
const rests = new Map();

function much(connection) {
  const rest = rests.get(connection.fd) ?? MUCH;
  const after = rest.subarray(connection.write(rest));
  rests.set(connection.fd, after);
}

export default async function tcpServers(_millrace, what) {
  if (what === 'open') return open();
  if (what === 'forget onError') {
    server.onError = null;
    return undefined;
  }
  if (what === 'throw in onError') {
    server.onError = () => {
      throw new Error('of onError');
    };
    return undefined;
  }
  if (what === 'close') {
    if (thread === undefined) return server.close();
    const ended = new Promise((resolve) => thread.once('exit', resolve));
    thread.postMessage('close');
    return ended;
  }
  if (what === 'end the thread') {
    await thread.terminate();
    thread = undefined;
    return undefined;
  }
  thread = new Worker(new URL(import.meta.url));
  return new Promise((resolve, reject) => thread.once('message', resolve).once('error', reject));
}

if (!isMainThread && parentPort !== null) {
  parentPort.once('message', async () => {
    await server.close();
    process.exit(0);
  });
  open().then((port) => parentPort.postMessage(port));
}
