/** A place for a worker that is always taken: a thread, or the wait for the next attempt. Owns replacement and back-off. */

import { MillraceError } from '../errors.js';
import type { Log } from '../log.js';
import { readable } from '../report.js';
import type { WorkerData } from './messages.js';
import { WorkerThread } from './thread.js';

/** See the module. */
export class Seat {
  readonly #data: WorkerData;
  readonly #report: (error: MillraceError) => void;
  readonly #log: Log | undefined;
  #thread: WorkerThread | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  #delay = 0;
  #readyAt = 0;
  /** A successor of a worker that serves is being started. */
  #renewing = false;

  constructor(data: WorkerData, report: (error: MillraceError) => void, log: Log | undefined) {
    this.#data = data;
    this.#report = report;
    this.#log = log;
  }

  /**
   * Starts the first thread.
   *
   * @throws {MillraceError} ERR_MILLRACE_WORKER_FAILED; there is no second attempt
   */
  async open(): Promise<void> {
    await this.#launch();
  }

  /** Whether the worker with this id sits here. */
  holds(worker: number): boolean {
    return this.#thread?.id === worker;
  }

  /**
   * The worker does not answer: its thread is ended and replaced, without waiting for its end. While the seat is being
   * stopped, the thread is only ended, so that the stop need not wait for what will not come.
   */
  replace(ms: number): void {
    const thread = this.#thread;
    if (thread === undefined) return;
    const message = `worker ${thread.id} unresponsive for ${ms} ms, terminating`;
    this.#thread = undefined;
    void thread.terminate();
    this.#report(new MillraceError('ERR_MILLRACE_WORKER_UNRESPONSIVE', message));
    if (!this.#closed) this.#afterLoss();
  }

  /**
   * Starts a worker that imports the module again; once it takes connections, the one before lets its own go (1012),
   * handles what waits, for at most `ms`, and ends.
   *
   * @throws {MillraceError} ERR_MILLRACE_WORKER_FAILED; the worker stays as it is
   */
  async renew(ms: number): Promise<void> {
    const before = this.#thread;
    // without one, the next attempt imports the module anyway
    if (this.#closed || before === undefined || this.#renewing) return;
    const after = this.#newThread();
    this.#renewing = true;
    try {
      await after.ready;
    } catch (error) {
      this.#renewing = false;
      // the one before may have ended meanwhile
      if (this.#thread === undefined) this.#afterLoss();
      throw error;
    }
    this.#renewing = false;
    if (this.#closed) return after.terminate();
    this.#thread = after;
    this.#settledIn(after);
    await before.stop(ms, true);
  }

  /** Ends the worker in order; nothing is replaced any more. */
  async stop(ms: number): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#thread?.stop(ms);
    this.#thread = undefined;
  }

  /** Ends the worker at once. */
  async abandon(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#thread?.terminate();
    this.#thread = undefined;
  }

  async #launch(): Promise<void> {
    const thread = this.#newThread();
    this.#thread = thread;
    await thread.ready;
    this.#settledIn(thread);
  }

  #newThread(): WorkerThread {
    return new WorkerThread(this.#data, {
      report: this.#report,
      lost: (lost, cause) => this.#lost(lost, cause),
    });
  }

  #settledIn(thread: WorkerThread): void {
    this.#readyAt = performance.now();
    this.#log?.write('info', 'millrace::worker', 'ready', { worker: thread.id ?? 0 });
  }

  #lost(thread: WorkerThread, cause: unknown): void {
    if (this.#closed || thread !== this.#thread) return;
    this.#thread = undefined;
    const message = `worker ${thread.id} ended: ${readable(cause)}`;
    this.#report(new MillraceError('ERR_MILLRACE_WORKER_EXITED', message, { cause }));
    this.#afterLoss();
  }

  /** A worker that served: its place is empty for a moment at most. */
  #afterLoss(): void {
    // its successor is on its way
    if (this.#renewing) return;
    if (performance.now() - this.#readyAt >= LASTING_MS) this.#delay = 0;
    this.#again(LONGEST_LOSS_DELAY_MS);
  }

  /** Starts a replacement: at once the first time, later and later while the ones before did not last. */
  #again(longest: number): void {
    if (this.#closed) return;
    const delay = Math.min(this.#delay, longest);
    this.#delay = delay === 0 ? FIRST_DELAY_MS : 2 * delay;
    if (delay === 0) void this.#replacement();
    else this.#timer = setTimeout(() => void this.#replacement(), delay);
  }

  async #replacement(): Promise<void> {
    try {
      await this.#launch();
      if (this.#closed) await this.#thread?.terminate();
    } catch (error) {
      this.#thread = undefined;
      if (this.#closed) return;
      this.#report(error as MillraceError);
      this.#again(LONGEST_DELAY_MS);
    }
  }
}

/** Wait before the second attempt in a row; doubled for each further one. */
const FIRST_DELAY_MS = 50;

/** Longest wait while replacements cannot be started. */
const LONGEST_DELAY_MS = 5_000;

/** Longest wait while replacements start but soon end. */
const LONGEST_LOSS_DELAY_MS = 200;

/** A worker that served this long did last. */
const LASTING_MS = 1_000;
