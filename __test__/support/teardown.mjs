// Cleans up after a test: processes first, then folders. Some systems remove a folder only when no process uses it, and
// some of them not at once.
import { rm } from 'node:fs/promises';

/** Removes a folder with everything in it, if it exists. */
export async function remove(folder) {
  await rm(folder, { recursive: true, force: true, maxRetries: 10 });
}

/** Removes a folder after the test. Teardowns run in reverse order, so call this before you start a process in it. */
export function removeWith(t, folder) {
  t.teardown(() => remove(folder));
  return folder;
}

/** Resolves with its exit code or signal when a child process has ended and closed its streams. */
export function exitOf(child) {
  return new Promise((resolve) => child.once('close', (code, signal) => resolve(signal ?? code)));
}

/** Kills a child process, if it still runs. */
export function kill(child) {
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
}

/** Kills a child process after the test, and waits for its end; resolves like `exitOf`. */
export function endWith(t, child) {
  const exited = exitOf(child);
  t.teardown(async () => {
    kill(child);
    await exited;
  });
  return exited;
}
