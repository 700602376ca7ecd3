/** Promises that nobody has to wait for. */

/** The same promise: that it fails is told to whoever waits for it, and to nobody else. */
export function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(nothing);
  return promise;
}

/** Does nothing. */
export function nothing(): void {}

/** What is done already: whoever gets this has nothing to wait for. */
export const DONE: Promise<void> = Promise.resolve();
