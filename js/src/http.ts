/**
 * Apps with routes and middlewares, Express-like. The ES module's default export is `express`.
 *
 * @module millrace/http
 */

import { App, type AppOptions } from './http/app.js';
import { json, urlencoded } from './http/body.js';
import type { Params } from './http/pattern.js';
import { Routes } from './http/router.js';

export type { AppOptions, Settings } from './http/app.js';
export type { ClientInfo, Request, RequestApp } from './http/app-request.js';
export type { Socket, SocketHandlers } from './http/app-sockets.js';
export { type BodyOptions, json, urlencoded } from './http/body.js';
export type { CookieOptions, SignedCookies } from './http/cookies.js';
export type { HeaderValue } from './http/header-lines.js';
export type { AppServer, ListenCallback, ListenOptions } from './http/listen.js';
export type { Params } from './http/pattern.js';
export type { Fields } from './http/query.js';
export type { Piece, Response, Streamable } from './http/response.js';
export type { RouteParams } from './http/route-params.js';
export type {
  ErrorHandler,
  Handler,
  Middleware,
  Mountable,
  Next,
  NodeMiddleware,
  RouteHandlers,
} from './http/router.js';
export { HttpError } from './http/status.js';
export { App, Routes };

/**
 * Makes an app.
 *
 * @example
 * ```ts
 * import { createApp } from 'millrace/http';
 *
 * const app = createApp();
 * app.get('/users/:id', (req, res) => res.json({ id: req.params.id }));
 * app.listen(3000, '127.0.0.1', () => console.log('listening'));
 * ```
 */
export function createApp(options?: AppOptions): App {
  return new App(options);
}

/**
 * Makes a router, to be mounted with `use`. `Router<{ user: string }>()` says what the path has that it is mounted on; without
 * that its handlers may look for any parameter.
 */
export interface RouterMaker {
  /** With `new`. */
  new <Outer = Params>(): Routes<Outer>;
  /** Without. */
  <Outer = Params>(): Routes<Outer>;
}

/** Makes an app. */
export interface AppMaker {
  /** With `new`. */
  new (options?: AppOptions): App;
  /** Without. */
  (options?: AppOptions): App;
}

/** `createApp`, with what programs written for Express find on their `express`. */
export interface ExpressMaker {
  /** Makes an app. */
  (options?: AppOptions): App;
  /** As the export. */
  Router: RouterMaker;
  /** As the export. */
  json: typeof json;
  /** As the export. */
  urlencoded: typeof urlencoded;
}

/** A router. */
export type Router<Outer = Params> = Routes<Outer>;

/** Makes a router, with `new` or without. */
export const Router: RouterMaker = withoutNew(Routes) as RouterMaker;

/** The class of apps under the name that programs written for Express use; makes one with `new` or without. */
export const Express: AppMaker = withoutNew(App);

/** `createApp`, with what programs written for Express find on their `express`. */
export const express: ExpressMaker = Object.assign((options?: AppOptions) => new App(options), {
  Router,
  json,
  urlencoded,
});

export { createApp as app };

/** A class that can be called, too. */
function withoutNew<A extends unknown[], T extends object>(
  made: new (...given: A) => T,
): { new (...given: A): T; (...given: A): T } {
  const apply = (target: typeof made, _this: unknown, given: unknown[]): T => new target(...(given as A));
  return new Proxy(made, { apply }) as { new (...given: A): T; (...given: A): T };
}
