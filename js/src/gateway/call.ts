/** The module function `call`. */

import type { CallOptions } from './client-call.js';
import { threadGateway } from './thread-gateway.js';

/**
 * Calls a method of a socket's client, which speaks `millrace.v1`: with `millrace/client`, a function that was given to
 * `client.handle`. Resolves with the payload of the answer, text or bytes as the client sent it; `millrace/client` sends
 * everything but bytes as JSON. The call follows what was sent to the socket before.
 *
 * At most `limits.callsPerSocket` calls (default 128) of a socket are unanswered at once. An answer that comes after
 * `timeoutMs` is ignored.
 *
 * @param socketId a real or virtual socket, of any worker
 * @param method at most 1,024 bytes of UTF-8
 * @param params text and bytes go as they are, other values as JSON. Default: nothing
 * @throws {TypeError} (as a rejection) naming the bad argument
 * @throws {CallError} (as a rejection) with the code that the client gave, or `timeout`, `limit`, `closed` (there is no such
 *   socket, or it was closed) or `not_found` (the client has no such method, or speaks another protocol)
 * @throws {MillraceError} (as a rejection) ERR_MILLRACE_TOO_MANY_WAITS
 * @example
 * ```ts
 * const answer = JSON.parse(String(await call(socketId, 'confirm', { text: 'Really?' }, { timeoutMs: 60_000 })));
 * ```
 */
export function call(
  socketId: number,
  method: string,
  params?: unknown,
  options?: CallOptions,
): Promise<string | Uint8Array> {
  return threadGateway().call(socketId, method, params, options);
}
