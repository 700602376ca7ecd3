/** Knows which messages were written, that is, handed to the kernel. Owns the promises that wait for that. */

import { nothing, quiet } from '../log/quiet.js';

/** See the module. Messages are counted. The native side reports by notes, one at a time. */
export class Written {
  readonly #note: () => void;
  #sent = 0;
  #written = 0;
  /** The number of the last message that the pending note covers. 0: no note is pending. */
  #noted = 0;
  /** Whether a note will be sent at the end of this tick. */
  #isDue = false;
  #waiters: Waiter<unknown>[] = [];
  /**
   * The errors of messages that will never be written, by their ids. The most recent ones are kept for later requests.
   */
  readonly #failed = new Map<string, Error>();

  /** The number of the first message that the native side does not have. */
  readonly #firstHeld: () => number;

  /** `note` asks the native side to report when everything that was sent before is written. */
  constructor(note: () => void, firstHeld: () => number) {
    this.#note = note;
    this.#firstHeld = firstHeld;
  }

  /** Counts a message. Returns its number. */
  count(): number {
    this.#sent += 1;
    return this.#sent;
  }

  /** Whether a message is written, as far as is known; requests a note. `id` identifies it for `fail`. */
  has(number: number, id: string): boolean {
    if (this.failureOf(id) !== undefined) return false;
    if (number <= this.#written) return true;
    this.ask();
    return false;
  }

  /** Resolves with `value` when a message is written. `id` identifies it for `fail`. */
  wait<T>(number: number, id: string, value: T): Promise<T> {
    const failure = this.failureOf(id);
    if (failure !== undefined) return quiet(Promise.reject(failure));
    if (number <= this.#written) return Promise.resolve(value);
    this.ask();
    const waiter = new Waiter(number, id, value);
    this.#waiters.push(waiter);
    return waiter.promise;
  }

  /** Everything that the note covers is written. */
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

  /** The note could not be sent because the native side has too much to do: it is sent again. */
  refused(): void {
    this.#noted = 0;
    setTimeout(() => this.ask(), AGAIN_MS);
  }

  /** The error of a message that will never be written. Undefined: it may be. */
  failureOf(id: string): Error | undefined {
    return this.#failed.size === 0 ? undefined : this.#failed.get(id);
  }

  /** Marks a message as failed: it will never be written. */
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

  /** Requests a note, unless one is pending. */
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

  /** Rejects the promise. If nothing waits for it, that is not an unhandled rejection. */
  fail(error: Error): void {
    this.promise.catch(nothing);
    this.#reject(error);
  }
}

/** The most errors that are kept. */
const MOST_FAILED = 4096;

/** Time until a note is sent again, in milliseconds. */
const AGAIN_MS = 10;

/** A value that prevents further notes. */
const ENDED = Number.MAX_SAFE_INTEGER;
