/** Which of the things that were sent are written, that is, handed to the kernel. Owns who waits for that. */

import { nothing } from './quiet.js';

/** See the module. What is sent is counted; the native side is asked by notes, one at a time. */
export class Written {
  readonly #note: () => void;
  #sent = 0;
  #written = 0;
  /** What the note that is under way is about; 0: none is. */
  #noted = 0;
  /** A note follows at the end of this tick. */
  #isDue = false;
  #waiters: Waiter<unknown>[] = [];

  /** The number of the first that the native side does not have. */
  readonly #firstHeld: () => number;

  /** `note` asks the native side to say when everything that was sent before is written. */
  constructor(note: () => void, firstHeld: () => number) {
    this.#note = note;
    this.#firstHeld = firstHeld;
  }

  /** Something was sent: its number. */
  count(): number {
    this.#sent += 1;
    return this.#sent;
  }

  /** Whether something is written, as far as is known; asks. */
  has(number: number): boolean {
    if (number <= this.#written) return true;
    this.ask();
    return false;
  }

  /** Resolves with `value` when something is written. `id` names it for `fail`. */
  wait<T>(number: number, id: string, value: T): Promise<T> {
    if (number <= this.#written) return Promise.resolve(value);
    this.ask();
    const waiter = new Waiter(number, id, value);
    this.#waiters.push(waiter);
    return waiter.promise;
  }

  /** What the note was about is written. */
  noted(): void {
    this.#written = this.#noted;
    this.#noted = 0;
    const all = this.#waiters;
    const later: Waiter<unknown>[] = [];
    this.#waiters = later;
    for (const waiter of all) {
      if (waiter.number > this.#written) later.push(waiter);
      else waiter.settle();
    }
    if (later.length > 0) this.ask();
  }

  /** The note could not be sent, because the native side has too much to do: it is sent again. */
  refused(): void {
    this.#noted = 0;
    setTimeout(() => this.ask(), AGAIN_MS);
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

  #reject(which: (waiter: Waiter<unknown>) => boolean, error: Error): void {
    const rejected = this.#waiters.filter(which);
    this.#waiters = this.#waiters.filter((waiter) => !which(waiter));
    for (const waiter of rejected) waiter.fail(error);
  }

  /** A note follows, unless one is under way. */
  ask(): void {
    if (this.#noted > 0 || this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      if (this.#noted > 0) return;
      this.#noted = Math.min(this.#sent, this.#firstHeld() - 1);
      this.#note();
    });
  }
}

class Waiter<T> {
  readonly number: number;
  readonly id: string;
  readonly promise: Promise<T>;
  settle: () => void = nothing;
  #reject: (error: Error) => void = nothing;

  constructor(number: number, id: string, value: T) {
    this.number = number;
    this.id = id;
    this.promise = new Promise((resolve, reject) => {
      this.settle = () => resolve(value);
      this.#reject = reject;
    });
  }

  /** That is told to whoever waits, and to nobody else. */
  fail(error: Error): void {
    this.promise.catch(nothing);
    this.#reject(error);
  }
}

/** Time until a note is sent again. */
const AGAIN_MS = 10;

/** No note is sent any more. */
const ENDED = Number.MAX_SAFE_INTEGER;
