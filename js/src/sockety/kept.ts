/** Contents of one connection that wait for somebody who reads them. Owns how many bytes, and that no more is read meanwhile. */

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

  /** So many bytes more wait, or fewer. */
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

  /** The connection is over. */
  end(): void {
    this.#isOver = true;
  }
}

/** Above it nothing more of the connection is read. */
const MOST_BYTES = 16 * 1024 * 1024;
