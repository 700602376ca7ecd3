/** Promises whose rejection may stay unhandled. */

/** Returns the same promise. If it rejects and nothing waits for it, that is not an unhandled rejection. */
export function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(nothing);
  return promise;
}

/** Does nothing. */
export function nothing(): void {}

/** A promise that is fulfilled already. */
export const DONE: Promise<void> = Promise.resolve();
