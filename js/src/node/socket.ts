/**
 * `req.socket`: a stream in place of a connection, of which a request has only its own part. Knows the peer's address.
 * Passes written data to the carrier of the answer.
 */

import type { Server } from 'node:http';
import { Duplex } from 'node:stream';
import { MillraceError } from '../errors.js';

/** The object that does what the socket is asked for. */
export interface Carrier {
  readonly ip: string;
  readonly port: number;
  readonly local: { address: string; port: number } | undefined;
  /** Bytes of the request's body, and of its answer, so far. */
  readonly bytesRead: number;
  readonly bytesWritten: number;
  /** Bytes that were written and not taken yet. */
  readonly waiting: number;
  write(chunk: string | Uint8Array, encoding: BufferEncoding | undefined, done: Done | undefined): boolean;
  /** Data that `cork` held back may be passed on. */
  uncorked(): void;
  /** Requests more of the request's body. */
  resume(): void;
  /** Cuts the connection. */
  cut(): void;
  /** Reports that nothing was received or sent for the time that was set. */
  timeout(): void;
  /** Reports that a listener's promise was rejected. */
  failed(error: unknown): void;
}

/** The callback of a write. */
export type Done = (error?: Error | null) => void;

/** See the module. */
export class RequestSocket extends Duplex {
  readonly #carrier: Carrier;
  #timer: NodeJS.Timeout | undefined;
  /** As in `net.Socket`. */
  timeout: number | undefined = undefined;
  readonly connecting = false;
  readonly pending = false;
  readonly parser = null;
  /** As in `net.Socket`: the server whose listener is called. It has no connections. */
  readonly server: Server;

  constructor(carrier: Carrier, server: Server) {
    super(OPTIONS);
    this.#carrier = carrier;
    this.server = server;
  }

  get remoteAddress(): string | undefined {
    return this.#carrier.ip === '' ? undefined : this.#carrier.ip;
  }

  get remotePort(): number | undefined {
    return this.#carrier.ip === '' ? undefined : this.#carrier.port;
  }

  get remoteFamily(): string | undefined {
    return familyOf(this.remoteAddress);
  }

  get localAddress(): string | undefined {
    return this.#carrier.local?.address;
  }

  get localPort(): number | undefined {
    return this.#carrier.local?.port;
  }

  get localFamily(): string | undefined {
    return familyOf(this.localAddress);
  }

  /** As in `net.Socket`. */
  address(): { address?: string; family?: string; port?: number } {
    const { local } = this.#carrier;
    if (local === undefined) return {};
    return { address: local.address, family: familyOf(local.address) as string, port: local.port };
  }

  get bytesRead(): number {
    return this.#carrier.bytesRead;
  }

  get bytesWritten(): number {
    return this.#carrier.bytesWritten;
  }

  get readyState(): string {
    return this.destroyed ? 'closed' : 'open';
  }

  get bufferSize(): number {
    return this.#carrier.waiting;
  }

