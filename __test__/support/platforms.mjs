// Tests for some systems only: on others they are skipped with a reason.
import { skipping } from './needing.mjs';

/** `test` for signals: Windows cannot send a signal to another process, only terminate it. */
export const signalTests = (test) => only(test, process.platform !== 'win32', 'Windows cannot send signals');

/** `test` for addresses such as `unix:/path`. */
export const unixTests = (test) => only(test, process.platform !== 'win32', 'no unix sockets on Windows');

/** `test` for files, links and ports, which behave differently on Windows. */
export const posixTests = (test) => only(test, process.platform !== 'win32', 'otherwise on Windows');

/** `test` for the resources of a process (`ServerProcess.usage`), which only Linux shows in files. */
export const linuxTests = (test) => only(test, process.platform === 'linux', 'needs /proc');

/** `test` if a condition holds that no installation can change. */
export function only(test, applies, why) {
  return applies ? test : skipping(test, why);
}
