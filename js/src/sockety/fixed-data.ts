/** Data that a draft sends again and again. Owns which native side has a copy of it. */

import type { NativeWorker } from '../binding.js';

/** See the module. The native side has it from the first time that it is sent until this is garbage. */
export class FixedData {
  readonly #bytes: Buffer;
  readonly #numbers = new WeakMap<NativeWorker, number>();

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Its number for `tellShared`. */
  numberOf(worker: NativeWorker): number {
    const known = this.#numbers.get(worker);
    if (known !== undefined) return known;
    const number = worker.keepBytes(this.#bytes);
    this.#numbers.set(worker, number);
    KEPT.register(this, { worker: new WeakRef(worker), number });
    return number;
  }

  /** Whether it is worth it: shorter data is copied sooner, and longer data is sent in parts. */
  static isWorthIt({ length }: Buffer): boolean {
    return length > COPIED_BYTES && length <= ONE_PACKET;
  }
}

const KEPT = new FinalizationRegistry<{ worker: WeakRef<NativeWorker>; number: number }>(({ worker, number }) => {
  worker.deref()?.forgetBytes(number);
});

const COPIED_BYTES = 64 * 1024;
const ONE_PACKET = 1024 * 1024;
