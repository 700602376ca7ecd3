/**
 * Collects what handlers send while a batch is handled. Short texts that a handler sends to the socket of the message
 * it handles leave in one native call for many of them. A long text that a handler sends on unchanged is sent from the
 * native side's copy. Keeps nothing beyond the running drain.
 */

import type { NativeGateway, NativeWorker } from '../addon/native-interface.js';
import type { Target } from '../gateway/target.js';

/** See the module. */
export class Replies {
  readonly #native: NativeGateway;
  /** Pairs of a socket id and a length in UTF-16 units. */
  readonly #list: Float64Array;
  #texts = '';
  #count = 0;
  /** The socket whose message is being handled. 0: none, or no drain is running. */
  #socket = 0;
  #draining = false;
  readonly #worker: NativeWorker;
  /** The long text that is being handled, and its index among the sidecars. Empty: none. */
  #received = '';
  #place = 0;

  constructor(native: NativeGateway, worker: NativeWorker) {
    this.#native = native;
    this.#worker = worker;
    this.#list = new Float64Array(worker.replyList);
  }

  /** Flushes what must be sent before anything that is sent from now on. */
  first: (() => void) | undefined;

  /** Whether a drain is running. */
  get isDraining(): boolean {
    return this.#draining;
  }

  /** Begins a drain. */
  begin(): void {
    this.#draining = true;
  }

  /** Ends a drain and sends everything that was collected. */
  end(): void {
    this.#draining = false;
    this.#socket = 0;
    this.flush();
  }

  /**
   * Sets the socket whose message is handled next. 0: the next event is something else, after which the socket may be
   * closed.
   */
  handling(socketId: number): void {
    if (this.#draining) this.#socket = socketId;
  }

  /** Sets the long text that is handled next, and its index among the sidecars of the batch. */
  receiving(text: string, place: number): void {
    this.#received = text;
    this.#place = place;
  }

  /** Ends the handling of the long text: its handler has returned or is pending. */
  received(): void {
    this.#received = '';
  }

  /**
   * Whether a text is the long text that is being handled. If it is sent on unchanged, both are the same string, which
   * compares fast.
   */
  isReceived(data: string): boolean {
    return data === this.#received;
  }

  /** Sends the long text that is being handled from the native side's copy. */
  forward(target: Target, except: number | number[] | undefined): number {
    return this.#worker.forward(target, this.#place, except, this.#count, this.release());
  }

  /** Collects a short text to the socket that is being handled. False: the caller has to send it. */
  take(target: unknown, data: unknown): boolean {
    if (target !== this.#socket || this.#socket === 0 || typeof data !== 'string') return false;
    const length = data.length;
    if (length > LONGEST) return false;
    if (this.first !== undefined) this.first();
    // a lone surrogate at the end would join with one at the beginning of the next text
    if ((data.charCodeAt(length - 1) & 0xfc00) === 0xd800) return false;
    const at = this.#count * 2;
    if (at === this.#list.length || this.#texts.length > ENOUGH) {
      this.flush();
      return this.take(target, data);
    }
    this.#list[at] = this.#socket;
    this.#list[at + 1] = length;
    this.#texts += data;
    this.#count += 1;
    return true;
  }

  /** The number of collected texts. */
  get count(): number {
    return this.#count;
  }

  /** Returns the collected texts for the caller to send, and forgets them. */
  release(): string {
    const texts = this.#texts;
    this.#texts = '';
    this.#count = 0;
    return texts;
  }

  /** Sends the collected texts. */
  flush(): void {
    if (this.first !== undefined) this.first();
    const count = this.#count;
    if (count > 0) this.#native.reply(count, this.release());
  }
}

/** Longer texts, in UTF-16 units, are not collected. */
const LONGEST = 1024;

/** The collected UTF-16 units at which the texts are sent. */
const ENOUGH = 64 * 1024;
