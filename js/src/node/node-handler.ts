/** `nodeHandler`: what a listener may be, and how it becomes a handler. Owns no request. */

import { EventEmitter } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { readable } from '../log/report.js';
import { MESSAGE_HANDLER, type MessageAnswerer } from '../worker/exchange.js';
import { failed, serve } from './node-request.js';

/** Answers a request, as with `http.createServer`. What it returns is not looked at, but for a promise that rejects. */
export type RequestListener = (request: IncomingMessage, response: ServerResponse) => unknown;

/** An app of Koa. */
export interface KoaApp {
  /** Gives its listener. */
  callback(): RequestListener;
}

/** An app of Fastify. */
export interface FastifyApp {
  /** Its listener. */
  routing: RequestListener;
  /** Is waited for. */
  ready(): PromiseLike<unknown>;
}

/** An app of NestJS. */
export interface NestApp {
  /** Has the app of Express or Fastify below it. */
  getHttpAdapter(): {
    /** That app. */
    getInstance(): unknown;
  };
  /** Is waited for. */
  init(): PromiseLike<unknown>;
}

/** An app that is no listener itself, but has one. What listens to the `'request'` events of a server is called, too. */
export type NodeApp = KoaApp | FastifyApp | NestApp | Server;

/** What `nodeHandler` takes. */
export type NodeListener = RequestListener | NodeApp;

/** What `nodeHandler` makes: the default export of a worker module, or `handlers` of `start`. */
export interface NodeHandler {
  /** Millrace's own. */
  readonly [MESSAGE_HANDLER]: object;
}

/**
 * Runs a request listener of Node.js on Millrace: an app of Express, Koa, Fastify or NestJS, the handler of Next.js, or any
 * function that `http.createServer` takes. `req` and `res` are Node's own `IncomingMessage` and `ServerResponse`.
 *
 * @param listener the listener or the app, or a promise of it
 * @throws {TypeError} if it is neither; `start` rejects with one if the promise gives neither
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
  // a Fastify app has a `then` of its own, until it is ready
  const isApp = appKind(listener) !== undefined;
  let server = isPromise || isApp ? undefined : serverOf(listenerOf(listener as NodeListener));
  // told when it is waited for
  if (isPromise && !isApp) (listener as PromiseLike<NodeListener>).then(undefined, () => undefined);
  const answerer: MessageAnswerer = {
    handle: (exchange) => serve(exchange, server as Server),
    async ready() {
      server ??= await makeReady(isApp ? (listener as NodeListener) : await listener);
    },
  };
  return { [MESSAGE_HANDLER]: answerer };
}

async function makeReady(app: NodeListener): Promise<Server> {
  switch (appKind(app)) {
    case 'fastify': {
      const fastify = app as FastifyApp;
      await fastify.ready();
      return serverOf((request, response) => fastify.routing(request, response));
    }
    case 'nest': {
      const nest = app as NestApp;
      await nest.init();
      return makeReady(nest.getHttpAdapter().getInstance() as NodeListener);
    }
    case 'koa':
      return serverOf((app as KoaApp).callback());
    case 'server':
      return app as Server;
    default:
      return serverOf(listenerOf(app));
  }
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
 * A server that never listens: a listener is called as one would call it, `this` included, and finds it as
 * `req.socket.server`. What an `async` listener rejects with is for the request that it was about.
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
