/** Who waits for answers to what was sent. Owns their order and how long they wait. */

import { SocketyError } from './errors.js';
import type { Response } from './message.js';
import { nothing } from './quiet.js';

/** See the module. Ids are the bytes of a UUID. */
export class Answers {
  /** The first that waits for an answer to an id, and behind it the others. */
  readonly #waiters = new Map<string, Waiter>();

  /** The next answer to this. */
  next(id: string, timeoutMs: number | undefined): Promise<Response | number> {
    const waiter = new Waiter();
    if (timeoutMs !== undefined) {
      waiter.timer = setTimeout(() => {
        this.#forget(id, waiter);
        waiter.fail(new SocketyError('ERR_SOCKETY_TIMEOUT', `No answer came within ${timeoutMs} ms.`));
      }, timeoutMs);
    }
    let last = this.#waiters.get(id);
    if (last === undefined) {
      this.#waiters.set(id, waiter);
    } else {
      while (last.behind !== undefined) last = last.behind;
      last.behind = waiter;
    }
    return waiter.promise;
  }

  /** An answer came: whoever waited longest gets it. False: nobody waits. */
  settle(id: string, answer: Response | number): boolean {
    const waiter = this.#waiters.get(id);
    if (waiter === undefined) return false;
    if (waiter.behind === undefined) this.#waiters.delete(id);
    else this.#waiters.set(id, waiter.behind);
    if (waiter.timer !== undefined) clearTimeout(waiter.timer);
    waiter.resolve(answer);
    return true;
  }

  /** No answer will come to this. */
  fail(id: string, error: Error): void {
    let waiter = this.#waiters.get(id);
    this.#waiters.delete(id);
    for (; waiter !== undefined; waiter = waiter.behind) {
      clearTimeout(waiter.timer);
      waiter.fail(error);
    }
  }

  /** No answer will come any more. */
  failAll(error: Error): void {
    for (const id of [...this.#waiters.keys()]) this.fail(id, error);
  }

  #forget(id: string, waiter: Waiter): void {
    const first = this.#waiters.get(id);
    if (first !== waiter) {
      for (let before = first; before !== undefined; before = before.behind) {
        if (before.behind === waiter) before.behind = waiter.behind;
      }
    } else if (waiter.behind === undefined) {
      this.#waiters.delete(id);
    } else {
      this.#waiters.set(id, waiter.behind);
    }
  }
}

class Waiter {
  readonly promise: Promise<Response | number>;
  resolve: (answer: Response | number) => void = nothing;
  #reject: (error: Error) => void = nothing;
  timer: NodeJS.Timeout | undefined = undefined;
  /** Who waits for the answer behind this one's. */
  behind: Waiter | undefined = undefined;

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.#reject = reject;
    });
  }

  /** That is told to whoever waits, and to nobody else. */
  fail(error: Error): void {
    this.promise.catch(nothing);
    this.#reject(error);
  }
}
