/**
 * The client of channels with history, presence and calls, for browsers, Node.js, Bun, Deno and React Native. It has no
 * dependency; its ES module is one file, which a browser can load directly.
 *
 * @module millrace/client
 */

export { CallError } from './client/call-error.js';
export type * from './client/client-interface.js';
export type * from './client/client-settings.js';
export { createClient } from './client/messaging-client.js';
