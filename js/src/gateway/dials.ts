/** Who is told when a peer that was dialled is not reached. */

import type { DialFailed, NativeGateway } from '../addon/native-interface.js';

/** See the module. */
export class Dials {
  readonly #native: NativeGateway;
  /** By what the native side gave. */
  readonly #failed = new Map<number, (failure: DialFailed) => void>();

  constructor(native: NativeGateway) {
    this.#native = native;
  }

  /** Connects to a peer, as the native side takes it; `failed` is called if it is not reached. Returns its id. */
  begin(config: Record<string, unknown>, failed: (failure: DialFailed) => void): number {
    const id = this.#native.dial(config);
    this.#failed.set(id, failed);
    return id;
  }

  /** Nobody is told of these any more. */
  forget(ids: number[]): void {
    for (const id of ids) this.#failed.delete(id);
  }

  /** What a listener of a user throws is not thrown at whoever brings the notices. */
  failed(failure: DialFailed): void {
    const tell = this.#failed.get(failure.dial);
    this.#failed.delete(failure.dial);
    if (tell !== undefined) queueMicrotask(() => tell(failure));
  }
}
