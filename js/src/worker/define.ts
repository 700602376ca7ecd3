/** `defineWorker`, which gives the handlers of a worker module their types. Changes nothing it is given. */

import type { WorkerModule } from '../gateway/gateway.js';
import type { BytesOnly, WorkerTypes } from './worker-types.js';

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
