// The server under test as a child process: starts it in the chosen runtime, controls it over a connection (JSON lines
// on loopback TCP), and ends it cleanly. Signals go only to the process that is started here.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { runtimePath } from '../../scripts/runtimes.mjs';
import { SOON, until, within } from './deadline.mjs';
import { eachLine } from './lines.mjs';
import { decode, encode } from './wire.mjs';
import { connect } from './ws-client.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const mainScript = path.join(here, 'server-main.mjs');

/** The runtime the servers run in: node (default), bun or deno, from MILLRACE_TEST_RUNTIME. */
export const RUNTIME = process.env.MILLRACE_TEST_RUNTIME ?? 'node';

/** The path of a worker module in support/workers. */
export const worker = (name) => path.join(here, 'workers', `${name}.mjs`);

function commandOf(runtime) {
  const before = { node: [], bun: ['run'], deno: ['run', '-A', '--quiet'] }[runtime];
  return [runtimePath(runtime), before];
}

/**
 * Limits of servers under test, unless a test sets them or starts with `patient: false`: on a busy machine a thread may
 * not run for seconds, which must not count as a hung worker, a late handler or a silent client.
 */
const PATIENT_LISTENER = { firstRequestTimeoutMs: 60_000 };
const PATIENT = { ...PATIENT_LISTENER, workerTimeoutMs: 20_000, handlerTimeoutMs: 20_000, closeTimeoutMs: 20_000 };

/** By default handlers on the calling thread are not monitored. */
function timeoutsOf({ threads }) {
  if (threads !== 0) return PATIENT;
  const { workerTimeoutMs: _off, ...others } = PATIENT;
  return others;
}

/** A child process that runs support/server-main.mjs. */
export class ServerProcess {
  addresses = [];
  output = '';
  #child;
  #control;
  #waiting = new Map();
  #serial = 0;
  #exited;
  #patient = true;
  /** Gateways that were started: later starts cannot change the limits that all listeners share. */
  #started = new Set();

