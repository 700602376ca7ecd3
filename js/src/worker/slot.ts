/**
 * A place for a worker that is always taken: a thread, or the wait for the next attempt. Owns replacement and back-off.
 * A successor is started beside whatever happens there: whoever is ready takes the place, the successor also a taken one.
 */

import { MillraceError } from '../errors.js';
import type { Log } from '../log/log.js';
import { readable } from '../log/report.js';
import type { WorkerData } from './messages.js';
import { WorkerThread } from './thread.js';

/** See the module. */
export class Slot {
  readonly #data: WorkerData;
  readonly #startMs: number;
  readonly #report: (error: MillraceError) => void;
  readonly #log: Log | undefined;
  /** Is here: takes connections, or is started to do so in an empty place. */
  #thread: WorkerThread | undefined;
  /** Is started to take its place. */
  #successor: WorkerThread | undefined;
  /** Had its place and is being stopped. */
  #leaving: WorkerThread | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  #delay = 0;
  #readyAt = 0;

  /** `startMs`: how long a thread may take to be ready; 0 is for ever. */
  constructor(data: WorkerData, startMs: number, report: (error: MillraceError) => void, log: Log | undefined) {
    this.#data = data;
    this.#startMs = startMs;
    this.#report = report;
    this.#log = log;
  }

  /**
   * Starts the first thread.
   *
   * @throws {MillraceError} ERR_MILLRACE_WORKER_FAILED; there is no second attempt
   */
  async open(): Promise<void> {
    await this.#settled(this.#launch());
  }

  /** Whether the worker with this id sits here, or leaves. */
  holds(worker: number): boolean {
    return this.#find(worker) !== undefined;
  }

  /**
   * The worker does not answer: its thread is ended and replaced, without waiting for its end. One that leaves or is
   * being stopped is only ended, so that nobody need wait for what will not come.
   */
  replace(worker: number, ms: number): void {
    const thread = this.#find(worker);
    if (thread === undefined) return;
    const message = `worker ${worker} unresponsive for ${ms} ms, terminating`;
    void thread.terminate();
    this.#report(new MillraceError('ERR_MILLRACE_WORKER_UNRESPONSIVE', message));
    this.#vacated(thread);
  }

  /**
   * Starts a worker that imports the module again; once it takes connections, the one before lets its own go (1012),
   * handles what waits, for at most `ms`, and ends. One call at a time. `signal` ends the one that is started.
   *
   * @throws {MillraceError} ERR_MILLRACE_WORKER_FAILED; the worker stays as it is. ERR_MILLRACE_NOT_RUNNING; the slot
   *   is stopped, and so is whoever was started
   * @throws the signal's reason
   */
  async renew(ms: number, signal?: AbortSignal): Promise<void> {
    if (this.#closed) throw notRunning();
    signal?.throwIfAborted();
    const after = this.#newThread();
    this.#successor = after;
    const end = (): void => void after.stop(ms, true);
    signal?.addEventListener('abort', end);
    try {
      await this.#settled(after);
      // it may have been told to stop just then
      signal?.throwIfAborted();
    } catch (error) {
      if (this.#closed) throw notRunning();
      await after.stop(ms, true);
      this.#successor = undefined;
      throw signal?.aborted ? signal.reason : error;
    } finally {
      signal?.removeEventListener('abort', end);
    }
    // whoever has closed the slot stops them all
    if (this.#closed) throw notRunning();
    clearTimeout(this.#timer);
    const before = this.#thread;
    this.#successor = undefined;
    this.#thread = after;
    this.#leaving = before;
    await before?.stop(ms, true);
    this.#leaving = undefined;
  }

  /** Ends the worker in order, and those that leave or are started; nothing is replaced any more. */
  async stop(ms: number): Promise<void> {
    this.#close();
    await Promise.all(this.#threads().map((thread) => thread.stop(ms)));
  }

  /** Ends the worker at once, and those that leave or are started. */
  async abandon(): Promise<void> {
    this.#close();
    await Promise.all(this.#threads().map((thread) => thread.terminate()));
  }

  #close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #threads(): WorkerThread[] {
    return [this.#thread, this.#successor, this.#leaving].filter((thread) => thread !== undefined);
  }

  #find(worker: number): WorkerThread | undefined {
    return this.#threads().find((thread) => thread.id === worker);
  }

  /** Starts a thread in the empty place. */
  #launch(): WorkerThread {
    this.#thread = this.#newThread();
    return this.#thread;
  }

  #newThread(): WorkerThread {
    return new WorkerThread(this.#data, this.#startMs, {
      report: this.#report,
      lost: (lost, cause) => this.#lost(lost, cause),
    });
  }

  async #settled(thread: WorkerThread): Promise<void> {
    await thread.ready;
    this.#readyAt = performance.now();
    this.#log?.write('info', 'millrace::worker', 'ready', { worker: thread.id ?? 0 });
  }

  #lost(thread: WorkerThread, cause: unknown): void {
    const message = `worker ${thread.id} ended: ${readable(cause)}`;
    this.#report(new MillraceError('ERR_MILLRACE_WORKER_EXITED', message, { cause }));
    this.#vacated(thread);
  }

  /** A thread is gone. Its place is empty if it had one. */
  #vacated(thread: WorkerThread): void {
    if (this.#closed || thread !== this.#thread) return;
    this.#thread = undefined;
    this.#afterLoss();
  }

  /** A worker that served: its place is empty for a moment at most. */
  #afterLoss(): void {
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
    let thread: WorkerThread | undefined;
    try {
      thread = this.#launch();
      await this.#settled(thread);
    } catch (error) {
      // ended because it is not wanted any more
      if (this.#closed || thread !== this.#thread) return;
      this.#thread = undefined;
      this.#report(error as MillraceError);
      this.#again(LONGEST_DELAY_MS);
    }
  }
}

function notRunning(): MillraceError {
  return new MillraceError('ERR_MILLRACE_NOT_RUNNING', 'the workers are being stopped');
}

/** Wait before the second attempt in a row; doubled for each further one. */
const FIRST_DELAY_MS = 50;

/** Longest wait while replacements cannot be started. */
const LONGEST_DELAY_MS = 5_000;

/** Longest wait while replacements start but soon end. */
const LONGEST_LOSS_DELAY_MS = 200;

/** A worker that served this long did last. */
const LASTING_MS = 1_000;
