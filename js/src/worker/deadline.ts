/** The time limit of handlers: one timer for all that are pending. Owns the timer; knows nothing of connections. */

/** Something that has to be over by a time. */
export interface Timed {
  readonly deadline: number;
  readonly done: boolean;
}

/** Things with the same time limit, so the first to begin is the first to be late. */
export class Deadlines<T extends Timed> {
  readonly #limit: number;
  readonly #late: (late: T) => void;
  readonly #pending = new Set<T>();
  #timer: NodeJS.Timeout | undefined;
  #whenEmpty: (() => void) | undefined;

  /** `limit` in milliseconds; 0 is off. */
  constructor(limit: number, late: (late: T) => void) {
    this.#limit = limit;
    this.#late = late;
  }

  /** The deadline of what begins now. */
  next(): number {
    return this.#limit === 0 ? Number.POSITIVE_INFINITY : performance.now() + this.#limit;
  }

  get size(): number {
    return this.#pending.size;
  }

  add(timed: T): void {
    this.#pending.add(timed);
    if (this.#timer === undefined && this.#limit > 0) this.#arm(this.#limit);
  }

  delete(timed: T): void {
    this.#pending.delete(timed);
    if (this.#pending.size === 0) this.#whenEmpty?.();
  }

  /** Resolves when nothing is pending, or after `ms`. */
  settled(ms: number): Promise<void> {
    if (this.#pending.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(finish, ms);
      const deadlines = this;
      function finish() {
        clearTimeout(timer);
        deadlines.#whenEmpty = undefined;
        resolve();
      }
      this.#whenEmpty = finish;
    });
  }

  /** Nothing is late any more. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#pending.clear();
    this.#whenEmpty?.();
  }

  #arm(ms: number): void {
    this.#timer = setTimeout(() => this.#look(), Math.max(1, Math.ceil(ms)));
    this.#timer.unref();
  }

  #look(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const timed of this.#pending) {
      if (timed.deadline > now) {
        this.#arm(timed.deadline - now);
        return;
      }
      this.delete(timed);
      this.#late(timed);
    }
  }
}
