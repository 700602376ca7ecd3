/** Limits how fast all contents of a connection are written, to what the peer takes. Does not know the contents. */

import type { Outgoing } from '../worker/outgoing.js';

/** See the module. Each connection has one. */
export class Pace {
  /** Asks the native side to report when there is room for a transfer. */
  readonly #ask: (transfer: number) => void;
  /** Bytes after which a report of room is awaited. */
  #window = WINDOW;
  /** Bytes written since the last report of room. */
  #written = 0;
  /** The transfer for which the report was requested. 0: none. */
  #asked = 0;
  #waiters: (() => void)[] = [];
  /** Settles when no data is being sent in parts. */
  #data: Promise<unknown> = Promise.resolve();

  constructor(ask: (transfer: number) => void) {
    this.#ask = ask;
  }

  /** Sets how many bytes may wait for the peer. Fewer bytes than that are written at once. */
  limit(outboxBytes: number): void {
    this.#window = Math.min(WINDOW, outboxBytes / 2);
  }

  /** Writes a piece of a transfer when it is its turn. `isOver`: whether the transfer has ended meanwhile. */
  async write(transfer: number, body: Outgoing, piece: Uint8Array, isOver: () => boolean): Promise<void> {
    while (this.#written >= this.#window && !isOver()) await this.#room(transfer);
    if (isOver()) return;
    this.#written += piece.length;
    // not awaited: after its last byte, a message is over, and nothing more is reported of it
    body.write(piece);
  }

  /**
   * Runs a task that sends data after all other such tasks, because the native side collects packets of up to 1 MiB for
   * each.
   */
  alone<T>(send: () => Promise<T>): Promise<T> {
    const result = this.#data.then(send);
    this.#data = result.catch(() => undefined);
    return result;
  }

  /** There is room. */
  opened(): void {
    this.#written = 0;
    this.#wake();
  }

  /** A transfer has ended, and nothing more will be reported of it. */
  over(transfer: number): void {
    if (transfer === this.#asked) this.#wake();
  }

  #wake(): void {
    this.#asked = 0;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const resume of waiters) resume();
  }

  #room(transfer: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.push(resolve);
      if (this.#asked !== 0) return;
      this.#asked = transfer;
      this.#ask(transfer);
    });
  }
}

/** The most bytes after which a report of room is awaited. */
const WINDOW = 512 * 1024;
