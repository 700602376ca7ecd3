/** The worker module: what it may export, and how it is imported. Runs no handler. */

import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Gateway } from '../gateway.js';
import type { ProtocolHandlers } from '../protocols/index.js';
import type { Data } from '../target.js';
import { EXCHANGE_HANDLER, type ExchangeHandler, MESSAGE_HANDLER, type MessageAnswerer } from './exchange.js';
import type { FetchHandler } from './fetch/handler.js';
import { HANDLERS, type Transport } from './kinds.generated.js';

export type { Transport };

/** The request that opens a connection. */
export interface OpenRequest {
  /** Path and query, as sent: `"/chat?room=1"`. */
  readonly url: string;
  /** The path, as sent (percent-encoded): `"/chat"`. */
  readonly path: string;
  /** The query, parsed on first use. */
  readonly query: URLSearchParams;
  /** As the third argument of `handleOpen`. */
  readonly headers: Record<string, string>;
  /** The subprotocols that the client offers, in its order of preference. */
  readonly protocols: readonly string[];
  /** What the socket will speak. */
  readonly transport: Transport;
  /** The client's port; 0 on a unix socket, and where a trusted proxy names the client in a header. */
  readonly port: number;
  /** The client's TLS certificate, where `tls.clientCertificates` asked for one and the client has one. */
  readonly clientCertificate: ClientCertificate | undefined;
}

/** The certificate that a client showed; one of the authorities in `tls.ca` has signed it. */
export interface ClientCertificate {
  /**
   * Whom it names: `{ CN: 'alice', O: 'Example' }`. Attributes without a common short name go by their OID; one that is
   * there several times is a list. Values with control characters in them are left out.
   */
  readonly subject: Record<string, string | string[]>;
  /** All of it, in DER: `new X509Certificate(raw)` of `node:crypto` reads the rest. */
  readonly raw: Uint8Array;
}

/** An answer of `handleOpen` that refuses the connection with an HTTP response. */
export interface Rejection {
  /** 300 to 599. */
  status: number;
  /** Headers of the response; an array gives a header several values. */
  headers?: Record<string, string | string[]>;
  /** The response's body. Default: none. */
  body?: Data;
}

/** An answer of `handleOpen` that accepts the connection and says more. */
export interface Acceptance {
  /** The subprotocol to select: one of those offered. */
  protocol?: string;
  /** As with `setToken`. */
  token?: Data;
  /** Headers added to the 101 response. */
  headers?: Record<string, string | string[]>;
}

/** What `handleOpen` may return: `false` refuses with 403, anything that is no rejection accepts. */
export type OpenAnswer = boolean | Rejection | Acceptance | undefined | null | void;

/**
 * What a worker module exports, each part optional. Handlers are called with `this` undefined. Events of one
 * connection come in order and one at a time: if a handler returns a promise, the next one waits for it.
 */
export interface WorkerModule extends ProtocolHandlers {
  /** Called before the worker takes connections. `gateway` is the one that started it. */
  handleStart?(workerArg: unknown, gateway: Gateway): void | Promise<void>;
  /**
   * Called before the upgrade is answered; without it everybody is accepted. May send to and subscribe the socket:
   * what is sent arrives right after the handshake. Throwing, or taking longer than `handlerTimeoutMs`, answers 500.
   */
  handleOpen?(
    socketId: number,
    ip: string,
    headers: Record<string, string>,
    request: OpenRequest,
  ): OpenAnswer | Promise<OpenAnswer>;
  /** A text message. Without it such a message closes its connection with 1011. */
  handleTextMessage?(text: string, socketId: number, token?: Uint8Array): void | Promise<void>;
  /**
   * A binary message. Without it such a message closes its connection with 1011. `data` is a view: its `buffer` holds
   * neighbouring messages, like that of a pooled Node `Buffer`, and stays in memory as long as `data` does.
   */
  handleBinaryMessage?(data: Uint8Array, socketId: number, token?: Uint8Array): void | Promise<void>;
  /**
   * Comes last, exactly once for every accepted connection. The socket is gone, its subscriptions with it.
   * `code` is 1005 if the client gave none and 1006 if the connection was lost.
   */
  handleClose?(socketId: number, token?: Uint8Array, code?: number, reason?: string): void | Promise<void>;
  /** The socket's outbox was congested and no longer is. */
  handleDrain?(socketId: number): void | Promise<void>;
  /**
   * Answers HTTP requests, as in Bun, Deno and Hono: gets a standard `Request` and returns a `Response`, or the cheaper
   * `{ status, headers, body }`. `this` is what it was found on. Throwing answers 500; an answer that has not begun
   * after `limits.answerTimeoutMs` is given up with 503.
   */
  fetch?: FetchHandler;
  /** The gateway stops: every `handleClose` is done. */
  handleStop?(): void | Promise<void>;
}

