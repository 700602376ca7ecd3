/** The type parameters of worker modules: the worker's argument and the sockets' tokens. Types only. */

import type { Data } from '../gateway/target.js';

/**
 * The types that handlers of a worker module get: the type argument of `defineWorker`, `WorkerModule` and
 * `StartOptions`.
 */
export interface WorkerTypes {
  /** The type of `workerArg` of `start`, which `handleStart` gets. */
  arg?: unknown;
  /** The type of the sockets' tokens, set by `setToken` or an acceptance. */
  data?: unknown;
}

/** The default: an argument of any type, and tokens of bytes. */
export type BytesOnly = Record<never, never>;

/** The type of `workerArg`. */
export type ArgOf<Types extends WorkerTypes> = Types extends { arg: infer Arg } ? Arg : unknown;

/** The additional requirement on options: `workerArg`, if `handleStart` does not accept undefined. */
export type NeedsArg<Types extends WorkerTypes> = Types extends { arg: infer Arg }
  ? undefined extends Arg
    ? unknown
    : { workerArg: Arg }
  : unknown;

/** The type of a token when it is set. */
export type DataOf<Types extends WorkerTypes> = Types extends { data: infer Attached } ? Attached : Data;

/** The type of a token in handlers. A string becomes bytes. */
export type TokenOf<Types extends WorkerTypes> = Received<DataOf<Types>>;

/** The type of a stored value when it is read. Strings and buffers become bytes. */
type Received<Value> = Value extends Data ? Uint8Array : Value;
