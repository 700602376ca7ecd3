// Waiting in tests: always for a condition with a deadline, never for a fixed time.

/**
 * How long a test waits for something that should happen at once, in ms. It is only a limit for hangs: a busy machine
 * may not run a thread or a process for seconds, several times in a row.
 */
export const SOON = 60_000;

/** Resolves like `promise`, or rejects after `ms` with an error that says what did not happen. */
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

/** Evaluates `condition` (may be async, as may `what`) until it is truthy, and resolves with its value, or rejects after `ms`. */
export async function until(condition, what, ms = SOON) {
  const deadline = performance.now() + ms;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (performance.now() > deadline)
      throw new Error(`not within ${ms} ms: ${typeof what === 'function' ? await what() : what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Repeats an action that may be late on a busy machine until it does not reject; resolves with its result. */
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
