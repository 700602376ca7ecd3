/** Who waits for answers to what was sent. Owns their order and how long they wait. */

import { SocketyError } from './errors.js';
import type { Response } from './message.js';

/** See the module. Ids are the bytes of a UUID. */
export class Answers {
  readonly #waiters = new Map<string, Waiter[]>();

  /** The next answer to this. */
  next(id: string, timeoutMs: number | undefined): Promise<Response | number> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { resolve, reject, timer: undefined };
      if (timeoutMs !== undefined) {
        waiter.timer = setTimeout(() => {
          this.#forget(id, waiter);
          reject(new SocketyError('ERR_SOCKETY_TIMEOUT', `No answer came within ${timeoutMs} ms.`));
        }, timeoutMs);
      }
      const waiters = this.#waiters.get(id);
      if (waiters === undefined) this.#waiters.set(id, [waiter]);
      else waiters.push(waiter);
    });
  }

  /** An answer came: whoever waited longest gets it. False: nobody waits. */
  settle(id: string, answer: Response | number): boolean {
    const waiter = this.#waiters.get(id)?.[0];
    if (waiter === undefined) return false;
    this.#forget(id, waiter);
    waiter.resolve(answer);
    return true;
  }

  /** No answer will come to this. */
  fail(id: string, error: Error): void {
    const waiters = this.#waiters.get(id) ?? [];
    this.#waiters.delete(id);
    for (const waiter of waiters) {
      clearTimeout(waiter.timer);
      waiter.reject(error);
    }
  }

  /** No answer will come any more. */
  failAll(error: Error): void {
    for (const id of [...this.#waiters.keys()]) this.fail(id, error);
  }

  #forget(id: string, waiter: Waiter): void {
    clearTimeout(waiter.timer);
    const waiters = this.#waiters.get(id);
    if (waiters === undefined) return;
    const place = waiters.indexOf(waiter);
    if (place >= 0) waiters.splice(place, 1);
    if (waiters.length === 0) this.#waiters.delete(id);
  }
}

interface Waiter {
  readonly resolve: (answer: Response | number) => void;
  readonly reject: (error: Error) => void;
  timer: NodeJS.Timeout | undefined;
}
