/** The messages between a worker thread and the thread that started it. Types only. */

import type { NativeState } from '../addon/native-interface.js';
import type { PostedError, PostedReport } from '../log/report.js';

/** What a worker thread is started with. */
export interface WorkerData {
  /** Distinguishes worker threads of Millrace from other threads that load this file. */
  millrace: true;
  /** The native state of the starting thread. The worker must have the same. */
  native: NativeState;
  gateway: number;
  /** The worker module's URL. */
  module: string;
  arg: unknown;
  handlerTimeoutMs: number;
}

/** A message from the worker. */
export type FromWorker =
  | { type: 'ready'; worker: number }
  | { type: 'failed'; error: PostedError }
  | { type: 'report'; report: PostedReport }
  | { type: 'stopped' };

/** A message to the worker: handle the waiting events, call `handleStop`, end. */
export interface ToWorker {
  type: 'stop';
  /** Time for the waiting events, and again for `handleStop`, in milliseconds. */
  ms: number;
  /** Whether the worker was replaced, so that its connections are closed first. */
  leave: boolean;
}
