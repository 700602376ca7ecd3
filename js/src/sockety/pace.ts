/** How fast a connection's contents are written, all together: as fast as the peer takes them. Knows no contents. */

import type { Outgoing } from '../worker/outgoing.js';

/** See the module. Each connection has one. */
export class Pace {
  /** Asks the native side to tell of room, by a transfer. */
  readonly #ask: (transfer: number) => void;
  /** Bytes after which there has to be room again. */
  #window = WINDOW;
  /** Bytes written since there was room. */
  #written = 0;
  /** The transfer by which was asked; 0: none. */
  #asked = 0;
  #waiters: (() => void)[] = [];
  /** Settles when nobody sends data in parts. */
  #data: Promise<unknown> = Promise.resolve();

  constructor(ask: (transfer: number) => void) {
    this.#ask = ask;
  }

  /** So many bytes may wait for the peer: fewer than that go at once. */
  limit(outboxBytes: number): void {
    this.#window = Math.min(WINDOW, outboxBytes / 2);
  }

  /** Writes a piece of a transfer once it is its turn. `isOver` says that nobody wants it any more. */
  async write(transfer: number, body: Outgoing, piece: Uint8Array, isOver: () => boolean): Promise<void> {
    while (this.#written >= this.#window && !isOver()) await this.#room(transfer);
    if (isOver()) return;
    this.#written += piece.length;
    // not waited for here: with its last byte a message is over, and of that nothing more is told
    body.write(piece);
  }

  /** Runs what sends data, after all others: each collects a packet of up to a MiB on the native side. */
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

  /** Nothing more will be told of a transfer. */
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

/** Bytes after which there has to be room again, at most. */
const WINDOW = 512 * 1024;
