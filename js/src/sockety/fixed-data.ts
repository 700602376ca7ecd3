/** Data that a draft sends repeatedly. Owns which native workers have a copy of it. */

import type { NativeWorker } from '../addon/native-interface.js';

/**
 * See the module. The native side keeps the data from the second message on, until this object is garbage: most drafts
 * are used for one message, and keeping their data would only cost memory.
 */
export class FixedData {
  readonly #bytes: Buffer;
  /** The number of the copy of each worker, or that the data was sent once. */
  readonly #numbers = new WeakMap<NativeWorker, number>();

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /**
   * Whether the native side keeps the data, so that it is sent in one piece. Must be asked exactly once for each
   * message.
   */
  isKept(worker: NativeWorker): boolean {
    const known = this.#numbers.get(worker);
    if (known === undefined) {
      this.#numbers.set(worker, SENT_ONCE);
      return false;
    }
    if (known !== SENT_ONCE) return true;
    const number = worker.keepBytes(this.#bytes);
    if (number === undefined) return false;
    this.#numbers.set(worker, number);
    KEPT.register(this, { worker: new WeakRef(worker), number });
    return true;
  }

  /** The number of the copy for `tellShared`. */
  numberOf(worker: NativeWorker): number {
    return this.#numbers.get(worker) ?? SENT_ONCE;
  }

  /** Whether a copy is worthwhile: shorter data is copied faster, and longer data is sent in parts. */
  static isWorthIt({ length }: Buffer): boolean {
    return length > COPIED_BYTES && length <= ONE_PACKET;
  }
}

const KEPT = new FinalizationRegistry<{ worker: WeakRef<NativeWorker>; number: number }>(({ worker, number }) => {
  worker.deref()?.forgetBytes(number);
});

/** Not a valid number of a copy. */
const SENT_ONCE = -1;

const COPIED_BYTES = 64 * 1024;
const ONE_PACKET = 1024 * 1024;
