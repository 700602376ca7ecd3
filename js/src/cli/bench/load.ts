/**
 * The load: connections that echo, or that connect and disconnect, until the time is up. Owns the counts; prints
 * nothing.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { readable } from '../../log/report.js';
import { type Listener, LoadConnection } from './bench-connection.js';
import { Latencies } from './latencies.js';

/** What to measure. */
export interface LoadPlan {
  url: URL;
  mode: 'echo' | 'connect';
  connections: number;
  seconds: number;
  /** The size of a text in bytes. */
  size: number;
  /** Whether texts are compressed. */
  compression: boolean;
}

/** One measurement. */
export class Load {
  /** The duration of each operation. */
  readonly latencies = new Latencies();
  /** The reasons of failed connections, with their counts. */
  readonly failures = new Map<string, number>();
  /** Received messages that differ from what was sent. */
  others = 0;
  readonly #plan: LoadPlan;
  /** Connections that are open or being opened. */
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
   * Runs for the planned time, or until `stop`.
   *
   * @throws {Error} if the first connection fails, because then all would
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

  /** Ends the run, also while it waits for a handshake. */
  stop(): void {
    if (this.#over) return;
    this.#over = true;
    this.#ended = performance.now();
    for (const connection of this.#connections) connection.destroy();
    this.#tellOver();
  }

  /** Opens one connection without a message, to report a problem that all would have. */
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

  /** Runs one connection that sends a text, waits for the echo, and repeats that. */
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

  /** Opens and closes one connection after the other. */
  async #comeAndGo(): Promise<void> {
    while (!this.#over) {
      const began = performance.now();
      let gone: () => void = () => {};
      const end = new Promise<void>((resolve) => {
        gone = resolve;
      });
      const connection = await this.#connect({ message: () => {}, ended: gone });
      if (connection === undefined) {
        // pause before the next attempt, so that a refusing server is not flooded
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

  /** @throws {Error} with the reason, or because the run has ended */
  async #open(listener: Listener): Promise<LoadConnection> {
    const connection = new LoadConnection(this.#plan.url, this.#plan.compression, listener);
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
    // one line per reason, up to a limit, so that a server cannot make the list long
    const known = this.failures.has(why) || this.failures.size < MOST_REASONS;
    const reason = known ? why : 'something else';
    this.failures.set(reason, (this.failures.get(reason) ?? 0) + 1);
  }
}

const HANDSHAKE_MS = 10_000;
const REFUSED_PAUSE_MS = 20;
const MOST_REASONS = 20;
