/** An app: a router with settings that answers requests and handles sockets. Connects these to the gateway. */

import type { Gateway } from '../gateway/gateway.js';
import type { StopOptions } from '../gateway/signals.js';
import type { Data } from '../gateway/target.js';
import { readable } from '../log/report.js';
import type { ClientHandlers } from '../v1/client-handlers.js';
import { EXCHANGE_HANDLER, type HttpExchange } from '../worker/exchange.js';
import type { MessageStream } from '../worker/message-stream.js';
import type { OpenAnswer, OpenRequest } from '../worker/open-request.js';
import { Dispatch } from './app-dispatch.js';
import { Request, type RequestTerms } from './app-request.js';
import { type SocketHandlers, Sockets } from './app-sockets.js';
import { readSecrets } from './cookies.js';
import { runFor } from './late-errors.js';
import { AppServer, gatewayFor, type ListenCallback, type ListenOptions, parseListen } from './listen.js';
import { refuseMissing } from './missing.js';
import { comparable, noParams } from './pattern.js';
import { Response } from './response.js';
import type { RouteParams } from './route-params.js';
import { type RouteHandlers, Routes, routerChanges } from './router.js';
import { statusText } from './status.js';
import { Table } from './table.js';

/** Options of an app. */
export interface AppOptions {
  /**
   * The secret or secrets that sign cookies (`res.cookie(…, { signed: true })`, `req.signedCookies`). The first one
   * signs; signatures of all of them are valid, so that a secret can be replaced.
   */
  cookieSecret?: string | readonly string[] | undefined;
}

/** The settings that have an effect. Others are only stored. */
export interface Settings {
  /** Whether `req.body` of a JSON request is the parsed value. Default false: it is text. */
  'json body': boolean;
  /** The size limit of a body in bytes. A larger body is answered with 413. Default 1 MiB. */
  'body limit': number;
}

/**
 * An app. It listens with its handlers on the calling thread, or is the default export of a worker module.
 *
 * @example
 * ```ts
 * const app = createApp();
 * app.get('/hello/:name', (req, res) => res.json({ hello: req.params.name }));
 * app.listen(3000);
 * ```
 */
export class App extends Routes<unknown> {
  /** Data of the application, for handlers (`req.app.locals`). */
  locals: Record<string, unknown> = Object.create(null);
  readonly #settings = new Map<string, unknown>();
  readonly #sockets = new Sockets();
  readonly #servers = new Set<AppServer>();
  readonly #cookieSecrets: readonly string[];
  #jsonBody = false;
  #bodyLimit = BODY_LIMIT;
  #terms: RequestTerms | undefined;
  #table: Table | undefined;
  /** The value of `routerChanges` when the table was made. */
  #madeAt = -1;
  #gateway: Gateway | undefined;

  /** @throws {TypeError} naming the option that is wrong */
  constructor(options?: AppOptions) {
    super();
    if (options !== undefined && (typeof options !== 'object' || options === null)) {
      throw new TypeError(`createApp: argument 'options' must be an object, not ${readable(options)}`);
    }
    this.#cookieSecrets = readSecrets(options?.cookieSecret);
  }

