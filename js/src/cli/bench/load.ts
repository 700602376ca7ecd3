/** The load itself: connections that echo or come and go until time is up. Owns the counts; prints nothing. */

import { setTimeout as pause } from 'node:timers/promises';
import { readable } from '../../log/report.js';
import { type Listener, LoadConnection } from './bench-connection.js';
import { Latencies } from './latencies.js';

/** What is asked for. */
export interface LoadPlan {
  url: URL;
  mode: 'echo' | 'connect';
  connections: number;
  seconds: number;
  /** Bytes of a text. */
  size: number;
}

/** One measurement. */
export class Load {
  /** What was done, and how long each took. */
  readonly latencies = new Latencies();
  /** Why connections failed, and how often. */
  readonly failures = new Map<string, number>();
  /** Messages that were not what was sent. */
  others = 0;
  readonly #plan: LoadPlan;
  /** Those that are open, and those that are being opened. */
  readonly #connections = new Set<LoadConnection>();
  readonly #whenOver: Promise<void>;
  #over = false;
  #tellOver: () => void = () => {};
  #began = 0;
  #ended = 0;

  constructor(plan: LoadPlan) {
    this.#plan = plan;
    this.#whenOver = new Promise((resolve) => {
      this.#tellOver = resolve;
    });
  }

  /** How long it has run, in milliseconds. */
  get elapsed(): number {
    if (this.#began === 0) return 0;
    return (this.#over ? this.#ended : performance.now()) - this.#began;
  }

  /**
   * Runs for as long as planned, or until `stop`.
   *
   * @throws {Error} if the first connection fails: then all would
   */
  async run(): Promise<void> {
    const { connections, mode, seconds } = this.#plan;
    const work = mode === 'echo' ? () => this.#echo() : () => this.#comeAndGo();
    await this.#try();
    if (this.#over) return;
    this.#began = performance.now();
    const timer = setTimeout(() => this.stop(), seconds * 1000);
    for (let index = 0; index < connections; index += 1) void work();
    await this.#whenOver;
    clearTimeout(timer);
  }

  /** Ends it, also while it waits for a handshake. */
  stop(): void {
    if (this.#over) return;
    this.#over = true;
    this.#ended = performance.now();
    for (const connection of this.#connections) connection.destroy();
    this.#tellOver();
  }

  /** One connection that does nothing: what is wrong with it is wrong with all. */
  async #try(): Promise<void> {
    try {
      const connection: LoadConnection = await this.#open({
        message: () => {},
        ended: () => this.#connections.delete(connection),
      });
      connection.close();
    } catch (error) {
      if (!this.#over) throw error;
    }
  }

  /** One connection that sends, waits for the same, and sends again. */
  async #echo(): Promise<void> {
    const payload = Buffer.alloc(this.#plan.size, `millrace ${this.#connections.size} `);
    let sent = 0;
    const connection = await this.#connect({
      message: (data) => {
        if (this.#over) return;
        if (!payload.equals(data)) {
          this.others += 1;
          return;
        }
        const now = performance.now();
        this.latencies.add(now - sent);
        sent = now;
        connection?.send(payload);
      },
      ended: (code) => {
        if (!this.#over) this.#fail(`closed by the server with ${code}`);
      },
    });
    if (connection === undefined) return;
    sent = performance.now();
    connection.send(payload);
  }

  /** One connection after the other. */
  async #comeAndGo(): Promise<void> {
    while (!this.#over) {
      const began = performance.now();
      let gone: () => void = () => {};
      const end = new Promise<void>((resolve) => {
        gone = resolve;
      });
      const connection = await this.#connect({ message: () => {}, ended: gone });
      if (connection === undefined) {
        // a server that refuses is not asked in a tight loop
        await pause(REFUSED_PAUSE_MS);
        continue;
      }
      if (!this.#over) this.latencies.add(performance.now() - began);
      connection.close();
      await end;
      this.#connections.delete(connection);
    }
  }

  async #connect(listener: Listener): Promise<LoadConnection | undefined> {
    try {
      return await this.#open(listener);
    } catch (error) {
      if (!this.#over) this.#fail(readable(error));
      return undefined;
    }
  }

  /** @throws {Error} why not, or because it was destroyed when all was over */
  async #open(listener: Listener): Promise<LoadConnection> {
    const connection = new LoadConnection(this.#plan.url, listener);
    this.#connections.add(connection);
    try {
      await connection.open(HANDSHAKE_MS);
      return connection;
    } catch (error) {
      this.#connections.delete(connection);
      throw error;
    }
  }

  #fail(why: string): void {
    // one line each: a server cannot make the list long
    const known = this.failures.has(why) || this.failures.size < MOST_REASONS;
    const reason = known ? why : 'something else';
    this.failures.set(reason, (this.failures.get(reason) ?? 0) + 1);
  }
}

const HANDSHAKE_MS = 10_000;
const REFUSED_PAUSE_MS = 20;
const MOST_REASONS = 20;
