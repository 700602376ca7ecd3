/**
 * Limits how many whole messages of a connection the native side has, so that it refuses none. Owns the messages that
 * wait until some of these are written.
 */

/** See the module. */
export class Whole {
  /** Asks the native side to report when what it has is written. */
  readonly #ask: () => void;
  /** The most bytes that the native side may have. */
  #ahead = AHEAD;
  /** The bytes that it has, as far as is known. */
  #told = 0;
  /** The bytes among these that a pending note covers. */
  #noted = 0;
  #queue: Held[] = [];
  /** The index of the first item in the queue. */
  #first = 0;
  #queued = 0;

  constructor(ask: () => void) {
    this.#ask = ask;
  }

  /** Sets how many bytes may wait for the peer. Fewer bytes than that are passed on at once. */
  limit(outboxBytes: number): void {
    this.#ahead = Math.min(AHEAD, outboxBytes / 2);
  }

  /** Whether so many bytes may be passed on now. If so, they are counted. */
  mayTell(bytes: number): boolean {
    const told = this.#told + bytes;
    if (told > this.#ahead && this.#told > 0) return false;
    this.told(bytes);
    return true;
  }

  /** Counts bytes that are passed on regardless of the limit. */
  told(bytes: number): void {
    this.#told += bytes;
    if (this.#told > this.#ahead / 2) this.#ask();
  }

  /** Whether messages wait here. Later ones then have to wait, too. */
  get isHolding(): boolean {
    return this.#queue.length > 0;
  }

  /** Queues an instruction. False: the queue is full. */
  hold(held: Held): boolean {
    if (this.#queued + held.bytes > MOST_QUEUED) return false;
    this.#queue.push(held);
    this.#queued += held.bytes;
    this.#ask();
    return true;
  }

  /** The number of the first message that waits. Those with lower numbers were passed on. */
  get firstHeld(): number {
    return this.#queue[this.#first]?.number ?? Number.POSITIVE_INFINITY;
  }

  /** A note is being sent. */
  noting(): void {
    this.#noted = this.#told;
  }

  /** Everything that the note covers is written. */
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
    // request the note that was asked for while another was pending
    if (this.isHolding || this.#told > this.#ahead / 2) this.#ask();
  }

  /** Drops the queue: nothing in it will be sent. */
  end(): void {
    this.#queue = [];
    this.#first = 0;
    this.#queued = 0;
  }
}

/** An instruction that waits. */
export interface Held {
  /** The message's number, by which it is known to be written. */
  readonly number: number;
  /** The bytes of a message that is sent whole. 0 for others. */
  readonly bytes: number;
  tell(): void;
}

/** The most bytes that the native side has. */
const AHEAD = 2 * 1024 * 1024;

/** The most bytes that wait here. They belong to the application. */
const MOST_QUEUED = 64 * 1024 * 1024;
