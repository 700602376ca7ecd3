/** `nodeHandler`: which listeners it accepts, and how it makes handlers of them. Does not know requests. */

import { EventEmitter } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { MillraceError } from '../errors.js';
import { readable } from '../log/report.js';
import { MESSAGE_HANDLER, type MessageAnswerer } from '../worker/exchange.js';
import { makingOf } from './node-members.js';
import { failed, type Host, serve } from './node-request.js';

/** Answers a request, as with `http.createServer`. Its result is ignored, except for a promise that rejects. */
export type RequestListener = (request: IncomingMessage, response: ServerResponse) => unknown;

/** An app of Koa. */
export interface KoaApp {
  /** Returns its listener. */
  callback(): RequestListener;
}

/** An app of Fastify. */
export interface FastifyApp {
  /** Its listener. */
  routing: RequestListener;
  /** Called and waited for before the first request. */
  ready(): PromiseLike<unknown>;
  /** Its server, which need not listen. */
  server?: unknown;
}

/** An app of NestJS. */
export interface NestApp {
  /** Returns an adapter for the underlying app. */
  getHttpAdapter(): {
    /** Returns the underlying app of Express or Fastify. */
    getInstance(): unknown;
  };
  /** Called and waited for before the first request. */
  init(): PromiseLike<unknown>;
  /** Returns its server, which need not listen. */
  getHttpServer?(): unknown;
}

/** An app that has a request listener. Of a `Server`, its listeners for `'request'` events are called. */
export type NodeApp = KoaApp | FastifyApp | NestApp | Server;

/** The argument of `nodeHandler`. */
export type NodeListener = RequestListener | NodeApp;

/** The result of `nodeHandler`: the default export of a worker module, or the option `handlers` of `start`. */
export interface NodeHandler {
  /** For Millrace's own use. */
  readonly [MESSAGE_HANDLER]: object;
}

/**
 * Runs a request listener of Node.js on Millrace: an app of Express, Koa, Fastify or NestJS, the handler of Next.js, or
 * any function that `http.createServer` accepts. `req` and `res` are Node's own `IncomingMessage` and `ServerResponse`.
 *
 * @param listener the listener or the app, or a promise of one
 * @throws {TypeError} if it is neither; if the promise yields neither, `start` rejects with this error. `start` also
 *   rejects (ERR_MILLRACE_NO_NET_SOCKET) if the server of the listener or app has listeners for `'upgrade'` events
 * @example
 * ```ts
 * import express from 'express';
 * import { start } from 'millrace';
 * import { nodeHandler } from 'millrace/node';
 *
 * const app = express();
 * app.get('/', (req, res) => res.send('hello'));
 * await start({ bind: '127.0.0.1:8080', handlers: nodeHandler(app) });
 * ```
 */
export function nodeHandler(listener: NodeListener | PromiseLike<NodeListener>): NodeHandler {
  const isPromise = typeof (listener as PromiseLike<NodeListener> | undefined)?.then === 'function';
  // a Fastify app has a `then` method until it is ready
  const isApp = appKind(listener) !== undefined;
  let host = isPromise || isApp ? undefined : hostOf(serverOf(listenerOf(listener as NodeListener)));
  // the rejection is reported by `start`, which waits for the promise
  if (isPromise && !isApp) (listener as PromiseLike<NodeListener>).then(undefined, () => undefined);
  const answerer: MessageAnswerer = {
    handle: (exchange) => serve(exchange, host as Host),
    async ready() {
      host ??= hostOf(await makeReady(isApp ? (listener as NodeListener) : await listener));
    },
  };
  return { [MESSAGE_HANDLER]: answerer };
}

function hostOf(server: Server): Host {
  return { server, making: makingOf(server) };
}

async function makeReady(app: NodeListener): Promise<Server> {
  switch (appKind(app)) {
    case 'fastify': {
      const fastify = app as FastifyApp;
      await fastify.ready();
      refuseUpgrades(fastify.server);
      return serverOf((request, response) => fastify.routing(request, response));
    }
    case 'nest': {
      const nest = app as NestApp;
      await nest.init();
      refuseUpgrades(nest.getHttpServer?.());
      return makeReady(nest.getHttpAdapter().getInstance() as NodeListener);
    }
    case 'koa':
      return serverOf((app as KoaApp).callback());
    case 'server':
      refuseUpgrades(app);
      return app as Server;
    default:
      return serverOf(listenerOf(app));
  }
}

/**
 * Reports that sockets of this server, for example those of ws or Socket.IO, would never open.
 *
 * @throws {MillraceError} ERR_MILLRACE_NO_NET_SOCKET if it has listeners for `'upgrade'` events
 */
function refuseUpgrades(server: unknown): void {
  if (!(server instanceof EventEmitter) || server.listenerCount('upgrade') === 0) return;
  throw new MillraceError(
    'ERR_MILLRACE_NO_NET_SOCKET',
    "the server has listeners for 'upgrade' events, as ws, Socket.IO and similar libraries add them, but no such event " +
      'is emitted: the gateway opens WebSockets itself. Do not attach the library, and handle sockets by handlers such ' +
      'as handleOpen and handleTextMessage (docs/node-handler.md)',
  );
}

function listenerOf(listener: NodeListener): RequestListener {
  if (typeof listener === 'function') return listener;
  throw new TypeError(
    `listener must be a request listener, or an app of Koa, Fastify or NestJS, not ${readable(listener)}`,
  );
}

function appKind(app: unknown): 'koa' | 'fastify' | 'nest' | 'server' | undefined {
  if (app === null || (typeof app !== 'object' && typeof app !== 'function')) return undefined;
  const has = (name: string): boolean => typeof (app as Record<string, unknown>)[name] === 'function';
  if (has('getHttpAdapter') && has('init')) return 'nest';
  if (has('routing') && has('ready')) return 'fastify';
  if (typeof app === 'function') return undefined;
  if (has('callback')) return 'koa';
  if (has('emit') && has('listenerCount')) return 'server';
  return undefined;
}

/**
 * Creates a server that never listens. It calls a listener as Node.js does, with the same `this`, and is its
 * `req.socket.server`. If an `async` listener rejects, the error belongs to its request.
 */
function serverOf(listener: RequestListener): Server {
  const before = EventEmitter.captureRejections;
  EventEmitter.captureRejections = true;
  try {
    const server = createServer(listener);
    Object.defineProperty(server, REJECTION, { value: rejected });
    return server;
  } finally {
    EventEmitter.captureRejections = before;
  }
}

function rejected(error: unknown, _event: string, request: IncomingMessage): void {
  failed(request, error);
}

const REJECTION = Symbol.for('nodejs.rejection');