  /** Starts the child (`main` instead of server-main.mjs, if given) and waits for its control connection. */
  async launch({ runtime = RUNTIME, env = {}, nodeArgs = [], main = mainScript, patient = true } = {}) {
    this.#patient = patient;
    const listener = net.createServer();
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const [program, args] = commandOf(runtime);
    const control = String(listener.address().port);
    this.#child = spawn(program, [...args, ...(runtime === 'node' ? nodeArgs : []), main], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env, MILLRACE_TEST_CONTROL: control },
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.on('data', (chunk) => {
        this.output = (this.output + chunk).slice(-16_384);
      });
    }
    this.#exited = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => resolve({ code, signal }));
    });
    this.#exited.then(({ code, signal }) => this.#fail(`the server process ended (${signal ?? code})`));
    const connected = once(listener, 'connection').then(([socket]) => socket);
    const died = this.#exited.then(() => Promise.reject(new Error(`the server did not come up:\n${this.output}`)));
    died.catch(() => {});
    try {
      this.#control = await within(Promise.race([connected, died]), 'control connection', 2 * SOON);
    } finally {
      listener.close();
    }
    this.#control.on('error', () => {});
    eachLine(this.#control, (line) => this.#answer(JSON.parse(line)));
    return this;
  }

  /** Calls `start(options)` in the child, always with `onError` (see `errors()`). Resolves with the addresses. */
  async start(options, { gateway = 'default', ms = 3 * SOON } = {}) {
    const timeouts = this.#started.has(gateway) ? PATIENT_LISTENER : timeoutsOf(options);
    const limits = this.#patient ? { limits: { ...timeouts, ...options.limits } } : {};
    const { addresses, handle } = await this.#request(
      { op: 'start', gateway, options: encode({ bind: '127.0.0.1:0', ...options, ...limits }) },
      ms,
    );
    this.#started.add(gateway);
    this.addresses.push(...addresses);
    this.handle ??= handle;
    return { addresses, handle };
  }

  /** Calls an exported function (of `millrace`) on the child's main thread. */
  async call(fn, ...args) {
    return this.callOn('default', fn, ...args);
  }

  async callOn(gateway, fn, ...args) {
    return decode(await this.#request({ op: 'call', gateway, fn, args: encode(args) }));
  }

  /** Calls `stop()` of one earlier start. */
  async stop(handle = this.handle, options = undefined, ms = 2 * SOON) {
    await this.#request({ op: 'stop', handle, options: encode(options) }, ms);
  }

  /** Calls `replaceWorkers()` of one earlier start. */
  async replaceWorkers(handle = this.handle) {
    await this.#request({ op: 'replaceWorkers', handle }, 2 * SOON);
  }

  /** Calls `reloadTls()` of one earlier start. */
  async reloadTls(tls = undefined, handle = this.handle) {
    await this.#request({ op: 'reloadTls', handle, tls: encode(tls) });
  }

  /**
   * Aborts the last `replaceWorkers()`, which then rejects with this message. `key` is set before, so that the next
   * worker is ready before the main thread learns of it.
   */
  async abortReplacement(reason, key = undefined) {
    await this.#request({ op: 'abortReplacement', reason, key });
  }

  /** The current `{rss, descriptors, threads}` of the child. Linux only. */
  async usage() {
    return this.#request({ op: 'usage' });
  }

  /** The errors that onError got so far: `[{name, code, message, causeCode}]`. */
  async errors() {
    return this.#request({ op: 'errors' });
  }

  /** Keeps the child's main thread busy for `ms`, and then until the given file exists, if there is one. */
  async block(ms, file = undefined) {
    return this.#request({ op: 'block', ms, file }, ms + SOON);
  }

  /** Runs the default export of a module in support/scripts in the child: `(millrace, ...args)`. */
  async run(script, ...args) {
    return decode(await this.#request({ op: 'run', script, args: encode(args) }, 6 * SOON));
  }

  get exited() {
    return this.#exited;
  }

  get pid() {
    return this.#child.pid;
  }

  /** Stops every server of the child, and waits until it exits by itself; rejects if the exit code is not 0. */
  async end() {
    if (!this.#child) return;
    this.#control?.write(`${JSON.stringify({ op: 'end' })}\n`);
    try {
      const { code, signal } = await within(this.#exited, () => `exit of the server process\n${this.output}`, 2 * SOON);
      if (code !== 0) throw new Error(`the server process ended with ${signal ?? code}:\n${this.output}`);
    } finally {
      this.kill();
    }
  }

  /** Kills the child; for tests that break it on purpose. */
  kill(signal = 'SIGKILL') {
    if (this.#child?.exitCode === null && this.#child.signalCode === null) this.#child.kill(signal);
    this.#control?.destroy();
  }

  #request(message, ms = SOON) {
    const n = ++this.#serial;
    const answer = new Promise((resolve, reject) => {
      this.#waiting.set(n, { resolve, reject });
    });
    answer.catch(() => {});
    this.#control.write(`${JSON.stringify({ ...message, n })}\n`);
    return within(
      answer,
      () => `answer of the server process to ${message.op} ${message.fn ?? ''}\n${this.output}`,
      ms,
    );
  }

  #answer({ n, value, error }) {
    const waiting = this.#waiting.get(n);
    this.#waiting.delete(n);
    if (error) waiting?.reject(decode(error));
    else waiting?.resolve(value);
  }

  #fail(message) {
    for (const { reject } of this.#waiting.values()) reject(new Error(`${message}\n${this.output}`));
    this.#waiting.clear();
  }
}

/** One server process for all tests of a file. */
export function sharedServer(test, options, launchOptions) {
  const server = new ServerProcess();
  test.before(async () => {
    await server.launch(launchOptions);
    await server.start(options);
  });
  test.after.always(() => server.end());
  return server;
}

/**
 * How many servers of single tests a file may run at once: more of them would slow each other down until tests exceed
 * their deadlines.
 */
const SLOTS = 3;
let taken = 0;
const queue = [];

/** Waits for a slot; the result releases it. */
async function slot() {
  if (taken < SLOTS) taken++;
  else await new Promise((resolve) => queue.push(resolve));
  return () => {
    const next = queue.shift();
    if (next) next();
    else taken--;
  };
}

/** A server process for one test, ended with it. Without options no server is started. */
export async function ownServer(t, options, launchOptions) {
  const server = new ServerProcess();
  const release = await slot();
  t.teardown(() => server.end().finally(release));
  await server.launch(launchOptions);
  if (options) await server.start(options);
  return server;
}

/** A client connected to the server's first address (or `options.address`). */
export function open(t, server, options = {}) {
  return connect(t, options.address ?? server.addresses[0], options);
}

/** A client of the `commands` worker that knows its own socket id, worker and thread. */
export async function member(t, server, options = {}) {
  const client = await open(t, server, options);
  Object.assign(client, await ask(client, { cmd: 'whoami' }));
  return client;
}

/** Members on `count` different worker threads, one per thread. */
export async function onThreads(t, server, count, options) {
  const found = new Map();
  while (found.size < count) {
    const client = await member(t, server, options);
    if (found.has(client.threadId)) client.destroy();
    else found.set(client.threadId, client);
  }
  return [...found.values()];
}

/** Sends a command to the `commands` worker: resolves with its decoded value, or rejects with its error. */
export async function ask(client, command, ms) {
  const { value, error } = await client.ask(command, ms);
  if (error) throw decode(error);
  return decode(value);
}

/** Calls a function of `millrace` in the client's worker. */
export function callIn(client, fn, ...args) {
  return ask(client, { cmd: 'call', fn, args: encode(args) });
}

/** Closes a member's connection, and waits until the server has removed the socket. */
export async function leave(client, server) {
  client.close(1000);
  await client.closed();
  await forgotten(server, client.id);
}

/** Waits for this number of failed handshakes: a client sees the end of its connection before it is counted. */
export const failedHandshakes = (server, count) => counted(server, 'failedHandshakes', count);

/** Waits until a counter of the server's statistics has this value. */
export async function counted(server, name, count) {
  let value;
  await until(
    async () => {
      value = (await server.call('stats'))[name];
      return value >= count;
    },
    () => `${name} to be ${count}, not ${value}`,
  );
  if (value > count) throw new Error(`${name} is ${value}, not ${count}`);
}

/** Waits until the server no longer lists the socket. */
export function forgotten(server, id) {
  return until(
    async () => (await server.call('getDebugState', 'sockets', id)) === undefined,
    `socket ${id} to be forgotten`,
  );
}
