/** The worker module: what it may export, and how it is imported. Runs no handler. */

import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { MillraceError } from '../errors.js';
import type { ProtocolHandlers } from '../protocols/listeners.js';
import { EXCHANGE_HANDLER, type ExchangeHandler, MESSAGE_HANDLER, type MessageAnswerer } from './exchange.js';
import type { FetchHandler } from './fetch/fetch-handler.js';
import { HANDLERS } from './kinds.generated.js';
import type { OpenAnswer, OpenRequest } from './open-request.js';

/** The handlers of a worker module, found and bound. Their types are those of `WorkerModule` with any argument and any token. */
export interface LoadedModule extends ProtocolHandlers<unknown> {
  handleStart?(workerArg: unknown, gateway: object): void | Promise<void>;
  handleOpen?(
    socketId: number,
    ip: string,
    headers: Record<string, string>,
    request: OpenRequest,
  ): OpenAnswer | Promise<OpenAnswer>;
  handleTextMessage?(text: string, socketId: number, token?: unknown): void | Promise<void>;
  handleBinaryMessage?(data: Uint8Array, socketId: number, token?: unknown): void | Promise<void>;
  handleClose?(socketId: number, token?: unknown, code?: number, reason?: string): void | Promise<void>;
  handleDrain?(socketId: number): void | Promise<void>;
  handleStop?(): void | Promise<void>;
  /** Answers requests: the module's `fetch`, or the app that it exports. */
  exchange?: ExchangeHandler;
  /** Answers requests in place of `exchange`, with messages of HTTP/1.1: what `nodeHandler` made. */
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
