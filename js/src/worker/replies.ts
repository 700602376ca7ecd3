/**
 * Collects what handlers send while a batch is handled. Texts that a handler sends to the socket of the message it
 * handles leave in one native call for many of them, if they are short or the message itself. A message that a handler
 * sends on unchanged is sent from the native side's copy. Keeps nothing beyond the running drain.
 */

import type { NativeGateway, NativeWorker } from '../addon/native-interface.js';
import type { Target } from '../gateway/target.js';

/** See the module. */
export class Replies {
  readonly #native: NativeGateway;
  /** Pairs of a socket id and a length in UTF-16 units, or below 0 the place of a message that is sent back. */
  readonly #list: Float64Array;
  #texts = '';
  #count = 0;
  /** The socket whose message is being handled. 0: none, or no drain is running. */
  #socket = 0;
  #draining = false;
  readonly #worker: NativeWorker;
  /** The text that was received last, and the word of the batch where its record begins. Empty: none. */
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
    this.#received = '';
    this.flush();
  }

  /**
   * Sets the socket whose message is handled next. 0: the next event is something else, after which the socket may be
   * closed.
   */
  handling(socketId: number): void {
    if (this.#draining) this.#socket = socketId;
  }

  /** Sets the text that is handled next, and the word of the batch where its record begins. */
  receiving(text: string, place: number): void {
    this.#received = text;
    this.#place = place;
  }

  /**
   * Whether a text is the one that was received last, and its batch is still being handled. If it is sent on unchanged,
   * both are the same string, which compares fast.
   */
  isReceived(data: string): boolean {
    return data === this.#received && this.#draining;
  }

  /** Sends the text that was received last from the native side's copy. */
  forward(target: Target, except: number | number[] | undefined): number {
    return this.#worker.forward(target, this.#place, except, this.#count, this.release());
  }

  /** Collects a text to the socket that is being handled. False: the caller has to send it. */
  take(target: unknown, data: unknown): boolean {
    if (target !== this.#socket || this.#socket === 0 || typeof data !== 'string') return false;
    const length = data.length;
    const isReceived = data === this.#received && length > 0;
    if (length > LONGEST && !isReceived) return false;
    if (this.first !== undefined) this.first();
    // a lone surrogate at the end would join with one at the beginning of the next text
    if (!isReceived && (data.charCodeAt(length - 1) & 0xfc00) === 0xd800) return false;
    if (this.#count * 2 === this.#list.length || this.#texts.length > ENOUGH) this.flush();
    const at = this.#count * 2;
    this.#list[at] = this.#socket;
    if (isReceived) {
      this.#list[at + 1] = -1 - this.#place;
    } else {
      this.#list[at + 1] = length;
      this.#texts += data;
    }
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

/** Longer texts, in UTF-16 units, are collected only if they are sent back. */
const LONGEST = 1024;

/** The collected UTF-16 units at which the texts are sent. */
const ENOUGH = 64 * 1024;
