/** A worker thread, seen from the thread that started it. Owns its life from start to end. Replaces no thread. */

import { Worker, type WorkerOptions } from 'node:worker_threads';
import { IS_BUNDLED } from '../addon/place.js';
import { MillraceError } from '../errors.js';
import { revive, revivedReport, workerFailure } from '../log/report.js';
import type { FromWorker, ToWorker, WorkerData } from './messages.js';

/** The owner of a thread. */
export interface Watcher {
  /** Reports an error: one that the worker reported, or that the worker did not end when it was stopped. */
  report(error: MillraceError): void;
  /**
   * Reports that the thread ended on its own after it was ready, or before its stop was done. Called once, and never
   * after `terminate`.
   */
  lost(thread: WorkerThread, cause: unknown): void;
}

/** See the module. Messages that arrive after the thread was given up are ignored. */
export class WorkerThread {
  /** Resolves when the worker takes connections. Rejects if it cannot be started. */
  readonly ready: Promise<void>;
  readonly #worker: Worker;
  readonly #watcher: Watcher;
  /** `unwanted`: stopped while it starts. Its message that it is ready may be on the way. */
  #state: 'starting' | 'unwanted' | 'ready' | 'stopping' | 'over' = 'starting';
  #id: number | undefined;
  #cause: unknown;
  #accept: (() => void) | undefined;
  #refuse: ((error: MillraceError) => void) | undefined;
  #stopped: (() => void) | undefined;
  #stopping: Promise<void> | undefined;
  /** The message that it gets if it becomes ready after it was stopped. */
  #unwanted: ToWorker | undefined;
  /** The deadline of its start, later that of its end. */
  #timer: NodeJS.Timeout | undefined;

  /**
   * `startMs`: time to become ready, in milliseconds; 0 is unlimited.
   *
   * @throws DataCloneError if the argument cannot be cloned
   */
  constructor(data: WorkerData, startMs: number, watcher: Watcher) {
    this.#watcher = watcher;
    this.#worker = launch({ workerData: data, name: 'millrace' });
    this.ready = new Promise((resolve, reject) => {
      this.#accept = resolve;
      this.#refuse = reject;
    });
    this.#worker.on('message', (message: FromWorker) => this.#heed(message));
    this.#worker.on('messageerror', (error) => this.#fail(error));
    this.#worker.on('error', (error) => {
      this.#cause = error;
      this.#fail(error);
    });
    this.#worker.on('exit', (code) => {
      this.#fail(new Error(`the worker ended with exit code ${code} before it was ready`));
      this.#ended(code);
    });
    if (startMs > 0) this.#within(startMs, () => this.#fail(new Error(`not ready after ${startMs} ms`)));
  }

  /** The worker's id, once it is ready. */
  get id(): number | undefined {
    return this.#id;
  }

  /**
   * Lets the worker handle waiting events for at most `ms`, with as much again for `handleStop`, and then ends it.
   * `leave`: the worker was replaced, so its connections are closed with 1012 first. A worker that is not ready gets a
   * short time to become so. Later calls return the first call's promise.
   */
  stop(ms: number, leave = false): Promise<void> {
    this.#stopping ??= this.#stop(ms, leave);
    return this.#stopping;
  }

  /** Ends the thread at once, also while it starts or is being stopped. */
  async terminate(): Promise<void> {
    if (this.#state === 'starting') this.#refuse?.(unwanted());
    this.#state = 'over';
    clearTimeout(this.#timer);
    this.#stopped?.();
    await this.#worker.terminate();
  }

  async #stop(ms: number, leave: boolean): Promise<void> {
    if (this.#state === 'starting' || this.#state === 'ready') {
      const message: ToWorker = { type: 'stop', ms, leave };
      await new Promise<void>((resolve) => {
        this.#stopped = resolve;
        if (this.#state === 'ready') return this.#end(message);
        this.#state = 'unwanted';
        this.#unwanted = message;
        this.#refuse?.(unwanted());
        this.#within(STOP_MARGIN_MS, () => {
          if (this.#state === 'unwanted') resolve();
        });
      });
    }
    await this.terminate();
  }

  #end(message: ToWorker): void {
    this.#state = 'stopping';
    this.#worker.postMessage(message);
    const ms = 2 * message.ms + STOP_MARGIN_MS;
    this.#within(ms, () => {
      if (this.#state !== 'stopping') return;
      const late = `worker ${this.#id} did not end within ${ms} ms, terminating`;
      this.#watcher.report(new MillraceError('ERR_MILLRACE_WORKER_UNRESPONSIVE', late));
      this.#stopped?.();
    });
  }

  #heed(message: FromWorker): void {
    switch (message.type) {
      case 'ready':
        this.#id = message.worker;
        // not before it is ready: in some runtimes a message is lost to a worker that does not listen yet
        if (this.#unwanted !== undefined && this.#state === 'unwanted') this.#end(this.#unwanted);
        if (this.#state !== 'starting') return;
        this.#state = 'ready';
        clearTimeout(this.#timer);
        this.#accept?.();
        break;
      case 'failed':
        this.#fail(revive(message.error));
        break;
      case 'report':
        if (this.#state !== 'over') this.#watcher.report(revivedReport(message.report));
        break;
      case 'stopped':
        this.#stopped?.();
        break;
    }
  }

  /** Handles a failure before the worker was ready. */
  #fail(cause: unknown): void {
    if (this.#state === 'unwanted') this.#stopped?.();
    if (this.#state !== 'starting') return;
    this.#refuse?.(workerFailure(cause));
    void this.terminate();
  }

  #ended(code: number): void {
    this.#stopped?.();
    if (this.#state !== 'ready' && this.#state !== 'stopping') return;
    this.#state = 'over';
    clearTimeout(this.#timer);
    this.#watcher.lost(this, this.#cause ?? new Error(`it ended with exit code ${code}`));
  }

  /**
   * Sets the deadline, in place of the previous one. Messages that have arrived are handled first, because this thread
   * may be late.
   */
  #within(ms: number, act: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => setImmediate(act), ms);
  }
}

/**
 * Starts a thread with its entry: a file beside this one or, in a bundle, which has no such file, the same code as a
 * text.
 */
function launch(options: WorkerOptions): Worker {
  if (!IS_BUNDLED) return new Worker(entryFile(), options);
  const { BOOTSTRAP }: { BOOTSTRAP: string } = require('./embedded.js');
  return new Worker(BOOTSTRAP, { ...options, eval: true });
}

/** The path of the entry, in a form that file tracers such as those of nft and Turbopack recognise. */
function entryFile(): string {
  return require.resolve('./bootstrap.js');
}

function unwanted(): MillraceError {
  return workerFailure(new Error('it was ended before it was ready'));
}

/**
 * The margin after the worker's own time limits before it is ended, and the time for a starting worker to react to its
 * stop.
 */
const STOP_MARGIN_MS = 500;
