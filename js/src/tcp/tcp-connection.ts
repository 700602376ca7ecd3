/** One connection of a TCP server. Owns received and written data. Calls only its server. */

import { MillraceError } from '../errors.js';
import { shown } from '../options/fields.js';
import type { PeerInfo } from '../worker/peer.js';
import { Received } from './received.js';
import type { Link } from './tcp-link.js';
import { checkData, checkMax, type ServerPlan } from './tcp-options.js';
import { Outgoing } from './tcp-outgoing.js';

/** The server of a connection. */
export interface Keeper {
  /** Calls a callback, if it is set. */
  call(callback: 'onConnection' | 'onData' | 'onEnd' | 'onDrain', connection: TCPConnection): void;
  /** Reports that a callback of the connection failed. */
  failed(error: unknown, connection: TCPConnection): void;
  /** Reports that the connection has ended. */
  gone(connection: TCPConnection): void;
}

/** A connection of a client to a {@link TCPServer}. */
export class TCPConnection {
  /**
   * The connection's id: a number that no other connection to this thread's servers has or will get. It is not a
   * descriptor of the system.
   */
  readonly fd: number;
  /** The address of the client. */
  readonly remoteAddr: string;
  /** The port of the client. */
  readonly remotePort: number;
  readonly #link: Link;
  readonly #plan: ServerPlan;
  readonly #keeper: Keeper;
  readonly #received = new Received();
  readonly #outgoing: Outgoing;
  #state: 'open' | 'closing' | 'closed' = 'open';
  /** Whether it is not read, because too much data waits to be taken. */
  #isHeld = false;
  /** Whether the client has sent its last byte. */
  #hasEnded = false;
  /** Promises of callbacks that are pending. */
  #pending = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @internal */
  constructor(link: Link, peer: PeerInfo, plan: ServerPlan, keeper: Keeper) {
    this.fd = link.socketId;
    this.remoteAddr = peer.remoteAddress ?? '';
    this.remotePort = peer.remotePort ?? 0;
    this.#link = link;
    this.#plan = plan;
    this.#keeper = keeper;
    this.#outgoing = new Outgoing(link.worker, link.socketId, plan.writeLimit, () => this.#tellOfRoom());
  }

  /** Whether the connection is closed, or will be as soon as everything written has been sent. */
  get closed(): boolean {
    return this.#state !== 'open';
  }

  /**
   * The received data that was not taken, as text. Assign what you leave of it. An incomplete character at the end is
   * not in it until its rest arrives. Bytes that are not UTF-8 become U+FFFD. Data that was read here as text is no
   * longer in `bytes`.
   *
   * @throws {TypeError} if another value than a string is assigned
   */
  get buffer(): string {
    return this.#received.text;
  }

  /** Replaces the received data by this text. */
  set buffer(text: string) {
    if (typeof text !== 'string') throw new TypeError(`property 'buffer' must be a string, not ${shown(text)}`);
    this.#received.text = text;
    this.#lookAtLimit();
  }

  /**
   * The received data that was not taken, as bytes, for binary protocols. Assign what you leave of it. Data that was
   * read before as text, by `buffer` or `read`, is not in it.
   *
   * @throws {TypeError} if another value than bytes is assigned
   */
  get bytes(): Buffer {
    return this.#received.bytes;
  }

  /** Replaces the received data by these bytes. */
  set bytes(bytes: Uint8Array) {
    if (!(bytes instanceof Uint8Array)) {
      throw new TypeError(`property 'bytes' must be a Uint8Array, not ${shown(bytes)}`);
    }
    this.#received.bytes = Buffer.isBuffer(bytes)
      ? bytes
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#lookAtLimit();
  }

  /**
   * Takes text from the front of `buffer`. Null: there is none.
   *
   * @param max the most characters to take, in UTF-16 units; one more if that would split a character. Default 8192
   * @throws {TypeError} if `max` is not a whole number of at least 1
   */
  read(max = 8192): string | null {
    checkMax(max);
    const text = this.#received.takeText(max);
    this.#lookAtLimit();
    return text;
  }

  /**
   * Takes bytes from the front of `bytes`. Null: there are none.
   *
   * @param max the most bytes to take. Default 8192
   * @throws {TypeError} if `max` is not a whole number of at least 1
   */
  readBytes(max = 8192): Buffer | null {
    checkMax(max);
    const bytes = this.#received.takeBytes(max);
    this.#lookAtLimit();
    return bytes;
  }

