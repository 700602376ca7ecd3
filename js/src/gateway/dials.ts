/** Callbacks for peers that could not be connected to. Owns which callback belongs to which attempt. */

import type { DialFailed, NativeGateway } from '../addon/native-interface.js';

/** See the module. */
export class Dials {
  readonly #native: NativeGateway;
  /** By the id that the native side gave to the attempt. */
  readonly #failed = new Map<number, (failure: DialFailed) => void>();

  constructor(native: NativeGateway) {
    this.#native = native;
  }

  /**
   * Connects to a peer with a configuration of the native side. Calls `failed` if that does not succeed. Returns the
   * attempt's id.
   */
  begin(config: Record<string, unknown>, failed: (failure: DialFailed) => void): number {
    const id = this.#native.dial(config);
    this.#failed.set(id, failed);
    return id;
  }

  /** Drops the callbacks of these attempts. */
  forget(ids: number[]): void {
    for (const id of ids) this.#failed.delete(id);
  }

  /** Calls the callback of an attempt. What a user's listener throws must not reach the code that delivers notices. */
  failed(failure: DialFailed): void {
    const tell = this.#failed.get(failure.dial);
    this.#failed.delete(failure.dial);
    if (tell !== undefined) queueMicrotask(() => tell(failure));
  }
}
