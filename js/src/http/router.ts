/** The registered middlewares, routes and mounted routers, in order. Handles no request itself. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { readable } from '../log/report.js';
import type { Request } from './app-request.js';
import { refuseMissing } from './missing.js';
import { checkPattern, joined, type Params, prefixOf } from './pattern.js';
import type { Response } from './response.js';
import type { RouteParams } from './route-params.js';

/**
 * Continues with the next handler, now or later. With an error it continues with the error handlers, with `'route'`
 * after the other handlers of this route.
 */
export type Next = (error?: unknown) => void;

/**
 * Answers a request or calls `next`. A returned promise is waited for. `Path` is the type of the parameters. Handlers
 * for other paths are accepted, too, because the handler of a mounted router gets the parameters of the path that the
 * router is mounted on.
 */
export type Handler<Path = Params> = Either<(req: Request<Path>, res: Response, next: Next) => unknown>;

/** Answers a request that failed, or calls `next(error)`. Error handlers are recognised by their four parameters. */
export type ErrorHandler<Path = Params> = Either<
  (error: unknown, req: Request<Path>, res: Response, next: Next) => unknown
>;

/** A function type that is compared like methods: its arguments may have narrower or wider types. */
type Either<Called extends (...given: never[]) => unknown> = {
  call(...given: Parameters<Called>): ReturnType<Called>;
}['call'];

/** The handlers of a route. `Outer` is the type of the parameters of the path that its router is mounted on. */
export type RouteHandlers<Path extends string, Outer = unknown> = (
  | Handler<RouteParams<Path> & Outer>
  | Handler<RouteParams<Path> & Outer>[]
)[];

/** A router for any path to be mounted on. */
export type Mountable = Routes<never>;

/** A middleware with Node's types, such as those of cors and helmet. Using a member that apps lack is an error. */
export type NodeMiddleware = (req: IncomingMessage, res: ServerResponse, next: Next) => unknown;

/** The arguments of `use`. */
export type Middleware = Handler | ErrorHandler | Mountable | Middleware[];

/** A middleware with its path. */
export interface Layer {
  prefix: string;
  handler: Handler | ErrorHandler;
}

/** Handlers for a method and a path. */
export interface Route {
  /** `'*'` stands for every method. */
  method: string;
  path: string;
  handlers: (Handler | ErrorHandler)[];
}

type Entry = { layer: Layer } | { route: Route } | { prefix: string; router: Mountable };

/**
 * The result of `Router`: routes and middlewares that are mounted together, with `use`. `Outer` is the type of the
 * parameters of the path that it is mounted on, which its handlers get, too.
 */
export class Routes<Outer = Params> {
  readonly #entries: Entry[] = [];

  /**
   * Adds middlewares or mounts routers, for every request or for those whose path is `path` or begins with `path` and a
   * `/`. All middlewares run before any route, in the order in which they were added.
   *
   * @throws {TypeError} naming the wrong argument
   */
  use(...handlers: (Handler | Mountable)[]): this;
  use<Path extends string>(path: Path | Path[], ...handlers: (Handler<RouteParams<Path> & Outer> | Mountable)[]): this;
  use(...handlers: Middleware[]): this;
  use(path: string | string[], ...handlers: Middleware[]): this;
  use(...handlers: NodeMiddleware[]): this;
  use(path: string | string[], ...handlers: NodeMiddleware[]): this;
  use(...given: (string | string[] | Middleware | NodeMiddleware)[]): this {
    const [first] = given;
    const hasPath = typeof first === 'string' || (Array.isArray(first) && typeof first[0] === 'string');
    const prefixes = hasPath ? [first].flat().map((path) => prefixOf(checkPattern(path))) : [''];
    const handlers = flat(hasPath ? given.slice(1) : given, 'use');
    for (const prefix of prefixes) {
      for (const handler of handlers) {
        if (handler instanceof Routes) this.#mount(prefix, handler);
        else this.#entries.push({ layer: { prefix, handler } });
      }
    }
    changes += 1;
    return this;
  }

