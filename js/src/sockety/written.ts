/** Which of the things that were sent are written, that is, handed to the kernel. Owns who waits for that. */

import { nothing, quiet } from '../log/quiet.js';

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
  /** Why they will never be written, by their ids: the last that failed, for those who ask later. */
  readonly #failed = new Map<string, Error>();

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

  /** Whether something is written, as far as is known; asks. `id` names it for `fail`. */
  has(number: number, id: string): boolean {
    if (this.failureOf(id) !== undefined) return false;
    if (number <= this.#written) return true;
    this.ask();
    return false;
  }

  /** Resolves with `value` when something is written. `id` names it for `fail`. */
  wait<T>(number: number, id: string, value: T): Promise<T> {
    const failure = this.failureOf(id);
    if (failure !== undefined) return quiet(Promise.reject(failure));
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

  /** Why something will never be written; undefined: it may be. */
  failureOf(id: string): Error | undefined {
    return this.#failed.size === 0 ? undefined : this.#failed.get(id);
  }

  /** Something will never be written. */
  fail(id: string, error: Error): void {
    this.#failed.set(id, error);
    if (this.#failed.size > MOST_FAILED) {
      const [oldest] = this.#failed.keys();
      this.#failed.delete(oldest as string);
    }
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

/** Failures that are kept. */
const MOST_FAILED = 4096;

/** Time until a note is sent again. */
const AGAIN_MS = 10;

/** No note is sent any more. */
const ENDED = Number.MAX_SAFE_INTEGER;
