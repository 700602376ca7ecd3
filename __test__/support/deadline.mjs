// Waiting in tests: always for a condition, always with a deadline, never for a while.

/**
 * How long a test waits for something that should happen at once, in ms. It only bounds a hang: a busy machine may leave a
 * thread or a process alone for seconds, several times in a row.
 */
export const SOON = 60_000;

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

/** Tries something until it does not reject, and resolves as it does: for what a busy machine may do too late. */
export async function again(attempt, what, ms = SOON) {
  let failure;
  const done = await until(
    async () => {
      try {
        return { value: await attempt() };
      } catch (error) {
        failure = error;
        return undefined;
      }
    },
    () => `${what}, but ${failure.message}`,
    ms,
  );
  return done.value;
}
