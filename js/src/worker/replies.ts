/**
 * What handlers send of what they are given. Replies, collected: short texts that handlers send to the very socket
 * whose message they are handling leave in one native call for many of them. And a long text that is sent on as it
 * came: the native side still has it. Owns what is collected, never for longer than the running drain.
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
  /** The socket whose message is being handled; 0: none, or it is not within a drain. */
  #socket = 0;
  #draining = false;
  readonly #worker: NativeWorker;
  /** The long text being handled, and its place in the batch; '': none. */
  #received = '';
  #place = 0;

  constructor(native: NativeGateway, worker: NativeWorker) {
    this.#native = native;
    this.#worker = worker;
    this.#list = new Float64Array(worker.replyList);
  }

  /** Sends what goes before everything that is sent from now on. */
  first: (() => void) | undefined;

  /** Whether a drain is running. */
  get isDraining(): boolean {
    return this.#draining;
  }

  /** A drain begins. */
  begin(): void {
    this.#draining = true;
  }

  /** … and is over: nothing stays behind. */
  end(): void {
    this.#draining = false;
    this.#socket = 0;
    this.flush();
  }

  /** A message of this socket is handled next; 0: some other event, after which it may be gone. */
  handling(socketId: number): void {
    if (this.#draining) this.#socket = socketId;
  }

  /** A long text, sidecar number `place` of the batch, is handled next. */
  receiving(text: string, place: number): void {
    this.#received = text;
    this.#place = place;
  }

  /** … and its handler has returned, or waits for something. */
  received(): void {
    this.#received = '';
  }

  /** Whether a text is the long one being handled: sent on as it is, it is the same string, compared by address. */
  isReceived(data: string): boolean {
    return data === this.#received;
  }

  /** Sends the long text being handled on, from where the native side has it. */
  forward(target: Target, except: number | number[] | undefined): number {
    return this.#worker.forward(target, this.#place, except, this.#count, this.release());
  }

  /** Takes what is sent to the socket being handled, if it is a short text; false: it is the caller's to send. */
  take(target: unknown, data: unknown): boolean {
    if (target !== this.#socket || this.#socket === 0 || typeof data !== 'string') return false;
    const length = data.length;
    if (length > LONGEST) return false;
    if (this.first !== undefined) this.first();
    // half a character would make a whole one with the other half in front of the next text
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

  /** How many wait. */
  get count(): number {
    return this.#count;
  }

  /** The texts that wait, for the caller to send: they are forgotten here. */
  release(): string {
    const texts = this.#texts;
    this.#texts = '';
    this.#count = 0;
    return texts;
  }

  /** Sends what waits. */
  flush(): void {
    if (this.first !== undefined) this.first();
    const count = this.#count;
    if (count > 0) this.#native.reply(count, this.release());
  }
}

/** Texts above this go alone, in UTF-16 units. */
const LONGEST = 1024;

/** Units after which the texts are sent. */
const ENOUGH = 64 * 1024;
