// Waiting in tests: always for a condition, always with a deadline, never for a while.

/** How long a test waits for something that should happen at once, in ms. Generous: the machine may be busy. */
export const SOON = 15_000;

/** Resolves like `promise`, or rejects after `ms` saying what was missing. */
export async function within(promise, what, ms = SOON) {
  let timer;
  const late = new Promise((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Error(`not within ${ms} ms: ${typeof what === 'function' ? what() : what}`)),
      ms,
    );
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Looks at `condition` (may be async) until it is truthy and returns its value, or rejects after `ms`. */
export async function until(condition, what, ms = SOON) {
  const deadline = performance.now() + ms;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (performance.now() > deadline)
      throw new Error(`not within ${ms} ms: ${typeof what === 'function' ? what() : what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
