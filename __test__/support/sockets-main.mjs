// Runs in a child process, in any runtime: the first argument names a test of low-level sockets. Prints its results as
// lines of JSON.
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';

import sockets from './millrace-sockets.mjs';

const say = (value) => console.log(JSON.stringify(value));
const descriptors = () => readdirSync('/proc/self/fd').length;

function listening() {
  const fd = sockets.socket(sockets.AF_INET, sockets.SOCK_STREAM);
  sockets.bind(fd, '127.0.0.1', 0);
  sockets.listen(fd, 8);
  return { fd, port: sockets.getsockname(fd).port };
}

/** The error of a call. */
function thrown(call) {
  try {
    return call();
  } catch (error) {
    return { name: error.name, message: error.message, code: error.code, errno: error.errno, syscall: error.syscall };
  }
}

/** A worker that reports where it waits; resolves just before it waits. */
async function waiting(work, data) {
  const worker = new Worker(fileURLToPath(new URL('./workers/low-level.mjs', import.meta.url)), {
    workerData: { work, ...data },
  });
  const exited = new Promise((resolve) => worker.once('exit', resolve));
  const ready = await new Promise((resolve) => worker.once('message', resolve));
  return { worker, ready, exited };
}

const scenarios = {
  /** Every function once, on one thread. */
  all() {
    const listener = listening();
    const one = sockets.socket(sockets.AF_INET, sockets.SOCK_STREAM);
    const connected = sockets.connect(one, '127.0.0.1', listener.port);
    const { fd, address } = sockets.accept(listener.fd);
    const sent = [sockets.send(one, 'grüße'), sockets.send(one, new Uint8Array([1, 255]).subarray(1))];
    const text = sockets.recv(fd, 7);
    const bytes = sockets.recv(fd, 10, 0, { bytes: true });
    const [{ revents }] = sockets.poll([{ fd: one, events: sockets.POLLOUT }], 1000);
    const isPlain = Object.getPrototypeOf(bytes) === Uint8Array.prototype;
    sockets.setnonblocking(fd);
    const nothing = sockets.recv(fd, 10);
    sockets.shutdown(one, sockets.SHUT_WR);
    sockets.poll([{ fd, events: sockets.POLLIN }], 5000);
    const end = sockets.recv(fd, 10);
    const datagrams = sockets.socket(sockets.AF_INET, sockets.SOCK_DGRAM);
    sockets.bind(datagrams, '127.0.0.1', 0);
    const own = sockets.getsockname(datagrams);
    sockets.sendto(datagrams, 'self', 0, own.address, own.port);
    const datagram = sockets.recvfrom(datagrams, 10);
    const transferred = new ArrayBuffer(4);
    structuredClone(transferred, { transfer: [transferred] });
    say({
      ...{ connected, address, sent, text, bytes: [...bytes], isPlain, revents, nothing, end },
      datagram: { ...datagram, port: datagram.port === own.port },
      errors: [
        thrown(() => sockets.close(1)),
        thrown(() => sockets.send(one, transferred)).name,
        thrown(() => sockets.recv(Number.NaN, 1)).name,
        thrown(() => sockets.close(2 ** 32)).name,
      ],
      text_of_error: sockets.get_error(),
      path: sockets.parse_http_request('GET /x?a=1 HTTP/1.1\n\n').path,
    });
    for (const each of [listener.fd, one, fd, datagrams]) sockets.close(each);
  },

  /** Terminates a waiting worker, whose sockets are closed. */
  async terminate() {
    for (const work of ['accept', 'recv', 'poll', 'epoll_wait', 'send', 'connect']) {
      const { worker, ready, exited } = await waiting(work);
      await worker.terminate();
      await exited;
      say({ work, gone: ready.map((fd) => thrown(() => sockets.getsockname(fd)).code) });
    }
  },

  /** A worker that waits on a descriptor of the main thread ends when the main thread closes it. */
  async close() {
    const listener = listening();
    const { worker, exited } = await waiting('accept', { fd: listener.fd });
    const answer = new Promise((resolve) => worker.once('message', resolve));
    sockets.close(listener.fd);
    say(await answer);
    await exited;
  },

  /** The process ends while a worker waits. */
  async exit() {
    await waiting('accept');
    say('exits');
    process.exit(7);
  },

  /** Signals arrive during a wait, which continues for the remaining time. */
  signals() {
    process.on('SIGUSR2', () => {});
    const epoll = sockets.epoll_create1();
    const { fd } = listening();
    say('waits');
    const start = performance.now();
    const events = sockets.epoll_wait(epoll, 4, 400);
    const [{ revents }] = sockets.poll([{ fd, events: sockets.POLLIN }], 400);
    say({ events, revents, took: performance.now() - start });
    process.exit(0);
  },

  /** Workers that start and end leak nothing. */
  async churn() {
    const round = async () => {
      const { exited } = await waiting('open');
      await exited;
    };
    for (let index = 0; index < 2; index++) await round();
    const before = descriptors();
    for (let index = 0; index < 10; index++) await round();
    // a thread may end shortly after its exit event
    const [allowed, deadline] = [Number(process.argv[3]), performance.now() + 20_000];
    while (descriptors() - before > allowed && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    say({ left: descriptors() - before });
  },
};

await scenarios[process.argv[2]]();
