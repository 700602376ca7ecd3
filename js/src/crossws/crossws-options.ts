/** The options of the adapter and what it returns. Has the check of the options. */

import type { AdapterInstance, AdapterOptions } from 'crossws' with { 'resolution-mode': 'import' };
import type { Gateway } from '../gateway/gateway.js';
import type { Name } from '../gateway/target.js';
import { readable } from '../log/report.js';
import type { OpenAnswer, OpenRequest } from '../worker/open-request.js';

/** A `fetch` that answers requests, or says which hooks a WebSocket has: that of an app of H3, for example. */
export type FetchOfApp = (request: Request) => unknown;

/** Options of `millraceAdapter`: those of crossws, and `fetch`. */
export interface CrosswsOptions extends Omit<AdapterOptions, 'idleTimeout'> {
  /**
   * An app's `fetch`, in place of `hooks` and `resolve`. It answers HTTP requests, and is called with each handshake: its
   * response carries the hooks, as with `defineWebSocketHandler` of H3, or refuses the handshake.
   */
  fetch?: FetchOfApp;
  /** Not available: Millrace closes silent connections itself, by `limits.pingIntervalMs` and `limits.pongTimeoutMs`. */
  idleTimeout?: never;
}

/** The handlers that an adapter makes, for `start({ handlers })` or as the default export of a worker module. */
export interface CrosswsHandlers {
  /** Takes note of the gateway. */
  handleStart(workerArg: unknown, gateway: Gateway): void;
  /** Calls the hooks `upgrade` and `open`. */
  handleOpen(
    socketId: number,
    ip: string,
    headers: Record<string, string>,
    request: OpenRequest,
  ): OpenAnswer<Uint8Array> | Promise<OpenAnswer<Uint8Array>>;
  /** Calls the hook `message`. */
  handleTextMessage(text: string, socketId: number): void;
  /** Calls the hook `message`. */
  handleBinaryMessage(data: Uint8Array, socketId: number): void;
  /** Calls the hook `close`. */
  handleClose(socketId: number, token?: Uint8Array, code?: number, reason?: string): void;
  /** Calls the hook `drain`. */
  handleDrain(socketId: number): void;
  /** Calls the hook `ping`. Present if there may be such a hook. */
  handlePing?(socketId: number, token?: Uint8Array, data?: Uint8Array): void;
  /** Calls the hook `pong`. Present if there may be such a hook. */
  handlePong?(socketId: number, token?: Uint8Array, data?: Uint8Array): void;
  /** Answers requests by the option `fetch`. Present if that was given. */
  fetch?(request: Request): Response | Promise<Response>;
}

/** What `millraceAdapter` returns: an adapter of crossws with handlers. */
export interface CrosswsAdapter extends AdapterInstance {
  /** The handlers, for `start({ handlers })` or as the default export of a worker module. */
  readonly handlers: CrosswsHandlers;
  /**
   * The name of the channel of a topic, for the functions of `millrace`: of a topic in a namespace, or of those who have
   * this topic in any namespace.
   */
  channel(topic: string, namespace?: string): Name;
  /** Closes the connection of every peer of this thread; with `force`, without a closing handshake. */
  closeAll(code?: number, reason?: string, force?: boolean): void;
}

/** @throws {TypeError} naming the option that is wrong */
export function checkOptions(options: unknown): CrosswsOptions {
  if (options === undefined) return {};
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(`millraceAdapter: argument 'options' must be an object, not ${readable(options)}`);
  }
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    if (name === 'idleTimeout') {
      throw new TypeError(
        "millraceAdapter: there is no option 'idleTimeout'; use limits.pingIntervalMs and limits.pongTimeoutMs of start",
      );
    }
    const kind = KINDS[name];
    if (kind === undefined) {
      throw new TypeError(`millraceAdapter: unknown option '${name}'; there are ${Object.keys(KINDS).join(', ')}`);
    }
    if (typeof value !== kind || value === null) {
      throw new TypeError(`millraceAdapter: '${name}' must be ${NAMES[kind]}, not ${readable(value)}`);
    }
  }
  const { fetch, hooks, resolve } = options as CrosswsOptions;
  if (fetch !== undefined && (hooks !== undefined || resolve !== undefined)) {
    throw new TypeError("millraceAdapter: 'fetch' replaces 'hooks' and 'resolve'; give either");
  }
  return options as CrosswsOptions;
}

const KINDS: Record<string, 'object' | 'function'> = {
  hooks: 'object',
  resolve: 'function',
  fetch: 'function',
  getNamespace: 'function',
  handleProtocols: 'function',
  sync: 'function',
  onError: 'function',
};

const NAMES = { object: 'an object', function: 'a function' };
