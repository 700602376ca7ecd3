/**
 * An adapter for the hooks of crossws, by which H3, Nitro and Nuxt handle WebSockets on Millrace. The ES module's default
 * export is `millraceAdapter`.
 *
 * @module millrace/crossws
 */

import './addon/floor.js';

import { Adapter } from './crossws/crossws-adapter.js';
import type { CrosswsAdapter, CrosswsOptions } from './crossws/crossws-options.js';

export type { CrosswsAdapter, CrosswsHandlers, CrosswsOptions, FetchOfApp } from './crossws/crossws-options.js';

/**
 * Makes handlers of Millrace from hooks of crossws.
 *
 * @throws {TypeError} naming the option that is wrong
 * @example
 * ```ts
 * const { handlers } = millraceAdapter({
 *   hooks: {
 *     open: (peer) => peer.subscribe('chat'),
 *     message: (peer, message) => peer.publish('chat', message.text()),
 *   },
 * });
 * const server = await start({ bind: '127.0.0.1:8080', handlers });
 * ```
 */
export function millraceAdapter(options?: CrosswsOptions): CrosswsAdapter {
  return new Adapter(options);
}
