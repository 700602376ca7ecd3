// Tests for some systems only: elsewhere they are skipped, and say why.
import { skipping } from './needing.mjs';

/** `test` for what programs do on a signal: on Windows none can be sent to another process, which is just ended. */
export const signalTests = (test) => only(test, process.platform !== 'win32', 'Windows cannot send signals');

/** `test` for addresses such as `unix:/path`. */
export const unixTests = (test) => only(test, process.platform !== 'win32', 'no unix sockets on Windows');

/** `test` for what files, links and ports are on every system but one. */
export const posixTests = (test) => only(test, process.platform !== 'win32', 'otherwise on Windows');

/** `test` for what a process uses (`ServerProcess.usage`): only Linux tells it in files. */
export const linuxTests = (test) => only(test, process.platform === 'linux', 'needs /proc');

/** `test` where something applies, which nobody can install. */
export function only(test, applies, why) {
  return applies ? test : skipping(test, why);
}
