/** The time limit of handlers: one timer for all that are pending. Knows nothing of connections. */

/** An item with a deadline. It is also a node of the list of these items. */
export interface Timed {
  readonly deadline: number;
  readonly done: boolean;
  earlier: Timed | undefined;
  later: Timed | undefined;
}

/** Items that all have the same time limit, so that they become late in the order in which they began. */
export class Deadlines<T extends Timed> {
  readonly #limit: number;
  readonly #late: (late: T) => void;
  #first: T | undefined;
  #last: T | undefined;
  #size = 0;
  #timer: NodeJS.Timeout | undefined;
  #whenEmpty: (() => void) | undefined;

  /** `limit` is in milliseconds; 0 turns the time limit off. */
  constructor(limit: number, late: (late: T) => void) {
    this.#limit = limit;
    this.#late = late;
  }

  /** The deadline of an item that begins at `now`. */
  after(now: number): number {
    return this.#limit === 0 ? Number.POSITIVE_INFINITY : now + this.#limit;
  }

  get size(): number {
    return this.#size;
  }

  add(timed: T): void {
    timed.earlier = this.#last;
    if (this.#last === undefined) this.#first = timed;
    else this.#last.later = timed;
    this.#last = timed;
    this.#size += 1;
    if (this.#timer === undefined && this.#limit > 0) this.#arm(this.#limit);
  }

  /** Removes an item that is done. After `stop` the list is empty. */
  delete(timed: T): void {
    const { earlier, later } = timed;
    if (earlier === undefined && this.#first !== timed) return;
    if (earlier === undefined) this.#first = later as T | undefined;
    else earlier.later = later;
    if (later === undefined) this.#last = earlier as T | undefined;
    else later.earlier = earlier;
    timed.earlier = undefined;
    timed.later = undefined;
    this.#size -= 1;
    if (this.#size === 0) this.#whenEmpty?.();
  }

  /** Resolves when nothing is pending, or after `ms`. */
  settled(ms: number): Promise<void> {
    if (this.#size === 0) return Promise.resolve();
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

  /** Clears the timer and the list. No item becomes late after this. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (let timed = this.#first; timed !== undefined; ) {
      const next = timed.later as T | undefined;
      timed.earlier = undefined;
      timed.later = undefined;
      timed = next;
    }
    this.#first = undefined;
    this.#last = undefined;
    this.#size = 0;
    this.#whenEmpty?.();
  }

  #arm(ms: number): void {
    this.#timer = setTimeout(() => this.#look(), Math.max(1, Math.ceil(ms)));
    this.#timer.unref();
  }

  #look(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (let timed = this.#first; timed !== undefined; timed = this.#first) {
      if (timed.deadline > now) {
        this.#arm(timed.deadline - now);
        return;
      }
      this.delete(timed);
      this.#late(timed);
    }
  }
}
