// Tests for some systems only: elsewhere they are skipped, and say why.

/** `test` for what programs do on a signal: on Windows none can be sent to another process, which is just ended. */
export const signalTests = (test) => only(test, process.platform !== 'win32', 'Windows cannot send signals');

/** `test` for addresses such as `unix:/path`. */
export const unixTests = (test) => only(test, process.platform !== 'win32', 'no unix sockets on Windows');

/** `test` for what a process uses (`ServerProcess.usage`): only Linux tells it in files. */
export const linuxTests = (test) => only(test, process.platform === 'linux', 'needs /proc');

function only(test, applies, why) {
  if (applies) return test;
  const skip = (title, run) => test.skip(`${title} (${why})`, run);
  const serial = (title, run) => test.serial.skip(`${title} (${why})`, run);
  return Object.assign(skip, { skip, serial: Object.assign(serial, { skip: serial }) });
}
