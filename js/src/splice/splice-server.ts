/**
 * `createSplice`: a gateway of its own that only does splice. Owns the life of that gateway. The native side relays the
 * messages.
 */

import { binding } from '../addon/binding.js';
import { Gateway, type StartOptions } from '../gateway/gateway.js';
import type { StopOptions } from '../gateway/signals.js';
import type { Stats } from '../gateway/stats.js';
import type { TlsOptions } from '../options/tls.js';
import { parseSpliceOptions, requiring, type SpliceServerOptions, type SpliceTlsOptions } from './splice-options.js';

/** The result of `createSplice`. */
export interface SpliceServer {
  /** The bound addresses in the order of `bind`: `"127.0.0.1:34567"` with the real port, or `"unix:/path"`. */
  readonly addresses: string[];
  /**
   * Stops accepting, tells clients and targets (1001), gives queued data at most `drain` milliseconds (default 5,000)
   * to be sent, and closes the connections. Later calls return the promise of the first one.
   */
  stop(options?: StopOptions): Promise<void>;
  /** The same as `stopped` of a server of `start`. */
  readonly stopped: Promise<void>;
  /** The same as `stopOnSignals` of a server of `start`. */
  stopOnSignals(options?: StopOptions): void;
  /** The same as `stop()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
  /**
   * Loads renewed certificates, as `reloadTls` of a server of `start` does. Open sessions stay.
   *
   * @throws {TypeError} (as a rejection) naming what is wrong with `tls`
   * @throws {MillraceError} (as a rejection) ERR_MILLRACE_INVALID_TLS if something cannot be read or used: the old ones stay
   */
  reloadTls(tls?: SpliceTlsOptions): Promise<void>;
  /** Counters and sizes of its gateway at this moment. */
  stats(): Stats;
}

/**
 * Starts a splice multiplexer: clients open one WebSocket to it, and through that WebSockets to many servers. No
 * JavaScript runs for relayed messages. Resolves when the server listens. The process keeps running until the server is
 * stopped.
 *
 * @throws {TypeError} (as a rejection) naming every option that is wrong; nothing was started. Among others, it names
 *   an address that other machines can reach if there is neither `allowedHostnames` nor `anyTarget: true`
 * @throws {MillraceError} (as a rejection) ERR_MILLRACE_ADDRESS_IN_USE, ERR_MILLRACE_BIND_FAILED, ERR_MILLRACE_INVALID_TLS,
 *   ERR_MILLRACE_INVALID_OPTION
 * @example
 * ```ts
 * const splice = await createSplice({ bind: ':3000', allowedHostnames: ['feed.example'], dialTimeout: '5s' });
 * console.log(`listening on ws://${splice.addresses[0]}`);
 * // …
 * await splice.stop();
 * ```
 */
export async function createSplice(options: SpliceServerOptions): Promise<SpliceServer> {
  const start = parseSpliceOptions(options) as StartOptions;
  const { gateway: native, id } = binding().createGateway();
  const gateway = Gateway.create(native, id);
  const server = await gateway.start(start);
  return {
    addresses: server.addresses,
    stop: (options) => server.stop(options),
    stopped: server.stopped,
    stopOnSignals: (options) => server.stopOnSignals(options),
    [Symbol.asyncDispose]: () => server.stop(),
    reloadTls: (tls) => server.reloadTls(requiring(tls) as TlsOptions | undefined),
    stats: () => server.stats(),
  };
}
