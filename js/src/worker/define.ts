/** `defineWorker`, and the types that a worker module goes by. Changes nothing it is given. */

import type { Data } from '../gateway/target.js';
import type { WorkerModule } from './module.js';

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

/** The types of a worker module, or of what a module exports by default: `WorkerTypesOf<typeof import('./worker.js')>`. */
export type WorkerTypesOf<Module> = Module extends {
  /** Its default export. */
  default: infer Whole;
}
  ? WorkerTypesOf<Whole>
  : Module extends WorkerModule<infer Types>
    ? Types
    : never;

/**
 * Types a worker module's handlers; returns them unchanged. For the default export of a worker module, or for `handlers`.
 *
 * @example
 * ```ts
 * export default defineWorker<{ arg: { secret: string }; data: { user: string } }>({
 *   handleStart({ secret }) {},
 *   handleOpen: (socketId, ip, headers) => ({ token: { user: headers['x-user'] ?? 'guest' } }),
 *   handleTextMessage: (text, socketId, token) => void send(socketId, `${token?.user}: ${text}`),
 * });
 * ```
 */
export function defineWorker<Types extends WorkerTypes = BytesOnly>(
  handlers: WorkerModule<Types>,
): WorkerModule<Types> {
  return handlers;
}
