// Worker threads of the process under test that use millrace/sockety. `(millrace, 'start', count)` starts more of them,
// `(millrace, 'end', thread)` terminates one, `(millrace, 'abandon')` all. `(millrace, command, thread, …)` runs one of
// the commands below on one of them, or on the main thread, which is number -1.
import { once } from 'node:events';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';

import { connect, createServer, Draft, ResponseDraft } from '../millrace-sockety.mjs';

const ask = Draft.for('who is it?');
const answer = new ResponseDraft().data();

let server;
/** Clients, by the port of their server. */
const clients = new Map();

const to = (port) => connect({ port, host: '127.0.0.1' });

const commands = {
  /** Listens, and answers each request with its name. */
  async open(name) {
    server = createServer((connection) => {
      connection.on('message', (message) => message.respond(answer({ data: name })));
    });
    await server.listen(0, '127.0.0.1');
    return server.address().port;
  },

  /** Asks a server for its name, always on the same connection. */
  async ask(port) {
    if (!clients.has(port)) clients.set(port, await to(port).ready());
    const response = await clients.get(port).send(ask()).response();
    return String(await response.dataBuffer());
  },

  /** Connects to a port without a listener; resolves with the error's code. */
  async fail(port) {
    const [error] = await once(to(port), 'error');
    return error.code;
  },

  /** Waits for the end of the connection to a server. */
  async lost(port) {
    const client = clients.get(port);
    if (!client.closed) await once(client, 'close');
    clients.delete(port);
  },

  /** Closes all connections and servers. */
  async close() {
    await Promise.all([...clients.values()].map((client) => client.close()));
    clients.clear();
    for (const client of server?.clients ?? []) client.close(true);
    await server?.close();
    server = undefined;
  },

  /** Runs open, ask and close in rounds, so that one thread ends the gateway while others start to use it. */
  async cycle(rounds) {
    for (let round = 0; round < rounds; round++) {
      const name = `round ${round}`;
      const port = await commands.open(name);
      const heard = await commands.ask(port);
      if (heard !== name) throw new Error(`${heard} in ${name}`);
      await commands.close();
    }
  },

  /** The thread closes its port, and ends because it has no more work; in Deno the port has no `close`, so it exits. */
  leave: () => (parentPort.close ? parentPort.close() : process.exit(0)),
};

const threads = [];
let calls = 0;

export default async function socketyThreads(_millrace, what, which, ...args) {
  if (what === 'start') {
    const started = Array.from({ length: which }, () => new Worker(new URL(import.meta.url)));
    threads.push(...started);
    await Promise.all(started.map((thread) => once(thread, 'message')));
    return threads.length;
  }
  if (what === 'abandon') {
    await Promise.all(threads.map((thread) => thread.terminate()));
    return undefined;
  }
  if (which === -1) return commands[what](...args);
  const thread = threads[which];
  const ended = once(thread, 'exit').then(() => undefined);
  if (what === 'end') {
    await thread.terminate();
    return ended;
  }
  calls += 1;
  const call = calls;
  const answered = new Promise((resolve, reject) => {
    thread.on('message', function heed({ call: of, value, error }) {
      if (of !== call) return;
      thread.off('message', heed);
      if (error === undefined) resolve(value);
      else reject(new Error(error));
    });
  });
  thread.postMessage({ call, what, args });
  return what === 'leave' ? ended : answered;
}

if (!isMainThread && parentPort !== null) {
  parentPort.on('message', async ({ call, what, args }) => {
    try {
      const value = await commands[what](...args);
      if (what !== 'leave') parentPort.postMessage({ call, value });
    } catch (error) {
      parentPort.postMessage({ call, error: error.stack });
    }
  });
  parentPort.postMessage({ call: 0, value: 'ready' });
}
