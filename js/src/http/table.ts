/** The routes and middlewares of an app in a form for lookup, so that few patterns are tried for a path. */

import { noParams, type Params, Pattern } from './pattern.js';
import type { ErrorHandler, Handler, Layer, Route, Routes } from './router.js';

/** A middleware, compiled. */
export interface Step<H> {
  /** Undefined: the middleware is for every path. */
  pattern: Pattern | undefined;
  handler: H;
}

/** A route, compiled. */
export interface Target {
  /** The position in the order of registration. */
  order: number;
  method: string;
  pattern: Pattern;
  handlers: (Handler | ErrorHandler)[];
}

/** See the module. Does not change. */
export class Table {
  readonly middlewares: Step<Handler>[] = [];
  readonly errorHandlers: Step<ErrorHandler>[] = [];
  /** All methods that have a route. */
  readonly methods: ReadonlySet<string>;
  /** Routes without parameters, by their path. */
  readonly #exact = new Map<string, Target[]>();
  /** The other routes, by the literal beginning of their paths. */
  readonly #open = new Map<string, Target[]>();
  /** The same, if they are few, because comparing a few costs less than hashing parts of a path. */
  readonly #few: (readonly [string, Target[]])[] | undefined;
  /** The length of the longest such beginning, in characters. */
  readonly #longest: number;

  constructor(router: Routes) {
    const layers: Layer[] = [];
    const routes: Route[] = [];
    router.collect('', layers, routes);
    const prefixes = new Map<string, Pattern>();
    for (const { prefix, handler } of layers) {
      const pattern = prefix === '' ? undefined : (prefixes.get(prefix) ?? new Pattern(prefix, false));
      if (pattern !== undefined) prefixes.set(prefix, pattern);
      if (isErrorHandler(handler)) this.errorHandlers.push({ pattern, handler });
      else this.middlewares.push({ pattern, handler });
    }
    for (const [order, { method, path, handlers }] of routes.entries()) {
      const pattern = new Pattern(path, true);
      const [index, key] = pattern.exact === undefined ? [this.#open, pattern.beginning] : [this.#exact, pattern.exact];
      const targets = index.get(key);
      const target = { order, method, pattern, handlers };
      if (targets === undefined) index.set(key, [target]);
      else targets.push(target);
    }
    if (this.#open.size <= FEW) this.#few = [...this.#open];
    this.#longest = Math.max(0, ...[...this.#open.keys()].map(({ length }) => length));
    this.methods = new Set(routes.map(({ method }) => method));
  }

  /** The routes that may match a path, in order. */
  candidates(path: string): readonly Target[] {
    let found = (this.#exact.size > 0 && this.#exact.get(path)) || NONE;
    if (this.#few !== undefined) {
      for (const [beginning, more] of this.#few) {
        if (path.startsWith(beginning)) found = found.length === 0 ? more : merged(found, more);
      }
      return found;
    }
    // bounded, because a path may consist of slashes
    for (let slash = path.indexOf('/'); slash >= 0 && slash < this.#longest; slash = path.indexOf('/', slash + 1)) {
      const more = this.#open.get(path.slice(0, slash + 1));
      if (more !== undefined) found = found.length === 0 ? more : merged(found, more);
    }
    return found;
  }

  /** The methods of the routes that match a path; for the path `*`, the methods of all routes. */
  methodsOf(path: string): Set<string> {
    if (path === '*') return new Set(this.methods);
    const matching = this.candidates(path).filter(({ pattern }) => pattern.match(path) !== undefined);
    return new Set(matching.map(({ method }) => method));
  }
}

/** Whether a function is an error handler: it has four parameters. */
export function isErrorHandler(handler: Handler | ErrorHandler): handler is ErrorHandler {
  return handler.length === 4;
}

/** Whether a route answers a method. */
export function answers(target: Target, method: string): boolean {
  return target.method === method || target.method === '*' || (method === 'HEAD' && target.method === 'GET');
}

/** The values of a pattern's parameters in a path. */
export function paramsOf(pattern: Pattern | undefined, path: string): Params | undefined {
  return pattern === undefined ? noParams() : pattern.match(path);
}

function merged(some: readonly Target[], more: readonly Target[]): Target[] {
  return [...some, ...more].sort((one, other) => one.order - other.order);
}

/** The number of beginnings up to which each is compared with the path. */
const FEW = 8;

const NONE: readonly Target[] = [];