  /** Adds a route for GET and HEAD. The first route whose method and path match answers a request. */
  get<Path extends string>(path: Path | Path[], ...handlers: RouteHandlers<Path, Outer>): this {
    return this.#route('GET', path, handlers);
  }

  /** Adds a route for HEAD that differs from the one for GET. It must be added before that. */
  head<Path extends string>(path: Path | Path[], ...handlers: RouteHandlers<Path, Outer>): this {
    return this.#route('HEAD', path, handlers);
  }

  /** Adds a route for POST. */
  post<Path extends string>(path: Path | Path[], ...handlers: RouteHandlers<Path, Outer>): this {
    return this.#route('POST', path, handlers);
  }

  /** Adds a route for PUT. */
  put<Path extends string>(path: Path | Path[], ...handlers: RouteHandlers<Path, Outer>): this {
    return this.#route('PUT', path, handlers);
  }

  /** Adds a route for DELETE. */
  delete<Path extends string>(path: Path | Path[], ...handlers: RouteHandlers<Path, Outer>): this {
    return this.#route('DELETE', path, handlers);
  }

  /** Adds a route for PATCH. */
  patch<Path extends string>(path: Path | Path[], ...handlers: RouteHandlers<Path, Outer>): this {
    return this.#route('PATCH', path, handlers);
  }

  /** Adds a route for OPTIONS. Without one, OPTIONS is answered with the methods of the path. */
  options<Path extends string>(path: Path | Path[], ...handlers: RouteHandlers<Path, Outer>): this {
    return this.#route('OPTIONS', path, handlers);
  }

  /** Adds a route for all methods. */
  all<Path extends string>(path: Path | Path[], ...handlers: RouteHandlers<Path, Outer>): this {
    return this.#route('*', path, handlers);
  }

  /**
   * Collects everything in order, including mounted routers.
   *
   * @internal
   */
  collect(prefix: string, layers: Layer[], routes: Route[]): void {
    for (const entry of this.#entries) {
      if ('layer' in entry) {
        layers.push({ prefix: prefix + entry.layer.prefix, handler: entry.layer.handler });
      } else if ('route' in entry) {
        routes.push({ ...entry.route, path: joined(prefix, entry.route.path) });
      } else {
        entry.router.collect(prefix + entry.prefix, layers, routes);
      }
    }
  }

  #mount(prefix: string, router: Mountable): void {
    if (router === this || router.#holds(this)) throw new TypeError('use: a router cannot be mounted within itself');
    this.#entries.push({ prefix, router });
  }

  #holds(other: unknown): boolean {
    return this.#entries.some((entry) => 'router' in entry && (entry.router === other || entry.router.#holds(other)));
  }

  #route(method: string, paths: string | string[], given: unknown[]): this {
    const name = method === '*' ? 'all' : method.toLowerCase();
    const handlers = flat(given, name);
    for (const handler of handlers) {
      if (handler instanceof Routes) throw new TypeError(`${name}: a router is mounted with 'use'`);
    }
    for (const path of [paths].flat()) {
      const checked = checkPattern(path);
      this.#entries.push({ route: { method, path: checked, handlers: handlers as (Handler | ErrorHandler)[] } });
    }
    changes += 1;
    return this;
  }
}

refuseMissing(Routes.prototype, 'router');

/** A number that changes whenever any router does. */
export function routerChanges(): number {
  return changes;
}

let changes = 0;

function flat(given: unknown[], method: string): (Handler | ErrorHandler | Mountable)[] {
  const handlers = given.flat(Number.POSITIVE_INFINITY);
  if (handlers.length === 0) throw new TypeError(`${method}: a handler is missing`);
  for (const handler of handlers) {
    if (typeof handler !== 'function' && !(handler instanceof Routes)) {
      throw new TypeError(`${method}: a handler must be a function or a router, not ${readable(handler)}`);
    }
  }
  return handlers as (Handler | ErrorHandler | Mountable)[];
}