  /**
   * Changes a setting.
   *
   * @throws {TypeError} if the value is not valid for the setting
   */
  set<K extends keyof Settings>(name: K, value: Settings[K]): this;
  set(name: string, value: unknown): this;
  set(name: string, value: unknown): this {
    if (name === 'json body') {
      if (typeof value !== 'boolean')
        throw new TypeError(`set: 'json body' must be true or false, not ${readable(value)}`);
      this.#jsonBody = value;
      this.#terms = undefined;
    } else if (name === 'body limit') {
      if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
        throw new TypeError(`set: 'body limit' must be a number of bytes, not ${readable(value)}`);
      }
      this.#bodyLimit = value;
    }
    this.#settings.set(name, value);
    return this;
  }

  /** The same as `set(name, true)`. */
  enable(name: string): this {
    return this.set(name, true);
  }

  /** The same as `set(name, false)`. */
  disable(name: string): this {
    return this.set(name, false);
  }

  /** Whether the setting is truthy. */
  enabled(name: string): boolean {
    return Boolean(this.#settings.get(name));
  }

  /** Whether the setting is falsy or not set. */
  disabled(name: string): boolean {
    return !this.enabled(name);
  }

  /** With only a name: returns the value of a setting. With handlers: as in `Router`. */
  override get(name: string): unknown;
  override get<Path extends string>(path: Path | Path[], ...handlers: RouteHandlers<Path>): this;
  override get<Path extends string>(path: Path | Path[], ...handlers: RouteHandlers<Path>): unknown {
    if (handlers.length > 0 || typeof path !== 'string') return super.get(path, ...handlers);
    if (path === 'json body') return this.#jsonBody;
    return path === 'body limit' ? this.#bodyLimit : this.#settings.get(path);
  }

  /**
   * Accepts WebSockets on a path. A handshake on any other path is refused with 404. `Attached` is the type of
   * `socket.data`. To type the parameters as well, pass the path's type as the second argument.
   *
   * @throws {TypeError} naming what is wrong
   * @example
   * ```ts
   * app.ws<{ name: string }>('/chat', {
   *   open: (socket) => void (socket.data = { name: socket.query.name ?? 'guest' }),
   *   text: (socket, text) => void socket.publish('chat', `${socket.data.name}: ${text}`),
   * });
   * ```
   */
  ws<Attached = unknown, Path extends string = string>(
    path: Path,
    handlers: SocketHandlers<Attached, RouteParams<Path>>,
  ): this {
    this.#sockets.add(path, handlers as SocketHandlers);
    return this;
  }

  /**
   * Listens, with the handlers on this thread. Returns at once; `callback` and `server.ready` report when it listens.
   * Port 0 picks a free port, which is in `server.address`. The host is an IP address or `localhost`. Default: every
   * IPv4 interface.
   *
   * @throws {TypeError} naming the argument that is wrong
   */
  listen(port?: number | string, callback?: ListenCallback): AppServer;
  listen(port: number | string | undefined, host?: string, callback?: ListenCallback): AppServer;
  listen(options: ListenOptions, callback?: ListenCallback): AppServer;
  listen(...given: unknown[]): AppServer {
    const { options, callback } = parseListen(given);
    this.#gateway ??= gatewayFor(this);
    this.#sockets.belongTo(this.#gateway);
    const server = new AppServer(this.#gateway, { ...options, handlers: this }, callback, (closed) =>
      this.#servers.delete(closed),
    );
    this.#servers.add(server);
    return server;
  }

  /** Closes every server that `listen` returned. */
  async close(options?: StopOptions): Promise<void> {
    await Promise.all([...this.#servers].map((server) => server.close(options)));
  }

  /** @internal Answers one request. */
  readonly [EXCHANGE_HANDLER] = (exchange: HttpExchange): void | Promise<void> => {
    if (this.#table === undefined || this.#madeAt !== routerChanges()) this.#compile();
    const path = pathOf(exchange.target);
    let whole: string;
    try {
      whole = comparable(path);
    } catch {
      exchange.respond(400, ['Content-Type', 'text/plain'], statusText(400));
      return undefined;
    }
    this.#terms ??= { app: this, jsonBody: this.#jsonBody, cookieSecrets: this.#cookieSecrets };
    const req = new Request(exchange, path, noParams(), this.#terms);
    const res = new Response(exchange, this.#terms);
    return runFor(new Dispatch(exchange, this.#table as Table, whole, req, res), run, this.#bodyLimit);
  };

  /** @internal Called in a worker. */
  readonly handleStart = (_arg: unknown, gateway: Gateway): void => {
    this.#sockets.belongTo(gateway);
  };

  /** @internal */
  readonly handleOpen = (
    id: number,
    ip: string,
    _headers: Record<string, string>,
    request: OpenRequest,
  ): OpenAnswer<Data> | Promise<OpenAnswer<Data>> =>
    // the type of the token does not matter: no handler of an app gets it
    this.#sockets.open(id, ip, request) as OpenAnswer<Data> | Promise<OpenAnswer<Data>>;

  /** @internal */
  readonly handleTextMessage = (text: string, id: number): void | Promise<void> => this.#sockets.message(id, text);

  /** @internal */
  readonly handleBinaryMessage = (data: Uint8Array, id: number): void | Promise<void> =>
    this.#sockets.message(id, data);

  /** @internal */
  readonly handleMessageStream = (stream: MessageStream, id: number): void | Promise<void> =>
    this.#sockets.messageStream(id, stream);

  /** @internal */
  readonly handleClose = (id: number, _token?: Uint8Array, code = 1006, reason = ''): void | Promise<void> =>
    this.#sockets.close(id, code, reason);

  /** @internal Undefined unless a path has such a handler, so that the worker is not asked in vain. */
  get handleSubscribe(): NonNullable<ClientHandlers<unknown>['handleSubscribe']> {
    if (!this.#sockets.has('subscribe')) return undefined as never;
    return (channel, id, _token, request) => this.#sockets.subscribe(id, channel, request);
  }

  /** @internal */
  get handlePublish(): NonNullable<ClientHandlers<unknown>['handlePublish']> {
    if (!this.#sockets.has('publish')) return undefined as never;
    return (channel, data, id) => this.#sockets.publish(id, channel, data);
  }

  /** @internal */
  get handleCall(): NonNullable<ClientHandlers<unknown>['handleCall']> {
    if (!this.#sockets.has('call')) return undefined as never;
    return (method, params, id) => this.#sockets.call(id, method, params);
  }

  /** @internal */
  readonly handleCongested = (id: number): void | Promise<void> => this.#sockets.congested(id);

  /** @internal */
  readonly handleDrain = (id: number): void | Promise<void> => this.#sockets.drain(id);

  #compile(): void {
    this.#table = new Table(this);
    this.#madeAt = routerChanges();
  }
}

refuseMissing(App.prototype, 'app');

function run(dispatch: Dispatch, bodyLimit: number): void | Promise<void> {
  return dispatch.run(bodyLimit);
}

/** The path of a target, which may be an absolute URL. */
function pathOf(target: string): string {
  const query = target.indexOf('?');
  const path = query < 0 ? target : target.slice(0, query);
  if (path.startsWith('/') || path === '*') return path;
  const authority = path.indexOf('://');
  const slash = authority < 0 ? -1 : path.indexOf('/', authority + 3);
  return slash < 0 ? '/' : path.slice(slash);
}

const BODY_LIMIT = 1024 * 1024;
