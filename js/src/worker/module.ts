/** The worker module: what it may export, and how it is imported. Runs no handler. */

import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { MillraceError } from '../errors.js';
import type { Gateway } from '../gateway/gateway.js';
import type { Data } from '../gateway/target.js';
import type { ProtocolHandlers } from '../protocols/registry.js';
import type { ArgOf, BytesOnly, DataOf, TokenOf, WorkerTypes } from './define.js';
import { EXCHANGE_HANDLER, type ExchangeHandler, MESSAGE_HANDLER, type MessageAnswerer } from './exchange.js';
import type { FetchHandler } from './fetch/fetch-handler.js';
import { HANDLERS, type Transport } from './kinds.generated.js';

export type { Transport };

/** The request that opens a connection. */
export interface OpenRequest {
  /** Path and query, as sent: `"/chat?room=1"`. Empty where the protocol is not HTTP. */
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

/** An answer of `handleOpen` that refuses the connection: with an HTTP response, where the protocol is not HTTP by closing it. */
export interface Rejection {
  /** 300 to 599. */
  status: number;
  /** Headers of the response; an array gives a header several values. */
  headers?: Record<string, string | string[]>;
  /** The response's body. Default: none. */
  body?: Data;
}

/** An answer of `handleOpen` that accepts the connection and says more. */
export interface Acceptance<Data = unknown> {
  /** The subprotocol to select: one of those offered. */
  protocol?: string;
  /** As with `setToken`. */
  token?: Data;
  /** Headers added to the 101 response, or that of an event stream. */
  headers?: Record<string, string | string[]>;
}

/** What `handleOpen` may return: `false` refuses with 403, anything that is no rejection accepts. */
export type OpenAnswer<Data = unknown> = boolean | Rejection | Acceptance<Data> | undefined | null | void;

/**
 * What a worker module exports, each part optional: as named exports, or else as the members of its default export. Handlers that
 * are named exports are called with `this` undefined, members on what they were found on. Events of one connection come in
 * order and one at a time: if a handler returns a promise, the next one waits for it. Messages of Sockety, calls of splice and
 * requests for `fetch` do not wait. A handler that throws, or whose promise is pending for longer than `handlerTimeoutMs`, closes
 * its connection with 1011, unless it says otherwise below.
 *
 * `Types` says what `workerArg` and the sockets' tokens are: see `defineWorker`. Without it tokens are bytes.
 */
export interface WorkerModule<Types extends WorkerTypes = BytesOnly> extends ProtocolHandlers<TokenOf<Types>> {
  /** Called before the worker takes connections. `gateway` is the one that started it. */
  handleStart?(workerArg: ArgOf<Types>, gateway: Gateway): void | Promise<void>;
  /**
   * Called before the upgrade is answered; without it everybody is accepted. May send to and subscribe the socket:
   * what is sent arrives right after the handshake. Throwing, or a promise that is pending for longer than `handlerTimeoutMs`,
   * answers 500.
   */
  handleOpen?(
    socketId: number,
    ip: string,
    headers: Record<string, string>,
    request: OpenRequest,
  ): OpenAnswer<DataOf<Types>> | Promise<OpenAnswer<DataOf<Types>>>;
  /** A text message. Without it such a message closes its connection with 1011. */
  handleTextMessage?(text: string, socketId: number, token?: TokenOf<Types>): void | Promise<void>;
  /**
   * A binary message. Without it such a message closes its connection with 1011. `data` is a view: its `buffer` holds
   * neighbouring messages, like that of a pooled Node `Buffer`, and stays in memory as long as `data` does.
   */
  handleBinaryMessage?(data: Uint8Array, socketId: number, token?: TokenOf<Types>): void | Promise<void>;
  /**
   * Comes last, exactly once for every accepted connection. The socket is gone, its subscriptions with it. What it throws is
   * reported. `code` is 1005 if the client gave none and 1006 if the connection was lost.
   */
  handleClose?(socketId: number, token?: TokenOf<Types>, code?: number, reason?: string): void | Promise<void>;
  /** The socket's outbox held more than `limits.outboxReadPauseBytes` (256 KiB), and has fallen to a quarter of that. */
  handleDrain?(socketId: number): void | Promise<void>;
  /**
   * Answers HTTP requests, as in Bun, Deno and Hono: gets a standard `Request` and returns a `Response`, or the cheaper
   * `{ status, headers, body }`. `this` is what it was found on. Throwing answers 500; an answer that has not begun
   * after `limits.answerTimeoutMs` is given up with 503.
   */
  fetch?: FetchHandler;
  /** The gateway stops, or `replaceWorkers` has replaced this worker: every `handleClose` is done. */
  handleStop?(): void | Promise<void>;
}

/** A worker module, read. */
export interface LoadedModule extends Omit<WorkerModule<{ arg: unknown; data: unknown }>, 'fetch'> {
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
  return readWorkerModule(exportsOf(url, await import(/* webpackIgnore: true */ url)), url);
}

/**
 * Finds a worker module's handlers: its exports, then the members of its default export. Where events have handlers that are
 * exports, a default export counts only if it answers requests, as apps do.
 *
 * @throws {TypeError} if a handler is not a function
 * @throws {MillraceError} ERR_MILLRACE_NO_HANDLER if there is none, but for `{}`, which says so
 */
export function readWorkerModule(exported: object, where: string): LoadedModule {
  const sources = sourcesOf(exported as Fields);
  const module: Record<string, unknown> = {};
  for (const name of names()) {
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
  if (Object.keys(module).length === 0 && !saysNothing(exported)) throw noHandler(sources, where);
  return module;
}

/** What may have handlers: the exports, and behind them the default export; of compiled modules, also that one's own. */
function sourcesOf(exported: Fields): Fields[] {
  const sources = [exported];
  const hasOwn = Object.keys(HANDLERS).some((name) => member(exported, name) !== undefined);
  let inner = member(exported, 'default');
  while (sources.length <= MOST_DEFAULTS && hasMembers(inner)) {
    if (!hasOwn || isApp(inner)) sources.push(inner);
    else break;
    inner = member(inner, 'default');
  }
  return sources;
}

/** A module of TypeScript that was compiled to CommonJS has its default export within the one that `import` gives it. */
const MOST_DEFAULTS = 2;

/** Whether it answers requests. */
function isApp(value: Fields): boolean {
  const isFunction = (name: string | symbol) => typeof member(value, name) === 'function';
  return isFunction(EXCHANGE_HANDLER) || MESSAGE_HANDLER in value || isFunction('fetch');
}

function hasMembers(value: unknown): value is Fields {
  return (typeof value === 'object' || typeof value === 'function') && value !== null;
}

/** Whether somebody wrote `handlers: {}`, for listeners that need none. */
function saysNothing(exported: object): boolean {
  return typeof exported === 'object' && !isNamespace(exported) && Reflect.ownKeys(exported).length === 0;
}

function isNamespace(value: object): boolean {
  return Object.prototype.toString.call(value) === '[object Module]';
}

function noHandler(sources: readonly Fields[], where: string): MillraceError {
  const there = [...new Set(sources.flatMap((source) => Object.keys(source)))].slice(0, SHOWN);
  const has = there.length === 0 ? 'it exports nothing' : `it has only ${there.join(', ')}`;
  return new MillraceError(
    'ERR_MILLRACE_NO_HANDLER',
    `there is no handler in ${where}: ${has}. It needs one of ${names().join(', ')}, as a named export or in its default export`,
  );
}

/** Names that an error lists. */
const SHOWN = 8;

/** Whatever a module may have. */
function names(): string[] {
  return ['handleStart', ...Object.keys(HANDLERS).filter((name) => name !== 'nodeListener'), 'handleStop'];
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
  const glue: typeof import('./fetch/fetch-handler.js') = require('./fetch/fetch-handler.js');
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
