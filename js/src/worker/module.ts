/** Imports a worker module and finds its handlers. Calls none of them. */

import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isSyntaxError } from '../addon/runtime.js';
import { MillraceError } from '../errors.js';
import { closestName } from '../options/misspelt.js';
import type { ProtocolHandlers } from '../protocols/listeners.js';
import { EXCHANGE_HANDLER, type ExchangeHandler, MESSAGE_HANDLER, type MessageAnswerer } from './exchange.js';
import type { FetchHandler } from './fetch/fetch-handler.js';
import { HANDLERS } from './kinds.generated.js';
import type { MessageStream } from './message-stream.js';
import type { OpenAnswer, OpenRequest } from './open-request.js';

/**
 * The handlers of a worker module, found and bound, with the types of `WorkerModule` for any argument and any token.
 */
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
  handleMessageStream?(stream: MessageStream, socketId: number, token?: unknown): void | Promise<void>;
  handleClose?(socketId: number, token?: unknown, code?: number, reason?: string): void | Promise<void>;
  handleCongested?(socketId: number, token?: unknown): void | Promise<void>;
  handleDrain?(socketId: number, token?: unknown): void | Promise<void>;
  handlePing?(socketId: number, token?: unknown, data?: Uint8Array): void | Promise<void>;
  handlePong?(socketId: number, token?: unknown, data?: Uint8Array): void | Promise<void>;
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
  let namespace: Record<string, unknown>;
  try {
    namespace = await import(/* webpackIgnore: true */ url);
  } catch (error) {
    if (!isSyntaxError(error)) throw error;
    const { message } = error as Error;
    if (message.includes(url)) throw error;
    // neither message nor stack names the file
    throw new SyntaxError(`${message} (in ${url} or a module that it imports)`, { cause: error });
  }
  return readWorkerModule(exportsOf(url, namespace), url);
}

/**
 * Finds a worker module's handlers among its exports and then among the members of its default export. If a named
 * export handles events, the default export is used only if it answers requests, as apps do.
 *
 * @throws {TypeError} if a handler is not a function, or if the name of a handler is misspelt
 * @throws {MillraceError} ERR_MILLRACE_NO_HANDLER if there is no handler, except for `{}`, which explicitly has none
 */
export function readWorkerModule(exported: object, where: string): LoadedModule {
  const sources = sourcesOf(exported as Fields);
  const module: Record<string, unknown> = {};
  for (const name of names()) {
    // handlers of requests are found below
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
  for (const source of sources) refuseMisspelt(source, where);
  return module;
}

/**
 * The objects that may have handlers: the exports, then the default export and, for compiled modules, the default
 * export's own default export.
 */
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

/**
 * The number of nested default exports. A TypeScript module compiled to CommonJS has its default export within the one
 * that `import` returns.
 */
const MOST_DEFAULTS = 2;

/** Whether an object answers requests. */
function isApp(value: Fields): boolean {
  const isFunction = (name: string | symbol) => typeof member(value, name) === 'function';
  return isFunction(EXCHANGE_HANDLER) || MESSAGE_HANDLER in value || isFunction('fetch');
}

function hasMembers(value: unknown): value is Fields {
  return (typeof value === 'object' || typeof value === 'function') && value !== null;
}

/** Whether the application passed `handlers: {}`, for listeners that need no handlers. */
function saysNothing(exported: object): boolean {
  return typeof exported === 'object' && !isNamespace(exported) && Reflect.ownKeys(exported).length === 0;
}

function isNamespace(value: object): boolean {
  return Object.prototype.toString.call(value) === '[object Module]';
}

/** Refuses names that are surely meant to be a handler's: the handler would never be called. */
function refuseMisspelt(source: Fields, where: string): void {
  const known = names();
  for (const name of Object.keys(source)) {
    if (!name.toLowerCase().startsWith('handle') || known.includes(name)) continue;
    if (typeof member(source, name) !== 'function') continue;
    const meant = closestName(name, known);
    if (meant === undefined || member(source, meant) !== undefined) continue;
    // a short name one letter off may be a function of the application's own
    const isSure = meant.length >= LONG_NAME || meant.toLowerCase() === name.toLowerCase();
    if (isSure) throw new TypeError(`'${name}' is not a handler; did you mean ${meant}? (${where})`);
  }
}

/** The length from which a handler's name is not taken for another one. */
const LONG_NAME = 'handleTextMessage'.length;

function noHandler(sources: readonly Fields[], where: string): MillraceError {
  const there = [...new Set(sources.flatMap((source) => Object.keys(source)))].slice(0, SHOWN);
  const has = there.length === 0 ? 'it exports nothing' : `it has only ${there.join(', ')}`;
  return new MillraceError(
    'ERR_MILLRACE_NO_HANDLER',
    `there is no handler in ${where}: ${has}. It needs one of ${names().join(', ')}, as a named export or in its ` +
      `default export${sources.some(isListener) ? LISTENER_HINT : ''}`,
  );
}

/** Whether a value looks like a listener or an app of Node.js, which `nodeHandler` takes. */
function isListener(value: Fields): boolean {
  if (typeof value === 'function') return true;
  return ['callback', 'routing', 'listen'].some((name) => typeof member(value, name) === 'function');
}

const LISTENER_HINT =
  ". If it is a request listener, such as an Express app or a function (req, res), pass it to nodeHandler of 'millrace/node'";

/** The most names that an error lists. */
const SHOWN = 8;

/** The names of all handlers that a module may have. */
function names(): string[] {
  return ['handleStart', ...Object.keys(HANDLERS).filter((name) => name !== 'nodeListener'), 'handleStop'];
}

/** The handlers that answer requests. */
const ANSWERS = { fetch: HANDLERS.fetch, nodeListener: HANDLERS.nodeListener };

/** The bits of the module's handlers, as the native side knows them. */
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

/**
 * A member of an object, if it has one of this name. The check matters for routers of itty-router, which return a
 * function for every name.
 */
function member(source: Fields, name: string | symbol): unknown {
  return name in source ? source[name] : undefined;
}

/** Finds a handler. A handler that is not an export of the module itself is bound to the object that has it. */
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
  // loaded on demand, because runtimes load `Request` and related code when it is first used
  const glue: typeof import('./fetch/fetch-handler.js') = require('./fetch/fetch-handler.js');
  return glue.exchangeHandler(fetch);
}

/**
 * The exports of a CommonJS module are those of `module.exports`. `import` may have detected only some of their names.
 */
function exportsOf(url: string, namespace: Record<string, unknown>): Record<string, unknown> {
  const whole = namespace['default'];
  if (typeof whole !== 'object' || whole === null || path.extname(url) === '.mjs') return namespace;
  try {
    const cached = require.cache[fileURLToPath(url)];
    if (cached?.exports === whole) return whole as Record<string, unknown>;
  } catch {
    // a URL without a file path was not loaded as CommonJS
  }
  return namespace;
}
