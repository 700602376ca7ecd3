/** The requests that wait for answers. Owns their order and time limits. */

import { nothing } from '../log/quiet.js';
import { SocketyError } from './sockety-errors.js';

/** See the module. Ids are the bytes of a UUID. */
export class Answers<Answer> {
  /**
   * The first waiter of each key, by `keyOf` its id. Later waiters, and those of other ids with the same key, are
   * linked behind it.
   */
  readonly #waiters = new Map<number, Waiter<Answer>>();

  /** Waits for the next answer to the message with this id. */
  next(id: string, timeoutMs: number | undefined): Promise<Answer> {
    const waiter = new Waiter<Answer>(id);
    if (timeoutMs !== undefined) {
      waiter.timer = setTimeout(() => {
        this.#forget(waiter);
        waiter.fail(new SocketyError('ERR_SOCKETY_TIMEOUT', `No answer came within ${timeoutMs} ms.`));
      }, timeoutMs);
    }
    const key = keyOf(id);
    let last = this.#waiters.get(key);
    if (last === undefined) {
      this.#waiters.set(key, waiter);
    } else {
      while (last.behind !== undefined) last = last.behind;
      last.behind = waiter;
    }
    return waiter.promise;
  }

  /** Gives an answer to the request that has waited longest. False: none waits. */
  settle(id: string, answer: Answer): boolean {
    let waiter = this.#waiters.get(keyOf(id));
    while (waiter !== undefined && waiter.id !== id) waiter = waiter.behind;
    return waiter !== undefined && this.#give(waiter, answer);
  }

  /** As `settle`, for the id whose bytes are at a place in a buffer. Makes no string of them. */
  settleAt(bytes: Buffer, at: number, answer: Answer): boolean {
    let waiter = this.#waiters.get(keyAt(bytes, at));
    while (waiter !== undefined && !isAt(waiter.id, bytes, at)) waiter = waiter.behind;
    return waiter !== undefined && this.#give(waiter, answer);
  }

  #give(waiter: Waiter<Answer>, answer: Answer): true {
    this.#forget(waiter);
    if (waiter.timer !== undefined) clearTimeout(waiter.timer);
    waiter.resolve(answer);
    return true;
  }

  /** Rejects the requests of this id: no answer will come. */
  fail(id: string, error: Error): void {
    for (let waiter = this.#waiters.get(keyOf(id)); waiter !== undefined; waiter = waiter.behind) {
      if (waiter.id === id) this.#fail(waiter, error);
    }
  }

  /** Rejects all requests: no answer will come any more. */
  failAll(error: Error): void {
    for (const first of [...this.#waiters.values()]) {
      for (let waiter: Waiter<Answer> | undefined = first; waiter !== undefined; waiter = waiter.behind) {
        this.#fail(waiter, error);
      }
    }
  }

  #fail(waiter: Waiter<Answer>, error: Error): void {
    this.#forget(waiter);
    clearTimeout(waiter.timer);
    waiter.fail(error);
  }

  #forget(waiter: Waiter<Answer>): void {
    const key = keyOf(waiter.id);
    const first = this.#waiters.get(key);
    if (first !== waiter) {
      for (let before = first; before !== undefined; before = before.behind) {
        if (before.behind === waiter) before.behind = waiter.behind;
      }
    } else if (waiter.behind === undefined) {
      this.#waiters.delete(key);
    } else {
      this.#waiters.set(key, waiter.behind);
    }
  }
}

class Waiter<Answer> {
  readonly id: string;
  readonly promise: Promise<Answer>;
  resolve: (answer: Answer) => void = nothing;
  #reject: (error: Error) => void = nothing;
  timer: NodeJS.Timeout | undefined = undefined;
  /** The next waiter in the list. */
  behind: Waiter<Answer> | undefined = undefined;

  constructor(id: string) {
    this.id = id;
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Rejects the promise. If nothing waits for it, that is not an unhandled rejection. */
  fail(error: Error): void {
    this.promise.catch(nothing);
    this.#reject(error);
  }
}

/** The first four bytes of an id as a number, which maps find faster than a string. */
function keyOf(id: string): number {
  return id.charCodeAt(0) | (id.charCodeAt(1) << 8) | (id.charCodeAt(2) << 16) | (id.charCodeAt(3) << 24);
}

function keyAt(bytes: Buffer, at: number): number {
  return byte(bytes, at) | (byte(bytes, at + 1) << 8) | (byte(bytes, at + 2) << 16) | (byte(bytes, at + 3) << 24);
}

function isAt(id: string, bytes: Buffer, at: number): boolean {
  for (let index = 0; index < id.length; index++) {
    if (id.charCodeAt(index) !== bytes[at + index]) return false;
  }
  return true;
}

function byte(bytes: Buffer, at: number): number {
  return bytes[at] as number;
}
