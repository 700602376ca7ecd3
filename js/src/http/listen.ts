/** `app.listen`: its arguments, and the server that it returns at once. Owns which gateway an app runs on. */

import { binding } from '../addon/binding.js';
import { ownWorkerData } from '../addon/runtime.js';
import { Gateway, type StartOptions, threadGateway } from '../gateway/gateway.js';
import type { Server } from '../gateway/server.js';
import { type StopOptions, stopOnSignals } from '../gateway/signals.js';
import type { Stats } from '../gateway/stats.js';
import { nothing } from '../log/quiet.js';
import { readable } from '../log/report.js';
import { parseStopOptions } from '../options/server-options.js';

/** What `app.listen` takes instead of a port: the options of `start`, except those about workers. */
export type ListenOptions = Omit<StartOptions, 'workerPath' | 'threads' | 'workerArg' | 'handlers'>;

/** Called once: when the app listens, or with the reason why it does not. */
export type ListenCallback = (error?: unknown) => void;

/** An app that listens, or is about to. */
export class AppServer {
  /** Resolves with the server when it listens. Rejects when it cannot. */
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
    // who has a callback is told there
    if (callback !== undefined) this.ready.then(() => callback(), callback);
  }

  /** What was bound: `"127.0.0.1:3000"`. Empty until then. */
  get addresses(): string[] {
    return this.#server === undefined ? [] : [...this.#server.addresses];
  }

  /** The first of `addresses`. */
  get address(): string | undefined {
    return this.#server?.addresses[0];
  }

  /** What the sockets of the app belong to: its `send`, `subscribe` and so on reach them. */
  get gateway(): Gateway {
    return this.#gateway;
  }

  /** As `stats()` of the gateway. */
  stats(): Stats {
    return this.#gateway.stats();
  }

  /** As `stopped` of a server of `start`. Also resolves if it does not listen. */
  get stopped(): Promise<void> {
    return this.#starting.then(({ stopped }) => stopped, nothing);
  }

  /** As `stopOnSignals` of a server of `start`; also for signals that come before it listens. */
  stopOnSignals(options?: StopOptions): void {
    parseStopOptions(options);
    stopOnSignals(this.#starting, options);
  }

  /** `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * Stops listening, lets answers that are under way be finished and outboxes drain for at most `drain` milliseconds
   * (default 5,000), and closes the connections.
   */
  async close(options?: StopOptions): Promise<void> {
    const server = await this.#starting.catch(() => undefined);
    await server?.stop(options);
    this.#whenClosed();
  }
}

/**
 * The arguments of `app.listen`.
 *
 * @throws {TypeError} naming the one that is wrong
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
 * The gateway for an app. The first one gets that of the module functions, so that `send` and the others mean its
 * sockets, unless the application has started that itself: then, and for every other app, it is one of its own.
 */
export function gatewayFor(app: object): Gateway {
  const gateway = threadGateway();
  // in a worker nobody listens, and starting says so
  if (ownWorkerData() !== undefined) return gateway;
  if (owner === undefined && !gateway.isRunning) owner = app;
  if (owner === app) return gateway;
  const made = binding().createGateway();
  return Gateway.create(made.gateway, made.id);
}

/** The app that has the default gateway. */
let owner: object | undefined;