  /** Writes a part of the answer in the form of `ServerResponse`. */
  override write(chunk: unknown, encoding?: unknown, callback?: unknown): boolean {
    const given = typeof encoding === 'function' ? encoding : callback;
    // `ServerResponse` may pass null
    const done = typeof given === 'function' ? (given as Done) : undefined;
    const coding = typeof encoding === 'string' ? (encoding as BufferEncoding) : undefined;
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) {
      throw new TypeError(`chunk must be a string or a Uint8Array, not ${typeof chunk}`);
    }
    if (this.destroyed) {
      if (done !== undefined) process.nextTick(done, new Error('The socket has been ended'));
      return false;
    }
    this.touch();
    return this.#carrier.write(chunk, coding, done);
  }

  override end(chunk?: unknown, encoding?: unknown, callback?: unknown): this {
    const done = [chunk, encoding, callback].find((one) => typeof one === 'function') as Done | undefined;
    if (chunk !== undefined && chunk !== null && typeof chunk !== 'function') this.write(chunk, encoding);
    if (done !== undefined) this.once('finish', done as () => void);
    process.nextTick(() => this.destroy());
    return this;
  }

  /** As in `net.Socket`: data that was written is still sent. */
  destroySoon(): void {
    this.end();
  }

  override uncork(): void {
    super.uncork();
    if (this.writableCorked === 0) this.#carrier.uncorked();
  }

  override resume(): this {
    this.#carrier.resume();
    return this;
  }

  override pause(): this {
    return this;
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    clearTimeout(this.#timer);
    this.#carrier.cut();
    callback(error);
    // as the socket's handle does: after the events that are due now
    setImmediate(emitClose, this, error !== null);
  }

  setTimeout(ms: number, callback?: () => void): this {
    this.timeout = ms;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (ms > 0) {
      this.#timer = setTimeout(() => {
        // the order of `net.Socket`, to which the server listens first
        this.#carrier.timeout();
        this.emit('timeout');
      }, ms);
      this.#timer.unref();
      if (callback !== undefined) this.once('timeout', callback);
    } else if (callback !== undefined) {
      this.removeListener('timeout', callback);
    }
    return this;
  }

  /** Reports that a listener's promise was rejected. */
  failed(error: unknown): void {
    this.#carrier.failed(error);
  }

  /** Restarts the timer, because something was received or sent. */
  touch(): void {
    this.#timer?.refresh();
  }

  /** Stops the timer for good. */
  settle(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  // Methods that do nothing, because the gateway does their work or has no use for it.

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  override read(): never {
    throw noSocket('read');
  }

  // biome-ignore lint/suspicious/noExplicitAny: as its base has it
  override on(event: string | symbol, listener: (...args: any[]) => void): this {
    if (event === 'data' || event === 'readable') throw noSocket(`on('${event}')`);
    return super.on(event, listener);
  }
}

// accessors, because Node's types declare them as properties
Object.defineProperty(RequestSocket.prototype, 'writableLength', {
  get(this: RequestSocket) {
    return this.bufferSize;
  },
  configurable: true,
});
Object.defineProperty(RequestSocket.prototype, 'addListener', {
  value: RequestSocket.prototype.on,
  configurable: true,
  writable: true,
});

/** The socket of a request that came over TLS. */
export class SecureRequestSocket extends RequestSocket {
  /** As in `tls.TLSSocket`. */
  readonly encrypted = true;
}

/** Members that need a connection of one's own. */
const MISSING = ['connect', 'resetAndDestroy', 'pipe'] as const;

/** Members that need more information about TLS than a request has. */
const MISSING_OF_TLS = [
  'getPeerCertificate',
  'getPeerX509Certificate',
  'getCertificate',
  'getX509Certificate',
  'getCipher',
  'getEphemeralKeyInfo',
  'getFinished',
  'getPeerFinished',
  'getProtocol',
  'getSession',
  'getSharedSigalgs',
  'getTLSTicket',
  'isSessionReused',
  'renegotiate',
  'exportKeyingMaterial',
  'setMaxSendFragment',
  'enableTrace',
  'disableRenegotiation',
] as const;

forbid(RequestSocket.prototype, MISSING);
forbid(SecureRequestSocket.prototype, MISSING_OF_TLS);

function forbid(prototype: object, names: readonly string[]): void {
  for (const name of names) {
    const value = (): never => {
      throw noSocket(name);
    };
    Object.defineProperty(prototype, name, { value, configurable: true, writable: true });
  }
}

function familyOf(address: string | undefined): string | undefined {
  if (address === undefined) return undefined;
  return address.includes(':') ? 'IPv6' : 'IPv4';
}

function noSocket(what: string): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_NO_NET_SOCKET',
    `req.socket.${what} needs a net.Socket: the connection of a request belongs to the gateway (docs/node-handler.md)`,
  );
}

function emitClose(socket: RequestSocket, hadError: boolean): void {
  socket.emit('close', hadError);
}

const OPTIONS = { allowHalfOpen: true, autoDestroy: false, emitClose: false } as const;
