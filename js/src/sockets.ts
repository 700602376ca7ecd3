/**
 * Low-level sockets: TCP, UDP and unix sockets with the calls of the system, `poll`, and `epoll` on Linux. All calls
 * are synchronous; a call that waits blocks its thread. Descriptors are numbers of Millrace and not of the system. The
 * ES module's default export is `sockets`. Not available on Windows: there the module can be loaded, its constants are
 * `undefined`, and all functions except `parse_http_request` throw `ENOSYS`.
 *
 * @module millrace/sockets
 */

import './addon/floor.js';

import * as calls from './sockets/calls.js';
import * as constants from './sockets/constants.js';
import * as http from './sockets/http-request.js';
import { get_error } from './sockets/native.js';
import * as transfer from './sockets/transfer.js';
import * as events from './sockets/waiting.js';

export * from './sockets/calls.js';
export * from './sockets/constants.js';
export { InternalError } from './sockets/error.js';
export * from './sockets/http-request.js';
export * from './sockets/transfer.js';
export * from './sockets/waiting.js';
export { get_error };

/** The type of `sockets`. */
export type Sockets = Omit<typeof import('./sockets.js'), 'sockets' | 'InternalError'>;

/** All functions and constants in one object. */
export const sockets: Sockets = { ...calls, ...constants, ...events, ...http, ...transfer, get_error };
