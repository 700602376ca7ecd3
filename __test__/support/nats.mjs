// A real nats-server (Debian's package `nats-server`) on a free loopback port, ended with its test. Signals go only to
// the process that is started here.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile } from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';

import { toolPath } from '../../scripts/optional-tools.mjs';
import { SOON, until, within } from './deadline.mjs';
import { needing } from './needing.mjs';
import { freePort } from './ports.mjs';
import { exitOf, kill, remove } from './teardown.mjs';

/** A name in scripts/optional-tools.mjs: what `Nats` runs if no other is named. */
const ANY = 'nats-server';

/** Tests with a `Nats` that runs this program. */
export const needingNats = (test, program = ANY) => needing(test, program);

/** See the file. */
export class Nats {
  port = 0;
  output = '';
  #args = [];
  #child;
  #exited;
  #folder;
  #program;

  /** `program`: a name in scripts/optional-tools.mjs. */
  constructor(program = ANY) {
    this.#program = program;
  }

  /** One for a single test. `args`: more options, such as `['--user', 'me', '--pass', 'secret']`. */
  static async with(t, args = []) {
    const nats = new Nats();
    t.teardown(() => nats.stop());
    nats.#args = args;
    nats.port = await freePort();
    await nats.launchAgain();
    return nats;
  }

  /**
   * One with JetStream for a single test; what it keeps survives `stop`. `accounts`: those of an operator that keep
   * streams. Without a folder for it a server sets up such an account when clients connect, and may then remove the
   * files of a stream that one of them has already made.
   */
  static async withStreams(t, args = [], accounts = []) {
    const nats = new Nats();
    t.teardown(() => nats.end());
    await nats.startStreams(args, accounts);
    return nats;
  }

  /** One with JetStream for all tests of a file; not started if it is not installed. */
  static of(test) {
    const nats = new Nats();
    const hooks = needingNats(test);
    hooks.before(() => nats.startStreams());
    hooks.after.always(() => nats.end());
    return nats;
  }

  /** Starts it the first time, with JetStream; what it keeps survives `stop`, until `end`. */
  async startStreams(args = [], accounts = []) {
    this.#folder = await mkdtemp(path.join(os.tmpdir(), 'millrace-nats-'));
    const folders = accounts.map((account) => path.join(this.#folder, 'jetstream', account, 'streams', 'none'));
    await Promise.all(folders.map((folder) => mkdir(folder, { recursive: true })));
    this.#args = ['--jetstream', '--store_dir', this.#folder, ...args];
    this.port = await freePort();
    await this.launchAgain();
  }

  /** `nats://127.0.0.1:port`. */
  get url() {
    return `nats://127.0.0.1:${this.port}`;
  }

  /** How many there were since it was launched, as far as `output` goes back; with `--debug` in `args`. */
  get connections() {
    return this.output.split('Client connection created').length - 1;
  }

  get isRunning() {
    return this.#child?.exitCode === null && this.#child.signalCode === null;
  }

  /** Kills the process; resolves when it has ended. */
  async stop() {
    if (this.#child === undefined) return;
    kill(this.#child);
    await this.#exited;
  }

  /** Suspends the process until `goOn`; its connections stay. Resolves when none of its threads does anything any more. */
  async pause() {
    const { pid } = this.#child;
    this.#child.kill('SIGSTOP');
    if (process.platform !== 'linux') return;
    const isStopped = async (thread) =>
      (await readFile(`/proc/${pid}/task/${thread}/stat`, 'utf8')).split(') ')[1].startsWith('T');
    const areStopped = async () =>
      (await Promise.all((await readdir(`/proc/${pid}/task`)).map(isStopped))).every(Boolean);
    await until(areStopped, 'nats-server to be suspended');
  }

  goOn() {
    this.#child.kill('SIGCONT');
  }

  /** Ends it, and removes what it has kept. */
  async end() {
    await this.stop();
    if (this.#folder) await remove(this.#folder);
  }

  /** Starts it, the first time or again after `stop`, on the same port; `args`: others than before. */
  async launchAgain(args = this.#args) {
    this.output = '';
    this.#child = spawn(toolPath(this.#program), ['--addr', '127.0.0.1', '--port', String(this.port), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#exited = exitOf(this.#child);
    const ready = new Promise((resolve) => {
      for (const stream of [this.#child.stdout, this.#child.stderr]) {
        stream.on('data', (chunk) => {
          this.output = (this.output + chunk).slice(-16_384);
          if (this.output.includes('Server is ready')) resolve();
        });
      }
    });
    const died = this.#exited.then((how) => Promise.reject(new Error(`nats-server ended (${how}):\n${this.output}`)));
    died.catch(() => {});
    await within(Promise.race([ready, died]), () => `nats-server to be ready\n${this.output}`, 2 * SOON);
  }

  /** The answer to a request of an operator; rejects if none comes within `ms`. */
  async ask(subject, body, ms = SOON) {
    const socket = net.connect(this.port, '127.0.0.1').on('error', () => {});
    const text = body === undefined ? '' : JSON.stringify(body);
    const inbox = `answers.${randomUUID()}`;
    socket.write(`CONNECT {"verbose":false}\r\nSUB ${inbox} 1\r\n`);
    socket.write(`PUB ${subject} ${inbox} ${text.length}\r\n${text}\r\n`);
    const signal = AbortSignal.timeout(ms);
    let heard = '';
    let found;
    try {
      while (!found) {
        heard += (await once(socket, 'data', { signal }))[0];
        const head = /MSG answers\.\S+ 1 (\d+)\r\n/.exec(heard);
        const begin = head && head.index + head[0].length;
        if (head && heard.length >= begin + Number(head[1])) found = heard.slice(begin, begin + Number(head[1]));
      }
    } finally {
      socket.destroy();
    }
    return JSON.parse(found);
  }

  /** Publishes bytes with a raw connection. */
  async publish(subject, payload) {
    const socket = net.connect(this.port, '127.0.0.1');
    const body = Buffer.from(payload);
    const before = `CONNECT {"verbose":false}\r\nPUB ${subject} ${body.length}\r\n`;
    socket.write(Buffer.concat([Buffer.from(before), body, Buffer.from('\r\nPING\r\n')]));
    let answered = '';
    while (!answered.includes('PONG')) answered += (await once(socket, 'data'))[0];
    socket.destroy();
  }
}
