// A real redis-server (Debian's package `redis`) on a free loopback port, with nothing on disk, ended with its test.
// Exactly the process started here is ever signalled.
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

import { SOON, within } from './deadline.mjs';
import { freePort } from './ports.mjs';
import { exitOf, kill, remove } from './teardown.mjs';

/** Another server of the protocol may stand in for it, such as valkey-server. */
const SERVER = process.env.MILLRACE_TEST_REDIS ?? '/usr/bin/redis-server';

/** redis-cli, of the same package. */
export const REDIS_CLI = '/usr/bin/redis-cli';

/** redis-benchmark, of the same package. */
export const REDIS_BENCHMARK = '/usr/bin/redis-benchmark';

/** A test that needs the package: skipped where it is absent, or failed where nothing may be skipped. */
export function needingRedis(test) {
  if (existsSync(SERVER)) return test;
  const missing = 'the Debian package redis is not installed';
  if (process.env.MILLRACE_REQUIRE_ALL === '1') return (title) => test(title, (t) => t.fail(missing));
  const skip = (title) => test.skip(`${title} (${missing})`, () => {});
  return Object.assign(skip, { skip });
}

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

  /** One for all tests of a file; where the package is absent it is not started. */
  static of(test, args = []) {
    const redis = new Redis();
    test.before(() => (existsSync(SERVER) ? redis.start(args) : undefined));
    test.after.always(() => redis.end());
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

  /** Ends the process and resolves once it is over; its data is lost. */
  async stop() {
    kill(this.#child);
    await this.#exited;
  }

  /** Starts it again after `stop`, on the same port. */
  async launchAgain() {
    await this.#launch();
  }

  /** Runs redis-cli with these words and resolves with what it prints. */
  cli(...words) {
    return new Promise((resolve, reject) => {
      execFile(REDIS_CLI, ['-p', String(this.port), ...words], (error, stdout) => {
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
    this.#child = spawn(SERVER, [...options, ...this.#args], { cwd: this.#folder, stdio: ['ignore', 'pipe', 'pipe'] });
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
