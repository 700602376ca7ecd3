/** The result of `start`: the listeners of one call, and how they are stopped and reloaded. Owns no gateway. */

import { MillraceError } from '../errors.js';
import { nothing } from '../log/quiet.js';
import { parseReplaceOptions, parseStopOptions } from '../options/server-options.js';
import { parseTlsOptions, type TlsOptions } from '../options/tls.js';
import { type StopOptions, stopOnSignals } from './signals.js';
import type { Stats } from './stats.js';
import type { Begun, Supervisor } from './supervisor.js';

/** The result of `start`: the listeners of one call. */
export interface Server {
  /** The bound addresses in the order of `bind`: `"127.0.0.1:34567"` with the real port, or `"unix:/path"`. */
  readonly addresses: string[];
  /**
   * Ends the listeners of this call and their connections. It stops accepting, tells clients (1001), gives outboxes at
   * most `drain` milliseconds (default 5,000) to be written, and closes the connections. The last server to stop also
   * ends the workers, after every `handleClose` and then `handleStop`, and the I/O threads.
   *
   * With `spread`, it first closes connections one after the other over that time, and still accepts connections.
   *
   * Later calls return the promise of the first one. If they give a `drain` or a `spread` that ends sooner, counted from
   * the later call, it applies; `{ spread: 0, drain: 0 }` ends a stop at once.
   *
   * @throws {TypeError} (as a rejection) naming what is wrong with the options
   */
  stop(options?: StopOptions): Promise<void>;
  /**
   * Resolves when the server is stopped, for whatever reason. Use it for work that comes afterwards, such as closing a
   * database. Never rejects.
   */
  readonly stopped: Promise<void>;
  /**
   * After this call, SIGINT and SIGTERM (on Windows also SIGBREAK and SIGHUP) stop this server as `stop()` does. A
   * second signal ends the process at once, with the exit code 128 plus the signal's number. The process ends by itself
   * when nothing else keeps it running. When the server is stopped, signals have their previous effect again. Only the
   * first call counts.
   *
   * @throws {TypeError} naming what is wrong with the options
   */
  stopOnSignals(options?: StopOptions): void;
  /** The same as `stop()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
  /**
   * Replaces the gateway's workers, one after the other, by new ones that import their module again, while the server
   * goes on. Each new worker takes connections before the old one closes its own with 1012, so that a client that
   * connects again reaches the new code. `handleClose` and then `handleStop` still run in the old worker.
   *
   * `signal` ends a new worker that is being started. The old worker and those that were not replaced yet stay, and the
   * promise is rejected with the signal's reason.
   *
   * @throws {MillraceError} (as a rejection) ERR_MILLRACE_WORKER_FAILED if a new one cannot be started, or is not done
   *   after `limits.workerStartTimeoutMs`: the old one and those that were still to be replaced stay;
   *   ERR_MILLRACE_NOT_RUNNING with `threads: 0`, after this server's `stop`, or when the workers are stopped before all
   *   are replaced
   */
  replaceWorkers(options?: { signal?: AbortSignal }): Promise<void>;
  /**
   * Loads renewed certificates. It reads the files that `tls` named again or, with an argument, uses these options on
   * every listener of this call that speaks TLS. Open connections stay; later handshakes use the new certificates.
   *
   * @throws {TypeError} (as a rejection) naming what is wrong with `tls`
   * @throws {MillraceError} (as a rejection) ERR_MILLRACE_INVALID_TLS if something cannot be read or used: the old ones stay
   */
  reloadTls(tls?: TlsOptions): Promise<void>;
  /** The same as `stats()` of the gateway. */
  stats(): Stats;
}

/** Where a server gets its gateway's counters. */
export interface StatsSource {
  stats(): Stats;
}

/** A server whose listeners are up. */
export class RunningServer implements Server {
  readonly addresses: string[];
  readonly stopped: Promise<void>;
  readonly #gateway: StatsSource;
  readonly #supervisor: Supervisor;
  readonly #begun: Begun;
  #stopping: Promise<void> | undefined;
  #isStopped: () => void = nothing;
  #heedsSignals = false;
  readonly #detach: (() => void) | undefined;
  /** When it takes no more handshakes of another server, on the clock of `performance.now()`. */
  #detachesAt = Number.POSITIVE_INFINITY;
  #detaching: NodeJS.Timeout | undefined;
  /** Reloads run one after the other, so that the files of the last call are used in the end. */
  #reloading: Promise<void> = Promise.resolve();

  /** @param detach called when it takes no more connections */
  constructor(gateway: StatsSource, supervisor: Supervisor, begun: Begun, detach?: () => void) {
    this.addresses = [...begun.addresses];
    this.#gateway = gateway;
    this.#supervisor = supervisor;
    this.#begun = begun;
    this.#detach = detach;
    this.stopped = new Promise((resolve) => {
      this.#isStopped = resolve;
    });
  }

  async stop(options?: StopOptions): Promise<void> {
    const plan = parseStopOptions(options);
    // a stop that is spread takes connections until the spread is over
    if (this.#stopping === undefined) this.#detachAfter(plan.spreadMs ?? 0);
    else if (plan.spreadMs !== undefined) this.#detachAfter(plan.spreadMs);
    if (this.#stopping !== undefined) this.#begun.stop?.hasten(plan);
    else this.#stopping = this.#supervisor.finish(this.#begun, plan).finally(this.#isStopped);
    return this.#stopping;
  }

  #detachAfter(ms: number): void {
    const at = performance.now() + ms;
    if (this.#detach === undefined || at >= this.#detachesAt) return;
    this.#detachesAt = at;
    clearTimeout(this.#detaching);
    if (ms === 0) this.#detach();
    else this.#detaching = setTimeout(this.#detach, Math.min(ms, LONGEST_TIMER)).unref();
  }

  stopOnSignals(options: StopOptions = {}): void {
    parseStopOptions(options);
    if (this.#heedsSignals || this.#stopping !== undefined) return;
    this.#heedsSignals = true;
    stopOnSignals(Promise.resolve(this), options);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async replaceWorkers(options?: { signal?: AbortSignal }): Promise<void> {
    const signal = parseReplaceOptions(options);
    if (this.#stopping !== undefined) {
      throw new MillraceError('ERR_MILLRACE_NOT_RUNNING', 'this server is stopped, or is being stopped');
    }
    return this.#supervisor.replaceWorkers(signal);
  }

  async reloadTls(tls?: TlsOptions): Promise<void> {
    const plan = parseTlsOptions(tls);
    if (this.#stopping !== undefined) {
      throw new MillraceError('ERR_MILLRACE_NOT_RUNNING', 'this server is stopped, or is being stopped');
    }
    const reloaded = this.#reloading.then(() => this.#supervisor.reloadTls(this.#begun, plan));
    this.#reloading = reloaded.catch(() => undefined);
    return reloaded;
  }

  stats(): Stats {
    return this.#gateway.stats();
  }
}

/** The longest time of a timer of Node.js, in milliseconds. */
const LONGEST_TIMER = 2 ** 31 - 1;
