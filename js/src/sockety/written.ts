/** Which of the things that were sent are written, that is, handed to the kernel. Owns who waits for that. */

import { SocketyError } from './errors.js';

/** See the module. What is sent is counted; the native side is asked by notes, one at a time. */
export class Written {
  readonly #note: () => void;
  #sent = 0;
  #written = 0;
  /** What the note that is under way is about; 0: none is. */
  #noted = 0;
  /** A note follows at the end of this tick. */
  #isDue = false;
  #waiters: Waiter[] = [];

  /** `note` asks the native side to say when everything that was sent before is written. */
  constructor(note: () => void) {
    this.#note = note;
  }

  /** Something was sent: its number. */
  count(): number {
    this.#sent += 1;
    return this.#sent;
  }

  /** Whether something is written, as far as is known; asks. */
  has(number: number): boolean {
    if (number <= this.#written) return true;
    this.#ask();
    return false;
  }

  /** Resolves when something is written. `id` names it for `fail`. */
  wait(number: number, id: string): Promise<void> {
    if (number <= this.#written) return Promise.resolve();
    this.#ask();
    return new Promise((resolve, reject) => {
      this.#waiters.push({ number, id, resolve, reject });
    });
  }

  /** What the note was about is written. */
  noted(): void {
    this.#written = this.#noted;
    this.#noted = 0;
    const all = this.#waiters;
    this.#waiters = all.filter((waiter) => waiter.number > this.#written);
    if (this.#waiters.length > 0) this.#ask();
    for (const waiter of all) if (waiter.number <= this.#written) waiter.resolve();
  }

  /** The note could not be sent. */
  refused(): void {
    this.#noted = 0;
    this.#reject(() => true, new SocketyError('ERR_SOCKETY_NOT_SENT', 'Too much waits to be sent.'));
  }

  /** Something will never be written. */
  fail(id: string, error: Error): void {
    this.#reject((waiter) => waiter.id === id, error);
  }

  /** Nothing will be written any more. */
  end(error: Error): void {
    this.#noted = ENDED;
    this.#reject(() => true, error);
  }

  #reject(which: (waiter: Waiter) => boolean, error: Error): void {
    const rejected = this.#waiters.filter(which);
    this.#waiters = this.#waiters.filter((waiter) => !which(waiter));
    for (const waiter of rejected) waiter.reject(error);
  }

  #ask(): void {
    if (this.#noted > 0 || this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      if (this.#noted > 0) return;
      this.#noted = this.#sent;
      this.#note();
    });
  }
}

interface Waiter {
  readonly number: number;
  readonly id: string;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** No note is sent any more. */
const ENDED = Number.MAX_SAFE_INTEGER;
