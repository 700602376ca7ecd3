/** Data that a draft sends again and again. Owns which native side has a copy of it. */

import type { NativeWorker } from '../addon/native-interface.js';

/**
 * See the module. The native side has it from the second message on, until this is garbage: most drafts are made for one message, and
 * to keep what they have would only cost memory.
 */
export class FixedData {
  readonly #bytes: Buffer;
  /** By whom it was sent: its number there, or that it was sent once. */
  readonly #numbers = new WeakMap<NativeWorker, number>();

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Whether it is kept, so that it goes in one piece. To be asked once for each message. */
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

  /** Its number for `tellShared`, where it is kept. */
  numberOf(worker: NativeWorker): number {
    return this.#numbers.get(worker) ?? SENT_ONCE;
  }

  /** Whether it is worth it: shorter data is copied sooner, and longer data is sent in parts. */
  static isWorthIt({ length }: Buffer): boolean {
    return length > COPIED_BYTES && length <= ONE_PACKET;
  }
}

const KEPT = new FinalizationRegistry<{ worker: WeakRef<NativeWorker>; number: number }>(({ worker, number }) => {
  worker.deref()?.forgetBytes(number);
});

/** No number of what is kept. */
const SENT_ONCE = -1;

const COPIED_BYTES = 64 * 1024;
const ONE_PACKET = 1024 * 1024;
