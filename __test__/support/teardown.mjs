// Cleans up after a test: processes first, then folders. A folder can be removed on every system only once nothing runs
// in it, and on some of them not at once.
import { rm } from 'node:fs/promises';

/** Removes a folder with everything in it, if it is there. */
export async function remove(folder) {
  await rm(folder, { recursive: true, force: true, maxRetries: 10 });
}

/** Removes a folder with the test. Teardowns run in the opposite order: called before anything is started in it. */
export function removeWith(t, folder) {
  t.teardown(() => remove(folder));
  return folder;
}

/** Resolves when a child process is over and has closed its streams, with its exit code or the signal that ended it. */
export function exitOf(child) {
  return new Promise((resolve) => child.once('close', (code, signal) => resolve(signal ?? code)));
}

/** Ends a child process, if it still runs. */
export function kill(child) {
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
}

/** Ends a child process with the test, and waits until it is over; resolves as `exitOf`. */
export function endWith(t, child) {
  const exited = exitOf(child);
  t.teardown(async () => {
    kill(child);
    await exited;
  });
  return exited;
}