  /**
   * Sends bytes, or a text as UTF-8. Never waits: it takes as much as there is room for and returns that number of
   * bytes. If it returns less than was given, write the rest again when `onDrain` is called. -1: the connection is
   * closed. Of a text it takes whole characters; the rest is `Buffer.from(text).subarray(taken)`.
   *
   * @throws {TypeError} if `data` is neither a string, an ArrayBuffer nor a view of one
   */
  write(data: string | ArrayBuffer | ArrayBufferView): number {
    checkData(data);
    if (this.#state !== 'open') return -1;
    if (typeof data === 'string') return data === '' ? 0 : this.#outgoing.writeText(data);
    return data.byteLength === 0 ? 0 : this.#outgoing.writeBytes(data);
  }

  /**
   * Closes the connection as soon as everything written has been sent. Data that still arrives is ignored. `onClose`
   * follows. Returns false if it was closed already.
   */
  close(): boolean {
    if (this.#state !== 'open') return false;
    this.#state = 'closing';
    this.#hold(false);
    clearTimeout(this.#timer);
    const { gateway, socketId } = this.#link;
    if (!this.#outgoing.close()) gateway.close(socketId, NORMAL);
    return true;
  }

  // What the server and the native side report.

  /** @internal The connection is open. */
  opened(): void {
    this.#keeper.call('onConnection', this);
  }

  /** @internal */
  received(data: Buffer): void {
    if (this.#state !== 'open') return;
    this.#received.push(data);
    this.#keeper.call('onData', this);
    this.#lookAtLimit();
  }

  /** @internal The client has sent its last byte. */
  inputEnded(): void {
    if (this.#state !== 'open') return;
    this.#hasEnded = true;
    this.#received.end();
    this.#restartTimer();
    this.#keeper.call('onEnd', this);
    this.#closeWhenDone();
  }

  /** @internal The bytes of the last note have been sent. */
  written(): void {
    const hasRoom = this.#outgoing.noted();
    if (this.#hasEnded) this.#restartTimer();
    if (hasRoom) this.#tellDrained();
  }

  /** @internal A callback returned a promise. */
  begins(): void {
    this.#pending += 1;
  }

  /** @internal A promise of a callback is settled. */
  settles(): void {
    this.#pending -= 1;
    this.#closeWhenDone();
  }

  /** @internal The socket is closed. */
  gone(): void {
    this.#state = 'closed';
    clearTimeout(this.#timer);
    this.#keeper.gone(this);
  }

  #tellOfRoom(): void {
    if (this.#outgoing.takeRoom()) this.#tellDrained();
  }

  #tellDrained(): void {
    if (this.#state !== 'open') return;
    this.#keeper.call('onDrain', this);
    this.#closeWhenDone();
  }

  /**
   * Closes a connection whose client has sent its last byte, when no callback is pending and nothing is left to write.
   */
  #closeWhenDone(): void {
    if (this.#hasEnded && this.#pending === 0 && !this.#outgoing.isShort) this.close();
  }

  /** Stops reading while too much data waits to be taken, and resumes it. */
  #lookAtLimit(): void {
    const isTooMuch = this.#received.size >= this.#plan.bufferLimit;
    if (isTooMuch !== this.#isHeld && this.#state === 'open') this.#hold(isTooMuch);
  }

  #hold(isHeld: boolean): void {
    if (isHeld === this.#isHeld) return;
    this.#isHeld = isHeld;
    const { worker, socketId } = this.#link;
    if (isHeld) worker.hold(socketId, ALL_EVENTS, 0);
    else worker.release(socketId, ALL_EVENTS, 0);
  }

  /** Restarts the time limit of pending promises. The native side deals with a peer that does not read. */
  #restartTimer(): void {
    clearTimeout(this.#timer);
    if (this.#state !== 'open') return;
    const ms = this.#plan.endTimeoutMs;
    this.#timer = setTimeout(() => {
      if (this.#pending === 0) return;
      const message = `a callback took longer than ${ms} ms after the end of connection ${this.fd}`;
      this.#keeper.failed(new MillraceError('ERR_MILLRACE_HANDLER_TIMEOUT', message), this);
    }, ms);
  }
}

/** More events than the native side leaves unhandled at any limit. */
const ALL_EVENTS = 2 ** 30;

/** RFC 6455 7.4.1. */
const NORMAL = 1000;
