/** Promises that wait for the same event and settle together. */

/** See the module. */
export class Waiters {
  #all: { resolve: () => void; reject: (error: Error) => void }[] = [];

  /** Settles with the next `resolve` or `reject`. */
  wait(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#all.push({ resolve, reject });
    });
  }

  resolve(): void {
    for (const { resolve } of this.#all.splice(0)) resolve();
  }

  reject(error: Error): void {
    for (const { reject } of this.#all.splice(0)) reject(error);
  }
}
