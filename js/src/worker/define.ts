/** `defineWorker`, which gives the handlers of a worker module their types. Changes nothing it is given. */

import type { WorkerModule } from '../gateway/gateway.js';
import type { BytesOnly, WorkerTypes } from './worker-types.js';

/** The types of a worker module, or of a module's default export: `WorkerTypesOf<typeof import('./worker.js')>`. */
export type WorkerTypesOf<Module> = Module extends {
  /** The module's default export. */
  default: infer Whole;
}
  ? WorkerTypesOf<Whole>
  : Module extends WorkerModule<infer Types>
    ? Types
    : never;

/**
 * Types the handlers of a worker module and returns them unchanged. Use it for the default export of a worker module,
 * or for the option `handlers`.
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
