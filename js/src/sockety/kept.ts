/** Counts the bytes of one connection's contents that wait to be read, and stops reading the connection at a limit. */

import type { NativeWorker } from '../addon/native-interface.js';
import { STOP } from '../worker/connection.js';

/** See the module. */
export class Kept {
  readonly #worker: NativeWorker;
  readonly #socketId: number;
  #bytes = 0;
  #isHeld = false;
  #isOver = false;

  constructor(worker: NativeWorker, socketId: number) {
    this.#worker = worker;
    this.#socketId = socketId;
  }

  /** Changes the number of bytes that wait. The argument may be negative. */
  add(bytes: number): void {
    this.#bytes += bytes;
    if (!this.#isHeld && this.#bytes > MOST_BYTES) {
      this.#isHeld = true;
      this.#worker.hold(this.#socketId, STOP, 0);
    } else if (this.#isHeld && this.#bytes <= MOST_BYTES / 2) {
      this.#isHeld = false;
      if (!this.#isOver) this.#worker.release(this.#socketId, STOP, 0);
    }
  }

  /** Ends the count: the connection is closed. */
  end(): void {
    this.#isOver = true;
  }
}

/** At more bytes than this, the connection is not read. */
const MOST_BYTES = 16 * 1024 * 1024;
