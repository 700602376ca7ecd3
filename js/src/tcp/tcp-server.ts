/** A TCP server with callbacks: its listener, its callbacks and its connections. Owns no gateway. */

import type { AddressInfo } from 'node:net';

import { MillraceError } from '../errors.js';
import { ListenCycle } from '../gateway/listen-cycle.js';
import type { DrainOptions } from '../gateway/signals.js';
import { nothing } from '../log/quiet.js';
import { print, readable } from '../log/report.js';
import { addressInfo, addressOf } from '../options/listen-address.js';
import { parseDrainOptions } from '../options/server-options.js';
import { type Keeper, TCPConnection } from './tcp-connection.js';
import { Shared, type StreamOwner } from './tcp-gateway.js';
import { checkCallbacks, checkListen, parseServer, type ServerPlan, type TCPServerOptions } from './tcp-options.js';

/** A callback for a connection. `this` is the server. Other callbacks do not wait for a promise that it returns. */
export type TCPCallback = (this: TCPServer, connection: TCPConnection) => void | Promise<void>;

/**
 * Creates a server, which does not listen yet.
 *
 * @throws {TypeError} naming what is wrong with the options
 * @example
 * ```ts
 * const server = createServer();
 * server.onData = (connection) => {
 *   connection.write(connection.read() ?? '');
 * };
 * await server.listen(7000);
 * ```
 */
export function createServer(options?: TCPServerOptions): TCPServer {
  return new TCPServer(parseServer(options));
}

/** See {@link createServer}. The callbacks are properties, initially null, and may be changed at any time. */
export class TCPServer {
  /** Called when a client has connected. */
  onConnection: TCPCallback | null = null;
  /** Called when data has arrived. It is in the connection's `buffer`. */
  onData: TCPCallback | null = null;
  /**
   * Called once, after all data, when the client has sent its last byte. The connection is closed when this callback
   * has returned, its promise and those of earlier callbacks are settled, and everything written has been sent,
   * including what `onDrain` writes.
   */
  onEnd: TCPCallback | null = null;
  /** Called when there is room again after a `write` that took less than it was given. */
  onDrain: TCPCallback | null = null;
  /**
   * Called when a connection has ended, for whatever reason: once for each `onConnection`, and after all other
   * callbacks.
   */
  onClose: TCPCallback | null = null;
  /**
   * Called when a callback threw or its promise was rejected, after which the connection is closed. Also called with
   * errors that belong to no connection, for example when descriptors ran out. If it is null, errors are printed to the
   * standard error output.
   */
  onError: ((this: TCPServer, error: Error, connection?: TCPConnection) => void) | null = null;
  /** The connections that have not ended, by their `fd`. */
  readonly connections: Map<number, TCPConnection> = new Map();
  readonly #plan: ServerPlan;
  readonly #shared = Shared.get();
  #state: 'idle' | 'starting' | 'listening' | 'closing' = 'idle';
  #listener: { id: number; address: AddressInfo } | undefined;
  #starting: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> = Promise.resolve();
  readonly #cycle: ListenCycle;
  #whenEmpty: () => void = nothing;

  /** @internal */
  constructor(plan: ServerPlan) {
    this.#plan = plan;
    this.#cycle = new ListenCycle((options) => this.#stop(parseDrainOptions(options)), plan.stopOnSignals);
  }

  /** Whether the server listens. */
  get listening(): boolean {
    return this.#state === 'listening';
  }

  /** The port that the server listens on. 0 if it does not listen. */
  get port(): number {
    return this.#listener?.address.port ?? 0;
  }

  /** The address that the server listens on. Null if it does not listen. */
  address(): AddressInfo | null {
    return this.#listener === undefined ? null : { ...this.#listener.address };
  }

  /**
   * Listens. Resolves when the server listens.
   *
   * @param port the port; 0 picks a free one, which is then in `port`
   * @param host default `'0.0.0.0'`, every IPv4 interface; `'::'` is every interface of IPv4 and IPv6
   * @throws {TypeError} naming what is wrong with the arguments or the callbacks
   * @throws (as a rejection) MillraceError ERR_MILLRACE_LISTENING, ERR_MILLRACE_ADDRESS_IN_USE,
   *   ERR_MILLRACE_BIND_FAILED, or the error because of which the host has no address
   */
  listen(port: number, host = '0.0.0.0'): Promise<this> {
    checkListen(port, host);
    const { onConnection, onData, onEnd, onDrain, onClose, onError } = this;
    checkCallbacks({ onConnection, onData, onEnd, onDrain, onClose, onError });
    if (this.#state !== 'idle') {
      return Promise.reject(new MillraceError('ERR_MILLRACE_LISTENING', 'the server listens already'));
    }
    this.#state = 'starting';
    const listening = this.#listen(port, host);
    this.#starting = listening.catch(nothing);
    this.#cycle.begin(listening);
    // another promise, so that its rejection is reported if nothing waits for it
    return listening.then((server) => server);
  }

