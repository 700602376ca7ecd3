/** A Sockety server: its listener and its connections. Owns no gateway. */

import { EventEmitter } from 'node:events';
import type { AddressInfo } from 'node:net';
import { ListenCycle } from '../gateway/listen-cycle.js';
import type { DrainOptions } from '../gateway/signals.js';
import { nothing, quiet } from '../log/quiet.js';
import { addressInfo, addressOf } from '../options/listen-address.js';
import { parseDrainOptions } from '../options/server-options.js';
import { loadTls } from '../options/tls.js';
import type { Heartbeat, Producer, Series } from './producer.js';
import { Connection } from './sockety-connection.js';
import { SocketyError } from './sockety-errors.js';
import { Shared, type TermsOwner } from './sockety-gateway.js';
import {
  type ListenOptions,
  type ListenPlan,
  parseListen,
  parseServer,
  type SecureServerOptions,
  type ServerOptions,
  type ServerPlan,
} from './sockety-options.js';

/** The events of a server. */
export interface ServerEvents {
  /** The header of a client has arrived. */
  connection: [connection: Connection];
  /** The server listens. */
  listening: [];
  /** The server cannot listen. Without a listener for this event, only the promise of `listen` reports it. */
  error: [error: Error];
  /** The server no longer listens, and its last connection has ended. */
  close: [];
}

/**
 * Creates a server, which does not listen yet.
 *
 * @param onConnection a listener for the event `connection`
 * @throws {TypeError} naming what is wrong with the options
 */
export function createServer(options?: ServerOptions, onConnection?: (connection: Connection) => void): Server;
export function createServer(onConnection?: (connection: Connection) => void): Server;
export function createServer(...given: unknown[]): Server {
  return made(given, false);
}

/**
 * Creates a server with TLS, which does not listen yet.
 *
 * @param onConnection a listener for the event `connection`
 * @throws {TypeError} naming what is wrong with the options
 */
export function createSecureServer(
  options: SecureServerOptions,
  onConnection?: (connection: Connection) => void,
): Server {
  return made([options, onConnection], true);
}

function made([first, second]: readonly unknown[], isSecure: boolean): Server {
  const [options, onConnection] = typeof first === 'function' ? [undefined, first] : [first, second];
  if (onConnection !== undefined && typeof onConnection !== 'function') {
    throw new TypeError("argument 'onConnection' must be a function");
  }
  const server = new Server(parseServer(options, isSecure));
  if (onConnection !== undefined) server.on('connection', onConnection as (connection: Connection) => void);
  return server;
}

/** See the module. */
export class Server extends EventEmitter<ServerEvents> {
  /** The most connections. Further ones are closed at once. Undefined: the gateway's limit. */
  maxConnections: number | undefined;
  readonly #plan: ServerPlan;
  readonly #shared = Shared.get();
  readonly #clients = new Set<Connection>();
  /** All connections, including those whose header has not arrived. */
  readonly #connections = new Set<Connection>();
  readonly #owner: TermsOwner;
  readonly #cycle: ListenCycle;
  #isRef = true;
  #state: 'idle' | 'starting' | 'listening' | 'closing' = 'idle';
  #listener: { id: number; address: string } | undefined;
  #whenEmpty: (() => void) | undefined;
  #forgetSignal: () => void = nothing;

  /** @internal */
  constructor(plan: ServerPlan) {
    super();
    this.#plan = plan;
    this.#cycle = new ListenCycle((options) => this.#stop(parseDrainOptions(options)), plan.stopOnSignals);
    this.#owner = {
      maxDataSize: plan.terms.maxDataSize,
      connectionOf: () => this.#came(),
      ready: (connection) => {
        if (connection.closed || !this.#connections.has(connection)) return;
        this.#clients.add(connection);
        this.emit('connection', connection);
      },
    };
  }

