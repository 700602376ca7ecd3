/**
 * Apps with routes and middlewares, Express-like. The ES module's default export is `express`.
 *
 * @module millrace/http
 */

import './addon/floor.js';

import { App, type AppOptions } from './http/app.js';
import { json, urlencoded } from './http/body.js';
import { refuseMissing } from './http/missing.js';
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
export type { MessageStream } from './worker/message-stream.js';
export { App, Routes };

/**
 * Creates an app.
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
 * Creates a router, which is mounted with `use`. `Router<{ user: string }>()` gives the type of the parameters of the
 * path that it is mounted on. Without it, handlers may read any parameter.
 */
export interface RouterMaker {
  /** Called with `new`. */
  new <Outer = Params>(): Routes<Outer>;
  /** Called without `new`. */
  <Outer = Params>(): Routes<Outer>;
}

/** Creates an app. */
export interface AppMaker {
  /** Called with `new`. */
  new (options?: AppOptions): App;
  /** Called without `new`. */
  (options?: AppOptions): App;
}

/** `createApp` with the members that programs written for Express use on `express`. */
export interface ExpressMaker {
  /** Creates an app. */
  (options?: AppOptions): App;
  /** The same as the export `Router`. */
  Router: RouterMaker;
  /** The same as the export `json`. */
  json: typeof json;
  /** The same as the export `urlencoded`. */
  urlencoded: typeof urlencoded;
}

/** The type of routers. */
export type Router<Outer = Params> = Routes<Outer>;

/** Creates a router, with `new` or without. */
export const Router: RouterMaker = withoutNew(Routes) as RouterMaker;

/** The class of apps under Express's name. It creates an app with `new` or without. */
export const Express: AppMaker = withoutNew(App);

/** `createApp` with the members that programs written for Express use on `express`. */
export const express: ExpressMaker = Object.assign((options?: AppOptions) => new App(options), {
  Router,
  json,
  urlencoded,
});

refuseMissing(express, 'express');

export { createApp as app };

/** Makes a class callable without `new`. */
function withoutNew<A extends unknown[], T extends object>(
  made: new (...given: A) => T,
): { new (...given: A): T; (...given: A): T } {
  const apply = (target: typeof made, _this: unknown, given: unknown[]): T => new target(...(given as A));
  return new Proxy(made, { apply }) as { new (...given: A): T; (...given: A): T };
}
