/**
 * Errors that no handler can catch, because a timer, an event or a promise throws them that a handler has started.
 * Finds the request that such an error belongs to, so that the error fails that request and does not end the process.
 * Sends no answer.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { dropsRejections, showsLastThrow } from '../addon/runtime.js';
import { MillraceError } from '../errors.js';
import { write } from '../log/output.js';
import { print, readable } from '../log/report.js';

/** A request that can fail after its handlers have returned. */
export interface Failing {
  /** Fails the request with an error. */
  failLater(error: unknown): void;
}

/**
 * Calls the code that handles a request. An error that a callback registered by this code throws later fails the
 * request.
 */
export function runFor<R extends Failing, A, T>(request: R, work: (request: R, argument: A) => T, argument: A): T {
  if (!watching) watch();
  return current.run(request, work, request, argument);
}

/** Binds a callback to the request that is being handled, so that it belongs to this request wherever it is called. */
export function boundToRequest(callback: () => void): () => void {
  return AsyncLocalStorage.bind(callback);
}

/** The request that is being handled. */
export function currentRequest(): Failing | undefined {
  return current.getStore();
}

/**
 * Marks an error as belonging to a request. Not every runtime still has the context when it reports an uncaught error.
 */
export function belongsTo(error: object, request: Failing | undefined): void {
  if (request !== undefined) owners.set(error, request);
}

/** Fails the request that an uncaught error belongs to. Returns whether there is such a request. */
type Claim = (error: unknown) => boolean;

const current = new AsyncLocalStorage<Failing>();
const owners = new WeakMap<object, Failing>();
let watching = false;

const claim: Claim = (error) => {
  const request = ownerOf(error) ?? currentRequest();
  if (request === undefined) return false;
  try {
    request.failLater(error);
  } catch (cause) {
    const message = `a handler of an app failed after its answer: ${readable(cause)}`;
    print(new MillraceError('ERR_MILLRACE_HANDLER_FAILED', message, { cause }));
  }
  return true;
};

/** The request of an error or of its cause, because libraries wrap errors in their own. */
function ownerOf(error: unknown): Failing | undefined {
  let at = error;
  for (let depth = 0; depth < DEEPEST && typeof at === 'object' && at !== null; depth += 1) {
    const owner = owners.get(at);
    if (owner !== undefined) return owner;
    at = (at as { cause?: unknown }).cause;
  }
  return undefined;
}

/**
 * Listens for uncaught errors from now on. An error that belongs to no request is left to the application's own
 * listeners. If there are none, the error is thrown again, and the runtime ends the program. The list of claims belongs
 * to the thread, because a thread may load the package twice.
 */
function watch(): void {
  watching = true;
  const { [CLAIMS]: claims } = process as { [CLAIMS]?: Claim[] };
  if (claims !== undefined) {
    claims.push(claim);
    return;
  }
  const all: Claim[] = [claim];
  Object.defineProperty(process, CLAIMS, { value: all });
  listen('uncaughtException', all);
  if (dropsRejections()) listen('unhandledRejection', all);
}

function listen(event: 'uncaughtException' | 'unhandledRejection', claims: readonly Claim[]): void {
  const heed = (error: unknown): void => {
    if (claims.some((one) => one(error)) || process.listenerCount(event) > 1) return;
    process.off(event, heed);
    if (showsLastThrow())
      write(process.stderr, `${(error as { stack?: unknown } | undefined)?.stack ?? readable(error)}\n`);
    // there is no listener any more, so this ends the program
    process.nextTick(() => {
      throw error;
    });
  };
  process.on(event, heed);
}

/** How many causes are followed. */
const DEEPEST = 8;

/** The property of `process` that holds the thread's list. */
const CLAIMS: unique symbol = Symbol.for('millrace.http.uncaught') as never;
