/**
 * A place for one worker thread. It holds a thread, or waits for the next attempt to start one. Owns replacement and
 * back-off. A successor is started beside the current thread and takes its place once it is ready.
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
  /** The thread in this place: it takes connections, or is being started in an empty place. */
  #thread: WorkerThread | undefined;
  /** The thread that is being started to replace it. */
  #successor: WorkerThread | undefined;
  /** The replaced thread that is being stopped. */
  #leaving: WorkerThread | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  #delay = 0;
  #readyAt = 0;

  /** `startMs`: time for a thread to become ready, in milliseconds; 0 is unlimited. */
  constructor(data: WorkerData, startMs: number, report: (error: MillraceError) => void, log: Log | undefined) {
    this.#data = data;
    this.#startMs = startMs;
    this.#report = report;
    this.#log = log;
  }

  /**
   * Starts the first thread.
   *
   * @throws {MillraceError} ERR_MILLRACE_WORKER_FAILED; the start is not repeated
   */
  async open(): Promise<void> {
    await this.#settled(this.#launch());
  }

  /** Whether this slot has the worker with this id, also while it is being stopped. */
  holds(worker: number): boolean {
    return this.#find(worker) !== undefined;
  }

  /**
   * Ends and replaces the thread of a worker that does not answer, without waiting for the thread's end. A worker that
   * was replaced or is being stopped is only ended, so that callers do not wait for it.
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
   * Starts a worker that imports the module again. Once it takes connections, the current worker closes its own with
   * 1012, handles waiting events for at most `ms`, and ends. Only one call may run at a time. `signal` ends the worker
   * that is being started.
   *
   * @throws {MillraceError} ERR_MILLRACE_WORKER_FAILED; the current worker stays. ERR_MILLRACE_NOT_RUNNING; the slot is
   *   stopped, and so is the new worker
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
      // the signal may have been aborted just then
      signal?.throwIfAborted();
    } catch (error) {
      if (this.#closed) throw notRunning();
      await after.stop(ms, true);
      this.#successor = undefined;
      throw signal?.aborted ? signal.reason : error;
    } finally {
      signal?.removeEventListener('abort', end);
    }
    // the call that closed the slot stops all threads
    if (this.#closed) throw notRunning();
    clearTimeout(this.#timer);
    const before = this.#thread;
    this.#successor = undefined;
    this.#thread = after;
    this.#leaving = before;
    await before?.stop(ms, true);
    this.#leaving = undefined;
  }

  /** Ends the worker in order, with the replaced one and the one being started. Nothing is replaced from now on. */
  async stop(ms: number): Promise<void> {
    this.#close();
    await Promise.all(this.#threads().map((thread) => thread.stop(ms)));
  }

  /** Ends the worker at once, with the replaced one and the one being started. */
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

  /** Removes a thread that has ended. If it was in this place, the place is empty. */
  #vacated(thread: WorkerThread): void {
    if (this.#closed || thread !== this.#thread) return;
    this.#thread = undefined;
    this.#afterLoss();
  }

  /** Replaces a worker that was ready and was lost. */
  #afterLoss(): void {
    if (performance.now() - this.#readyAt >= LASTING_MS) this.#delay = 0;
    this.#again(LONGEST_LOSS_DELAY_MS);
  }

  /** Starts a replacement: at once the first time, then with growing delays while replacements do not last. */
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
      // it was ended because it is not wanted any more
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

/** The delay before the second attempt in a row. It doubles with each further one. */
const FIRST_DELAY_MS = 50;

/** The longest delay while replacements cannot be started. */
const LONGEST_DELAY_MS = 5_000;

/** The longest delay while replacements start but soon end. */
const LONGEST_LOSS_DELAY_MS = 200;

/** A worker that ran this long, in milliseconds, counts as lasting. */
const LASTING_MS = 1_000;
