/** What a worker module's types say: its argument, and what is attached to its sockets. Types only. */

import type { Data } from '../gateway/target.js';

/** What the handlers of a worker module are given: the argument of `defineWorker`, `WorkerModule` and `StartOptions`. */
export interface WorkerTypes {
  /** `workerArg` of `start`, which `handleStart` gets. */
  arg?: unknown;
  /** What is attached to a socket: the token of `setToken` and of an acceptance. */
  data?: unknown;
}

/** Where nothing is said: any argument, and tokens of bytes. */
export type BytesOnly = Record<never, never>;

/** The type of `workerArg`. */
export type ArgOf<Types extends WorkerTypes> = Types extends { arg: infer Arg } ? Arg : unknown;

/** What options need beside the others: `workerArg`, if nothing will not do for `handleStart`. */
export type NeedsArg<Types extends WorkerTypes> = Types extends { arg: infer Arg }
  ? undefined extends Arg
    ? unknown
    : { workerArg: Arg }
  : unknown;

/** What may be attached to a socket. */
export type DataOf<Types extends WorkerTypes> = Types extends { data: infer Attached } ? Attached : Data;

/** What handlers get of what is attached to a socket: bytes of a text. */
export type TokenOf<Types extends WorkerTypes> = Received<DataOf<Types>>;

/** A stored value as it is read: texts and buffers are bytes. */
type Received<Value> = Value extends Data ? Uint8Array : Value;
