// A real redis-server (Debian's package `redis`) on a free loopback port, with nothing on disk, ended with its test.
// Signals go only to the process that is started here.
import { execFile, spawn } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

import { toolPath } from '../../scripts/optional-tools.mjs';
import { SOON, within } from './deadline.mjs';
import { needing } from './needing.mjs';
import { freePort } from './ports.mjs';
import { exitOf, kill, remove } from './teardown.mjs';

/** Tests with a `Redis`. Another server with the same protocol may replace it, such as valkey-server. */
export const needingRedis = (test) => needing(test, 'redis-server', 'redis-cli');

/** Tests that compare exact replies with those of a `Redis`: the texts differ between versions. */
export const likeRedis = (test) => needing(test, 'redis-server of 7.0', 'redis-cli');

/** See the file. */
export class Redis {
  port = 0;
  output = '';
  #folder;
  #args;
  #child;
  #exited;

  /** One for a single test. `args`: more options, such as `['--requirepass', 'secret']`. */
  static async with(t, args = []) {
    const redis = new Redis();
    t.teardown(() => redis.end());
    await redis.start(args);
    return redis;
  }

  /** One for all tests of a file; not started if it is not installed. */
  static of(test, args = []) {
    const redis = new Redis();
    const hooks = needingRedis(test);
    hooks.before(() => redis.start(args));
    hooks.after.always(() => redis.end());
    return redis;
  }

  /** `redis://127.0.0.1:port`. */
  get url() {
    return `redis://127.0.0.1:${this.port}`;
  }

  get pid() {
    return this.#child.pid;
  }

  async start(args) {
    this.#args = args;
    this.#folder = await mkdtemp(path.join(os.tmpdir(), 'millrace-redis-'));
    this.port = await freePort();
    await this.#launch();
  }

  /** Ends the process; resolves when it has ended. Its data is lost. */
  async stop() {
    kill(this.#child);
    await this.#exited;
  }

  /** Has the process write its data and end; resolves when it has ended. */
  async shutDown() {
    this.#child.kill('SIGTERM');
    await this.#exited;
  }

  /** Suspends the process until `goOn`; its connections stay. */
  pause() {
    this.#child.kill('SIGSTOP');
  }

  goOn() {
    this.#child.kill('SIGCONT');
  }

  /** Starts it again after `stop`, on the same port. */
  async launchAgain() {
    await this.#launch();
  }

  /** Runs redis-cli with these words; resolves with its output. */
  cli(...words) {
    return new Promise((resolve, reject) => {
      execFile(toolPath('redis-cli'), ['-p', String(this.port), ...words], (error, stdout) => {
        if (error) reject(error);
        else resolve(stdout);
      });
    });
  }

  async end() {
    if (this.#child) await this.stop();
    if (this.#folder) await remove(this.#folder);
  }

  async #launch() {
    const options = ['--port', String(this.port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    this.#child = spawn(toolPath('redis-server'), [...options, ...this.#args], {
      cwd: this.#folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#exited = exitOf(this.#child);
    const ready = new Promise((resolve) => {
      for (const stream of [this.#child.stdout, this.#child.stderr]) {
        stream.on('data', (chunk) => {
          this.output = (this.output + chunk).slice(-16_384);
          if (this.output.includes('Ready to accept connections')) resolve();
        });
      }
    });
    const died = this.#exited.then((how) => Promise.reject(new Error(`redis-server ended (${how}):\n${this.output}`)));
    died.catch(() => {});
    await within(Promise.race([ready, died]), () => `redis-server to be ready\n${this.output}`, 2 * SOON);
    this.output = '';
  }
}