  /** The connections whose header has arrived, in the order of arrival. */
  get clients(): Connection[] {
    return [...this.#clients];
  }

  /** Whether the server listens. */
  get listening(): boolean {
    return this.#state === 'listening';
  }

  /**
   * Listens. Resolves when the server listens, and calls a callback that is the last argument.
   *
   * @throws {TypeError} naming what is wrong with the arguments
   * @throws (as a rejection) SocketyError ERR_SOCKETY_LISTENING, MillraceError ERR_MILLRACE_ADDRESS_IN_USE,
   *   ERR_MILLRACE_BIND_FAILED, ERR_MILLRACE_INVALID_TLS, or the error because of which the host has no address
   */
  listen(port?: number, host?: string, backlog?: number, callback?: () => void): Promise<this>;
  listen(port?: number, backlog?: number, callback?: () => void): Promise<this>;
  listen(port: number, host: string, callback: () => void): Promise<this>;
  listen(port: number, callback: () => void): Promise<this>;
  listen(path: string, backlog?: number, callback?: () => void): Promise<this>;
  listen(path: string, callback: () => void): Promise<this>;
  listen(options: ListenOptions, callback?: () => void): Promise<this>;
  listen(...given: unknown[]): Promise<this> {
    const callback = typeof given.at(-1) === 'function' ? (given.pop() as () => void) : undefined;
    const plan = parseListen(given);
    if (this.#state !== 'idle') {
      return quiet(Promise.reject(new SocketyError('ERR_SOCKETY_LISTENING', 'The server listens already.')));
    }
    this.#state = 'starting';
    if (callback !== undefined) this.once('listening', callback);
    const listening = quiet(this.#listen(plan));
    this.#cycle.begin(listening);
    return listening;
  }

  async #listen(plan: ListenPlan): Promise<this> {
    const { signal } = plan;
    if (signal?.aborted) {
      this.#state = 'idle';
      throw signal.reason;
    }
    if (this.#isRef) this.#shared.hold();
    try {
      const [address, tls] = await Promise.all([placeOf(plan), this.#tls(), this.#shared.enter()]);
      const { config } = this.#plan.terms;
      this.#listener = this.#shared.listen({ ...config, address, tls, backlog: plan.backlog }, this.#owner);
    } catch (error) {
      this.#state = 'idle';
      if (this.#isRef) this.#shared.release();
      await this.#shared.leave();
      if (this.listenerCount('error') > 0) this.emit('error', error as Error);
      throw error;
    }
    this.#state = 'listening';
    this.emit('listening');
    if (signal !== undefined) this.#closeWith(signal);
    return this;
  }

  #closeWith(signal: AbortSignal): void {
    const abort = (): void => void this.close().catch(nothing);
    if (signal.aborted) {
      abort();
      return;
    }
    signal.addEventListener('abort', abort, { once: true });
    this.#forgetSignal = () => signal.removeEventListener('abort', abort);
  }

  async #tls(): Promise<Record<string, unknown> | undefined> {
    const { tls } = this.#plan;
    return tls && { ...(await loadTls(tls.plan)), http2: false, alpn: tls.alpn };
  }

  /** The address in the form of `net.Server.address()`: a path for a unix socket. Null if the server does not listen. */
  address(): AddressInfo | string | null {
    const address = this.#listener?.address;
    if (address === undefined) return null;
    if (address.startsWith(UNIX)) return address.slice(UNIX.length);
    return addressInfo(address);
  }

  /**
   * Stops accepting connections. Open connections stay. Resolves when the last of them has ended.
   *
   * @throws {SocketyError} (as a rejection) ERR_SOCKETY_NOT_LISTENING
   */
  async close(): Promise<this> {
    const listener = this.#listener;
    if (this.#state !== 'listening' || listener === undefined) {
      throw new SocketyError('ERR_SOCKETY_NOT_LISTENING', 'The server does not listen.');
    }
    this.#state = 'closing';
    this.#forgetSignal();
    this.#shared.native.stopAccepting([listener.id]);
    if (this.#connections.size > 0) {
      await new Promise<void>((resolve) => {
        this.#whenEmpty = resolve;
      });
    }
    await this.#shared.stop(listener.id);
    await this.#shared.leave();
    if (this.#isRef) this.#shared.release();
    this.#listener = undefined;
    this.#state = 'idle';
    this.#cycle.end();
    this.emit('close');
    return this;
  }

  /**
   * Resolves when the server no longer listens and its last connection has ended. Resolves at once if the server does
   * not listen.
   */
  get stopped(): Promise<void> {
    return this.#cycle.stopped;
  }

  /**
   * After this call, SIGINT and SIGTERM (on Windows also SIGBREAK and SIGHUP) stop the server whenever it listens: it
   * stops listening, and closes each connection when everything that was sent is written. A second signal ends the
   * process at once, with the exit code 128 plus the signal's number. `drain` is the time in milliseconds after which
   * connections are closed at once, default 5,000. Only the first call counts. Worker threads get no signals: call this
   * on the main thread.
   *
   * @throws {TypeError} naming what is wrong with the options
   */
  stopOnSignals(options?: DrainOptions): void {
    parseDrainOptions(options);
    this.#cycle.stopOnSignals(options);
  }

  /** Also ends the connections if `close` waits for them. */
  async #stop(drainMs: number): Promise<void> {
    if (this.#state === 'listening') quiet(this.close());
    for (const connection of this.#connections) connection.close();
    const timer = setTimeout(() => {
      for (const connection of this.#connections) connection.close(true);
    }, drainMs);
    await this.stopped;
    clearTimeout(timer);
  }

  /** Stops listening and closes the connections, for `await using`. Does nothing if the server does not listen. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#state !== 'listening') return;
    const closed = this.close();
    for (const connection of this.#connections) connection.close();
    await closed;
  }

  /**
   * Sends to all `clients`, or to those that `filter` selects. Each message has an id of its own. Resolves when the last
   * message was handed to the kernel.
   *
   * @throws (as a rejection) the first error
   */
  async broadcast(
    producer: Producer | Series | Heartbeat,
    filter: (connection: Connection) => boolean = () => true,
  ): Promise<void> {
    await Promise.all(this.clients.filter(filter).map(async (connection) => connection.pass(producer)));
  }

  /** The number of connections, including those whose header has not arrived. */
  getConnections(): Promise<number> {
    return Promise.resolve(this.#connections.size);
  }

  /** Keeps the process running while the server listens. This is the default. */
  ref(): this {
    return this.#setRef(true);
  }

  /** The server no longer keeps the process running. Its connections still do. */
  unref(): this {
    return this.#setRef(false);
  }

  #setRef(isRef: boolean): this {
    if (isRef === this.#isRef) return this;
    this.#isRef = isRef;
    if (this.#state !== 'idle') {
      if (isRef) this.#shared.hold();
      else this.#shared.release();
    }
    return this;
  }

  #came(): Connection {
    if (this.maxConnections !== undefined && this.#connections.size >= this.maxConnections) return refused();
    const connection: Connection = new Connection({
      ended: () => {
        this.#shared.release();
        this.#connections.delete(connection);
        this.#clients.delete(connection);
        if (this.#connections.size === 0) this.#whenEmpty?.();
      },
    });
    this.#connections.add(connection);
    this.#shared.hold();
    return connection;
  }
}

/** A connection that is not reported and ends as soon as it has a socket. */
function refused(): Connection {
  const connection = new Connection();
  process.nextTick(() => connection.close(true));
  return connection;
}

function placeOf({ to }: ListenPlan): Promise<string> {
  return 'path' in to ? Promise.resolve(`${UNIX}${to.path}`) : addressOf(to.host, to.port);
}

const UNIX = 'unix:';
