/**
 * `app.listen`: parses its arguments and makes the server that it returns at once. Decides which gateway an app runs
 * on.
 */

import { binding } from '../addon/binding.js';
import { ownWorkerData } from '../addon/runtime.js';
import { Gateway, type StartOptions } from '../gateway/gateway.js';
import type { Server } from '../gateway/server.js';
import { type StopOptions, stopOnSignals } from '../gateway/signals.js';
import type { Stats } from '../gateway/stats.js';
import { threadGateway } from '../gateway/thread-gateway.js';
import { nothing } from '../log/quiet.js';
import { readable } from '../log/report.js';
import { parseStopOptions } from '../options/server-options.js';

/** Options of `app.listen` in place of a port: those of `start`, except the options about workers. */
export type ListenOptions = Omit<StartOptions, 'workerPath' | 'threads' | 'workerArg' | 'handlers'>;

/** Called once, when the app listens, or with the error because of which it does not. */
export type ListenCallback = (error?: unknown) => void;

/** The server of an app that listens or starts to. */
export class AppServer {
  /** Resolves with the server when it listens. Rejects if it cannot. */
  readonly ready: Promise<this>;
  readonly #gateway: Gateway;
  readonly #starting: Promise<Server>;
  readonly #whenClosed: () => void;
  #server: Server | undefined;

  /** @internal */
  constructor(
    gateway: Gateway,
    options: StartOptions,
    callback: ListenCallback | undefined,
    whenClosed: (server: AppServer) => void,
  ) {
    this.#gateway = gateway;
    this.#whenClosed = () => whenClosed(this);
    this.#starting = gateway.start(options);
    this.ready = this.#starting.then((server) => {
      this.#server = server;
      return this;
    });
    this.#starting.catch(this.#whenClosed);
    // the callback gets the error, so the promise may stay unhandled
    if (callback !== undefined) this.ready.then(() => callback(), callback);
  }

  /** The bound addresses: `"127.0.0.1:3000"`. Empty until the server listens. */
  get addresses(): string[] {
    return this.#server === undefined ? [] : [...this.#server.addresses];
  }

  /** The first of `addresses`. */
  get address(): string | undefined {
    return this.#server?.addresses[0];
  }

  /** The gateway of the app's sockets. Its `send`, `subscribe` and other methods reach these. */
  get gateway(): Gateway {
    return this.#gateway;
  }

  /** The same as `stats()` of the gateway. */
  stats(): Stats {
    return this.#gateway.stats();
  }

  /** The same as `stopped` of a server of `start`. It also resolves if the server cannot listen. */
  get stopped(): Promise<void> {
    return this.#starting.then(({ stopped }) => stopped, nothing);
  }

  /** The same as `stopOnSignals` of a server of `start`. Signals that arrive before the server listens count, too. */
  stopOnSignals(options?: StopOptions): void {
    parseStopOptions(options);
    stopOnSignals(this.#starting, options);
  }

  /** The same as `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * Stops listening, lets pending answers finish and outboxes drain for at most `drain` milliseconds (default 5,000),
   * and closes the connections.
   */
  async close(options?: StopOptions): Promise<void> {
    const server = await this.#starting.catch(() => undefined);
    await server?.stop(options);
    this.#whenClosed();
  }
}

/**
 * Parses the arguments of `app.listen`.
 *
 * @throws {TypeError} naming the wrong argument
 */
export function parseListen(given: readonly unknown[]): {
  options: ListenOptions;
  callback: ListenCallback | undefined;
} {
  const rest = [...given];
  const callback = typeof rest.at(-1) === 'function' ? (rest.pop() as ListenCallback) : undefined;
  const [first, host] = rest;
  if (typeof first === 'object' && first !== null) {
    for (const name of ['workerPath', 'threads', 'workerArg', 'handlers']) {
      if (name in first) {
        throw new TypeError(
          `listen: options.${name} is for 'start', with the app as the default export of a worker module`,
        );
      }
    }
    return { options: first as ListenOptions, callback };
  }
  return { options: { bind: addressOf(first, host) }, callback };
}

function addressOf(port: unknown, host: unknown): string {
  const number = port === undefined ? 0 : typeof port === 'string' && port.trim() !== '' ? Number(port) : port;
  if (typeof number !== 'number' || !Number.isInteger(number) || number < 0 || number > 65_535) {
    throw new TypeError(`listen: argument 'port' must be a whole number from 0 to 65535, not ${readable(port)}`);
  }
  if (host !== undefined && typeof host !== 'string') {
    throw new TypeError(`listen: argument 'host' must be an IP address or 'localhost', not ${readable(host)}`);
  }
  const name = host || '0.0.0.0';
  return name.includes(':') && !name.startsWith('[') ? `[${name}]:${number}` : `${name}:${number}`;
}

/**
 * The gateway of an app. The first app gets the default gateway, so that `send` and the other module functions reach
 * its sockets, unless the application has started that gateway itself. In that case, and for every other app, the
 * gateway is a new one.
 */
export function gatewayFor(app: object): Gateway {
  const gateway = threadGateway();
  // in a worker, `start` refuses to run and says why
  if (ownWorkerData() !== undefined) return gateway;
  if (owner === undefined && !gateway.isRunning) owner = app;
  if (owner === app) return gateway;
  const made = binding().createGateway();
  return Gateway.create(made.gateway, made.id);
}

/** The app that uses the default gateway. */
let owner: object | undefined;
