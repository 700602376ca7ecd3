/** One connection of a TCP server. Owns what came and what was written; calls nobody but its server. */

import { MillraceError } from '../errors.js';
import { shown } from '../options/fields.js';
import type { PeerInfo } from '../worker/peer.js';
import { Received } from './received.js';
import type { Link } from './tcp-link.js';
import { checkData, checkMax, type ServerPlan } from './tcp-options.js';
import { Outgoing } from './tcp-outgoing.js';

/** What a connection tells its server. */
export interface Keeper {
  /** Calls a callback, if there is one. */
  call(callback: 'onConnection' | 'onData' | 'onEnd' | 'onDrain', connection: TCPConnection): void;
  /** Something of its callbacks failed. */
  failed(error: unknown, connection: TCPConnection): void;
  /** It has ended. */
  gone(connection: TCPConnection): void;
}

/** A connection of a client to a {@link TCPServer}. */
export class TCPConnection {
  /** Its id: a number that no other connection to this thread's servers has or gets. It is no descriptor of the system. */
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
  /** It is not read, because too much waits to be taken. */
  #isHeld = false;
  /** The client has sent its last byte. */
  #hasEnded = false;
  /** Promises of callbacks that are not settled. */
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

  /** Whether it is closed, or will be as soon as all that was written has left. */
  get closed(): boolean {
    return this.#state !== 'open';
  }

  /**
   * What has come and was not taken, as text: assign what is left of it. A character that came only in part is not in it before
   * its rest has come; bytes that are no UTF-8 are U+FFFD. What this makes text is no longer in `bytes`.
   *
   * @throws {TypeError} if something else than a string is assigned
   */
  get buffer(): string {
    return this.#received.text;
  }

  /** Keeps this in the place of what has come, as text. */
  set buffer(text: string) {
    if (typeof text !== 'string') throw new TypeError(`property 'buffer' must be a string, not ${shown(text)}`);
    this.#received.text = text;
    this.#lookAtLimit();
  }

  /**
   * The same as bytes, for protocols that are no text: assign what is left of it. What was made text before, by `buffer` or
   * `read`, is not in it.
   *
   * @throws {TypeError} if something else than bytes is assigned
   */
  get bytes(): Buffer {
    return this.#received.bytes;
  }

  /** Keeps this in the place of what has come, as bytes. */
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
   * Takes text from the front of `buffer`; null: there is none.
   *
   * @param max characters at most (UTF-16 units; one more where that would cut one). Default 8192
   * @throws {TypeError} if `max` is no whole number of 1 or more
   */
  read(max = 8192): string | null {
    checkMax(max);
    const text = this.#received.takeText(max);
    this.#lookAtLimit();
    return text;
  }

  /**
   * Takes bytes from the front of `bytes`; null: there are none.
   *
   * @param max bytes at most. Default 8192
   * @throws {TypeError} if `max` is no whole number of 1 or more
   */
  readBytes(max = 8192): Buffer | null {
    checkMax(max);
    const bytes = this.#received.takeBytes(max);
    this.#lookAtLimit();
    return bytes;
  }

  /**
   * Sends bytes, or a text as UTF-8. Never waits: it takes what there is room for and returns how many bytes that were. Less than
   * was given, or 0: the rest is to be written again once `onDrain` is called. -1: the connection is closed. Of a text it takes
   * whole characters: `Buffer.from(text).subarray(taken)` is its rest.
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
   * Ends it as soon as all that was written has left; what still comes counts no more. `onClose` follows. False: it was closed
   * already.
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

  // What its server and the native side tell.

  /** @internal It is there. */
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

  /** @internal What was asked about has left. */
  written(): void {
    const hasRoom = this.#outgoing.noted();
    if (this.#hasEnded) this.#restartTimer();
    if (hasRoom) this.#tellDrained();
  }

  /** @internal A callback returned a promise. */
  begins(): void {
    this.#pending += 1;
  }

  /** @internal It is settled. */
  settles(): void {
    this.#pending -= 1;
    this.#closeWhenDone();
  }

  /** @internal Its socket is gone. */
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

  /** The client has sent its last byte: it is answered when no callback has anything to do and nothing is left to be written. */
  #closeWhenDone(): void {
    if (this.#hasEnded && this.#pending === 0 && !this.#outgoing.isShort) this.close();
  }

  /** Has it not read while too much waits to be taken. */
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

  /** How long promises may take; a peer that does not read is the native side's affair. */
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

/** More events than the native side leaves unhandled, whatever its limit. */
const ALL_EVENTS = 2 ** 30;

/** RFC 6455 7.4.1. */
const NORMAL = 1000;
