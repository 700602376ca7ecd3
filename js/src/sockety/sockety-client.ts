/** Connects to Sockety servers. Owns a connection until it has a socket, and the time limit for that. */

import { promises as dns } from 'node:dns';
import { isIP } from 'node:net';
import { getSystemErrorName } from 'node:util';

import type { DialFailed } from '../addon/native-interface.js';
import { nothing } from '../log/quiet.js';
import { Connection } from './sockety-connection.js';
import { SocketyError } from './sockety-errors.js';
import { Shared } from './sockety-gateway.js';
import {
  type ClientPlan,
  type ConnectOptions,
  loadClientTls,
  parseConnect,
  type SecureConnectOptions,
} from './sockety-options.js';

/**
 * Connects to a server. Failures are reported by an `error` event.
 *
 * @throws {TypeError} naming what is wrong with the arguments
 */
export function connect(options: ConnectOptions): Connection;
export function connect(port: number | string, options?: ConnectOptions): Connection;
export function connect(port: number | string, host: string, options?: ConnectOptions): Connection;
export function connect(...given: unknown[]): Connection {
  return begin(parseConnect(given, false));
}

/**
 * Connects to a server with TLS. Failures are reported by an `error` event.
 *
 * @throws {TypeError} naming what is wrong with the arguments
 */
export function secureConnect(options: SecureConnectOptions): Connection;
export function secureConnect(port: number | string, options?: SecureConnectOptions): Connection;
export function secureConnect(port: number | string, host: string, options?: SecureConnectOptions): Connection;
export function secureConnect(...given: unknown[]): Connection {
  return begin(parseConnect(given, true));
}

function begin(plan: ClientPlan): Connection {
  const dialling = new Dialling(plan);
  dialling.run();
  return dialling.connection;
}

class Dialling {
  readonly connection: Connection;
  readonly #plan: ClientPlan;
  readonly #shared = Shared.get();
  /** The id that closes the connection. */
  #id: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(plan: ClientPlan) {
    this.#plan = plan;
    this.connection = new Connection({ hangUp: () => this.#hangUp(), ended: () => this.#closed() });
  }

  run(): void {
    const { signal, terms } = this.#plan;
    const { connectTimeout } = terms;
    this.#shared.hold();
    if (connectTimeout > 0) {
      const late = () =>
        this.#fail(new SocketyError('ERR_SOCKETY_TIMEOUT', `No header came within ${connectTimeout} ms.`));
      this.#timer = setTimeout(late, connectTimeout);
      this.#timer.unref();
    }
    this.#dial().catch((error: Error) => this.#fail(error));
    if (signal === undefined) return;
    if (signal.aborted) this.#abort();
    else signal.addEventListener('abort', this.#abort, { once: true });
  }

  async #dial(): Promise<void> {
    const { terms, tls } = this.#plan;
    const [place, clientTls] = await Promise.all([
      this.#place(),
      tls === undefined ? undefined : loadClientTls(tls),
      this.#shared.enter(),
    ]);
    if (this.connection.closed) return;
    const owner = {
      maxDataSize: terms.maxDataSize,
      connectionOf: () => this.connection,
      ready: () => clearTimeout(this.#timer),
    };
    const failed = (failure: DialFailed) => this.#fail(errorOf(failure, this.#plan));
    this.#id = this.#shared.dial({ ...terms.config, ...place, clientTls }, owner, failed);
  }

  /** The address of the server in the form of the native side. */
  async #place(): Promise<Record<string, unknown>> {
    const { to } = this.#plan;
    if ('path' in to) return { path: to.path };
    const { host, port, family, local } = to;
    const found = await dns.lookup(host, { all: true, family });
    const addresses = found.map(({ address, family }) =>
      family === 6 ? `[${address}]:${port}` : `${address}:${port}`,
    );
    return { addresses, local };
  }

  readonly #abort = (): void => {
    const reason: unknown = this.#plan.signal?.reason;
    // by the next tick, the application has added its listeners
    process.nextTick(() => this.#fail(reason instanceof Error ? reason : new Error(String(reason))));
  };

  #fail(error: Error): void {
    if (this.connection.closed) return;
    this.#hangUp();
    this.connection.ended(error);
  }

  #hangUp(): void {
    if (this.#id !== undefined) this.#shared.stop(this.#id).catch(nothing);
    this.#id = undefined;
  }

  #closed(): void {
    clearTimeout(this.#timer);
    this.#plan.signal?.removeEventListener('abort', this.#abort);
    this.#hangUp();
    this.#shared.release();
    this.#shared.leave().catch(nothing);
  }
}

/** The error for a server that was not reached. If the system reported the error, it is in the form of Node.js. */
function errorOf(failure: DialFailed, { to }: ClientPlan): Error {
  const { errno, message, isTls, isLate, address, port } = failure;
  const place =
    'path' in to
      ? to.path
      : address === undefined
        ? to.host
        : `${isIP(address) === 6 ? `[${address}]` : address}:${port}`;
  if (isTls) return new SocketyError('ERR_SOCKETY_TLS', `TLS with ${place} failed: ${message}`);
  if (isLate && errno === undefined) return new SocketyError('ERR_SOCKETY_TIMEOUT', `${place} did not answer in time.`);
  if (errno === undefined) return new SocketyError('ERR_SOCKETY_CLOSED', `${place} could not be reached: ${message}`);
  const code = nameOf(errno);
  const where = 'path' in to ? { address: to.path } : { address, port };
  return Object.assign(new Error(`connect ${code} ${place}`), { code, errno: -errno, syscall: 'connect', ...where });
}

function nameOf(errno: number): string {
  try {
    return getSystemErrorName(-errno);
  } catch {
    return `E${errno}`;
  }
}
