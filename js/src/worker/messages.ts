/** What a worker thread and the thread that started it say to each other. */

import type { NativeState } from '../addon/native-interface.js';
import type { PostedError, PostedReport } from '../log/report.js';

/** Given to a worker thread when it starts. */
export interface WorkerData {
  /** Tells our threads from others that load this file. */
  millrace: true;
  /** The native state of the thread that starts it, which must be the worker's too. */
  native: NativeState;
  gateway: number;
  /** The worker module's URL. */
  module: string;
  arg: unknown;
  handlerTimeoutMs: number;
}

/** From the worker. */
export type FromWorker =
  | { type: 'ready'; worker: number }
  | { type: 'failed'; error: PostedError }
  | { type: 'report'; report: PostedReport }
  | { type: 'stopped' };

/** To the worker: handle what waits, call `handleStop`, end. */
export interface ToWorker {
  type: 'stop';
  /** Time for all of it, in milliseconds. */
  ms: number;
  /** It is replaced: its connections are let go first. */
  leave: boolean;
}
