/** A worker thread, seen from the thread that started it. Owns its life from launch to end; replaces nothing. */

import path from 'node:path';
import { Worker } from 'node:worker_threads';
import type { MillraceError } from '../errors.js';
import { revive, revivedReport, workerFailure } from '../report.js';
import type { FromWorker, ToWorker, WorkerData } from './messages.js';

/** Who wants to know about a thread. */
export interface Watcher {
  /** An error that the worker reports. */
  report(error: MillraceError): void;
  /** It ended by itself after it was ready, or before its stop was done. Called once, and never after `terminate`. */
  lost(thread: WorkerThread, cause: unknown): void;
}

/** See the module. Whatever arrives after it was given up is ignored. */
export class WorkerThread {
  /** Resolves when the worker takes connections; rejects if it never does. */
  readonly ready: Promise<void>;
  readonly #worker: Worker;
  readonly #watcher: Watcher;
  #state: 'starting' | 'ready' | 'stopping' | 'over' = 'starting';
  #id: number | undefined;
  #cause: unknown;
  #refuse: ((error: MillraceError) => void) | undefined;
  #stopped: (() => void) | undefined;
  #stopping: Promise<void> | undefined;

  /** @throws DataCloneError if the argument cannot be cloned */
  constructor(data: WorkerData, watcher: Watcher) {
    this.#watcher = watcher;
    this.#worker = new Worker(path.join(__dirname, 'bootstrap.js'), { workerData: data, name: 'millrace' });
    this.ready = new Promise((resolve, reject) => {
      this.#refuse = reject;
      const fail = (cause: unknown): void => {
        if (this.#state !== 'starting') return;
        this.#state = 'over';
        reject(workerFailure(cause));
        void this.#worker.terminate();
      };
      this.#worker.on('message', (message: FromWorker) => {
        if (message.type === 'failed') fail(revive(message.error));
        else if (message.type === 'ready' && this.#state === 'starting') {
          this.#state = 'ready';
          this.#id = message.worker;
          resolve();
        } else if (message.type === 'report' && this.#state !== 'over') {
          watcher.report(revivedReport(message.report));
        } else if (message.type === 'stopped') this.#stopped?.();
      });
      this.#worker.on('messageerror', (error) => fail(error));
      this.#worker.on('error', (error) => {
        this.#cause = error;
        fail(error);
      });
      this.#worker.on('exit', (code) => {
        fail(new Error(`the worker ended with exit code ${code} before it was ready`));
        this.#ended(code);
      });
    });
  }

  /** The worker's id, once it is ready. */
  get id(): number | undefined {
    return this.#id;
  }

  /**
   * Lets it handle what waits and end, for at most `ms` plus as much for `handleStop`; then ends it. `leave`: another
   * one has taken its place, so its connections are closed with 1012 first. Later calls return the first one's promise.
   */
  stop(ms: number, leave = false): Promise<void> {
    this.#stopping ??= this.#stop(ms, leave);
    return this.#stopping;
  }

  /** Ends it at once, also while it starts or is being stopped. */
  async terminate(): Promise<void> {
    if (this.#state === 'starting') this.#refuse?.(workerFailure(new Error('it was ended before it was ready')));
    this.#state = 'over';
    this.#stopped?.();
    await this.#worker.terminate();
  }

  async #stop(ms: number, leave: boolean): Promise<void> {
    if (this.#state === 'ready') {
      this.#state = 'stopping';
      const message: ToWorker = { type: 'stop', ms, leave };
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 2 * ms + STOP_MARGIN_MS);
        this.#stopped = () => {
          clearTimeout(timer);
          resolve();
        };
        this.#worker.postMessage(message);
      });
    }
    await this.terminate();
  }

  #ended(code: number): void {
    this.#stopped?.();
    if (this.#state !== 'ready' && this.#state !== 'stopping') return;
    this.#state = 'over';
    this.#watcher.lost(this, this.#cause ?? new Error(`it ended with exit code ${code}`));
  }
}

/** How much later than its own limits a stopping worker is given up. */
const STOP_MARGIN_MS = 500;