/** A worker module, read. */
export interface LoadedModule extends Omit<WorkerModule, 'fetch'> {
  /** Answers its requests. */
  exchange?: ExchangeHandler;
  /** … in the place of that, with messages. */
  message?: MessageAnswerer;
}

/**
 * Imports a worker module, ESM or CommonJS.
 *
 * @throws whatever the module throws; a TypeError if a handler is not a function
 */
export async function importWorkerModule(url: string): Promise<LoadedModule> {
  return readWorkerModule(exportsOf(url, await import(url)), url);
}

/**
 * Finds a worker module's handlers: its exports, then the members of its default export if that is an app, which is
 * whatever answers requests.
 *
 * @throws {TypeError} if a handler is not a function
 */
export function readWorkerModule(exported: object, where: string): LoadedModule {
  const sources = [exported as Fields];
  const whole = member(exported as Fields, 'default');
  if (isApp(whole)) sources.push(whole);
  const module: Record<string, unknown> = {};
  for (const name of ['handleStart', ...Object.keys(HANDLERS), 'handleStop']) {
    // what it answers requests with is below
    const handler = name in ANSWERS ? undefined : find(sources, name, where);
    if (handler !== undefined) module[name] = handler;
  }
  const message = sources.map((source) => member(source, MESSAGE_HANDLER)).find((one) => one !== undefined) as
    | MessageAnswerer
    | undefined;
  const exchange = exchangeOf(sources, where);
  if (message !== undefined && exchange !== undefined) {
    throw new TypeError(`the worker module must have either 'fetch' or what nodeHandler made, not both (${where})`);
  }
  if (message !== undefined) module['message'] = message;
  if (exchange !== undefined) module['exchange'] = exchange;
  return module;
}

/** The handlers that requests are answered by. */
const ANSWERS = { fetch: HANDLERS.fetch, nodeListener: HANDLERS.nodeListener };

/** The bits of the handlers that a module has. */
export function handlerBits(module: LoadedModule): number {
  let bits = 0;
  for (const [name, bit] of Object.entries(HANDLERS)) {
    if (!(name in ANSWERS) && (module as Fields)[name] !== undefined) bits |= bit;
  }
  if (module.exchange !== undefined) bits |= ANSWERS.fetch;
  if (module.message !== undefined) bits |= ANSWERS.fetch | ANSWERS.nodeListener;
  return bits;
}

type Fields = Readonly<Record<string | symbol, unknown>>;

function isApp(value: unknown): value is Fields {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  const isFunction = (name: string | symbol) => typeof member(value as Fields, name) === 'function';
  return isFunction(EXCHANGE_HANDLER) || MESSAGE_HANDLER in value || isFunction('fetch');
}

/** What something has by a name. Routers of itty-router answer to names that they do not have. */
function member(source: Fields, name: string | symbol): unknown {
  return name in source ? source[name] : undefined;
}

/** A handler. Those that are no exports of the module itself are called with the object they were found on. */
function find(sources: Fields[], name: string, where: string): unknown {
  for (const [index, source] of sources.entries()) {
    const handler = member(source, name);
    if (handler === undefined) continue;
    if (typeof handler !== 'function') {
      throw new TypeError(`the worker module's export '${name}' must be a function, not ${typeof handler} (${where})`);
    }
    return index === 0 && name !== 'fetch' ? handler : handler.bind(source);
  }
  return undefined;
}

function exchangeOf(sources: Fields[], where: string): ExchangeHandler | undefined {
  for (const source of sources) {
    const handler = member(source, EXCHANGE_HANDLER);
    if (typeof handler === 'function') return handler.bind(source);
  }
  const fetch = find(sources, 'fetch', where) as FetchHandler | undefined;
  if (fetch === undefined) return undefined;
  // here, because runtimes load `Request` and what belongs to it when it is first named
  const glue: typeof import('./fetch/handler.js') = require('./fetch/handler.js');
  return glue.exchangeHandler(fetch);
}

/** The names of a CommonJS module are those on `module.exports`, not only those that its importer could guess. */
function exportsOf(url: string, namespace: Record<string, unknown>): Record<string, unknown> {
  const whole = namespace['default'];
  if (typeof whole !== 'object' || whole === null || path.extname(url) === '.mjs') return namespace;
  try {
    const cached = require.cache[fileURLToPath(url)];
    if (cached?.exports === whole) return whole as Record<string, unknown>;
  } catch {
    // a URL with no file path was not loaded as CommonJS
  }
  return namespace;
}