  async #listen(port: number, host: string): Promise<this> {
    this.#shared.hold();
    try {
      const [address] = await Promise.all([addressOf(host, port), this.#shared.enter()]);
      const { reusePort } = this.#plan;
      const { id, address: bound } = this.#shared.listen({ ...CONFIG, address, reusePort }, this.#owner);
      this.#listener = { id, address: addressInfo(bound) };
    } catch (error) {
      this.#state = 'idle';
      this.#shared.release();
      await this.#shared.leave();
      throw error;
    }
    this.#state = 'listening';
    return this;
  }

  /**
   * Closes a connection, as its method `close` does.
   *
   * @throws {TypeError} if the argument is not a connection
   */
  closeConnection(connection: TCPConnection): boolean {
    if (!(connection instanceof TCPConnection)) {
      throw new TypeError("argument 'connection' must be a TCPConnection");
    }
    return connection.close();
  }

  /**
   * Stops listening and closes all connections, each after everything written on it has been sent. Connections that
   * have not ended after five seconds are cut. Resolves after the last `onClose`. Does nothing if the server does not
   * listen; if it is about to listen, it waits for that first.
   */
  close(): Promise<void> {
    return this.#stop(CLOSE_TIMEOUT_MS);
  }

  #stop(drainMs: number): Promise<void> {
    if (this.#state === 'listening') this.#closing = this.#close(drainMs);
    else if (this.#state === 'starting') {
      this.#closing = this.#starting.then(() => (this.#state === 'idle' ? undefined : this.#stop(drainMs)));
    }
    return this.#closing;
  }

  /**
   * Resolves when the server is closed, for whatever reason, after the last `onClose`. Resolves at once if the server does
   * not listen.
   */
  get stopped(): Promise<void> {
    return this.#cycle.stopped;
  }

  /**
   * After this call, SIGINT and SIGTERM (on Windows also SIGBREAK and SIGHUP) close the server whenever it listens, as
   * `close()` does. A second signal ends the process at once, with the exit code 128 plus the signal's number. `drain`
   * is the time in milliseconds after which connections are cut, default 5,000. Only the first call counts. Worker
   * threads get no signals: call this on the main thread.
   *
   * @throws {TypeError} naming what is wrong with the options
   */
  stopOnSignals(options?: DrainOptions): void {
    parseDrainOptions(options);
    this.#cycle.stopOnSignals(options);
  }

  /** The same as `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(drainMs: number): Promise<void> {
    const { id } = this.#listener as { id: number };
    this.#state = 'closing';
    this.#shared.native.stopAccepting([id]);
    const empty = new Promise<void>((resolve) => {
      this.#whenEmpty = resolve;
    });
    for (const connection of [...this.connections.values()]) connection.close();
    if (this.connections.size === 0) this.#whenEmpty();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, drainMs);
    });
    await Promise.race([empty, late]);
    clearTimeout(timer);
    // this cuts the remaining connections, whose end is reported like any other
    await this.#shared.stop(id);
    await empty;
    await this.#shared.leave();
    this.#shared.release();
    this.#listener = undefined;
    this.#state = 'idle';
    this.#cycle.end();
  }

  /** What the thread's gateway reports. */
  readonly #owner: StreamOwner = {
    came: (peer, link) => {
      // the connection is cut together with the listener
      if (this.#state !== 'listening') return undefined;
      const connection = new TCPConnection(link, peer, this.#plan, this.#keeper);
      this.connections.set(connection.fd, connection);
      return connection;
    },
    fails: (error) => {
      if (this.onError === null) return false;
      this.#tell(error);
      return true;
    },
  };

  /** What the connections report. */
  readonly #keeper: Keeper = {
    call: (callback, connection) => this.#call(callback, connection),
    failed: (error, connection) => this.#failed(error, connection),
    gone: (connection) => {
      this.connections.delete(connection.fd);
      this.#call('onClose', connection);
      if (this.connections.size === 0) this.#whenEmpty();
    },
  };

  #call(name: 'onConnection' | 'onData' | 'onEnd' | 'onDrain' | 'onClose', connection: TCPConnection): void {
    const callback = this[name];
    if (callback === null || callback === undefined) return;
    try {
      const result: unknown = callback.call(this, connection);
      if (typeof (result as Promise<void> | undefined)?.then !== 'function') return;
      connection.begins();
      Promise.resolve(result)
        .catch((error: unknown) => this.#failed(error, connection))
        .then(() => connection.settles());
    } catch (error) {
      this.#failed(error, connection);
    }
  }

  #failed(thrown: unknown, connection: TCPConnection): void {
    const error = thrown instanceof Error ? thrown : new Error(readable(thrown), { cause: thrown });
    this.#tell(error, connection);
    connection.close();
  }

  #tell(error: Error, connection?: TCPConnection): void {
    if (this.onError === null || this.onError === undefined) return printed('a callback failed', error);
    try {
      this.onError.call(this, error, connection);
    } catch (thrown) {
      printed('a callback failed', error);
      printed('onError failed', thrown);
    }
  }
}

function printed(what: string, cause: unknown): void {
  print(new MillraceError('ERR_MILLRACE_HANDLER_FAILED', `${what}: ${readable(cause)}`, { cause }));
}

/** The options of its listener, without the address. */
const CONFIG = {
  protocol: 'tcp',
  options: { framing: 'none', asStream: true },
  backlog: 1024,
};

/** Time for connections to end after their server was closed, in milliseconds. */
const CLOSE_TIMEOUT_MS = 5_000;
