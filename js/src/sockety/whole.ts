/**
 * How many whole messages of a connection the native side has: as many as it takes without refusing any. Owns what waits until
 * some of them are written.
 */

/** See the module. */
export class Whole {
  /** Asks the native side to say when what it has is written. */
  readonly #ask: () => void;
  /** Bytes that it has at once. */
  #ahead = AHEAD;
  /** Bytes that it has, as far as is known. */
  #told = 0;
  /** Those of them that the note under way is about. */
  #noted = 0;
  #queue: Held[] = [];
  /** Where the queue begins. */
  #first = 0;
  #queued = 0;

  constructor(ask: () => void) {
    this.#ask = ask;
  }

  /** So many bytes may wait for the peer: fewer than that are told at once. */
  limit(outboxBytes: number): void {
    this.#ahead = Math.min(AHEAD, outboxBytes / 2);
  }

  /** Whether so many bytes may be told now; they are if so. */
  mayTell(bytes: number): boolean {
    const told = this.#told + bytes;
    if (told > this.#ahead && this.#told > 0) return false;
    this.told(bytes);
    return true;
  }

  /** So many bytes are told, whatever waits. */
  told(bytes: number): void {
    this.#told += bytes;
    if (this.#told > this.#ahead / 2) this.#ask();
  }

  /** Whether something waits here, behind which everything has to wait. */
  get isHolding(): boolean {
    return this.#queue.length > 0;
  }

  /** Something waits. False: too much does. */
  hold(held: Held): boolean {
    if (this.#queued + held.bytes > MOST_QUEUED) return false;
    this.#queue.push(held);
    this.#queued += held.bytes;
    this.#ask();
    return true;
  }

  /** The number of the first that waits: those below it are told. */
  get firstHeld(): number {
    return this.#queue[this.#first]?.number ?? Number.POSITIVE_INFINITY;
  }

  /** A note is on its way. */
  noting(): void {
    this.#noted = this.#told;
  }

  /** What it was about is written. */
  noted(): void {
    this.#told -= this.#noted;
    this.#noted = 0;
    for (;;) {
      const held = this.#queue[this.#first];
      if (held === undefined || !this.mayTell(held.bytes)) break;
      this.#first += 1;
      this.#queued -= held.bytes;
      held.tell();
    }
    if (this.#first * 2 >= this.#queue.length) {
      this.#queue = this.#queue.slice(this.#first);
      this.#first = 0;
    }
    // what was asked for while a note was under way
    if (this.isHolding || this.#told > this.#ahead / 2) this.#ask();
  }

  /** Nothing that waits will be told. */
  end(): void {
    this.#queue = [];
    this.#first = 0;
    this.#queued = 0;
  }
}

/** What waits. */
export interface Held {
  /** By which it will be written. */
  readonly number: number;
  /** Of a message that the native side has not begun; 0 for others. */
  readonly bytes: number;
  tell(): void;
}

/** Bytes that the native side has at once, at most. */
const AHEAD = 2 * 1024 * 1024;

/** Bytes that wait here at most. They are the application's. */
const MOST_QUEUED = 64 * 1024 * 1024;
