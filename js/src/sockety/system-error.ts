/** Errors of the file system that the native side reports, in the form of Node.js. */

import { constants } from 'node:os';
import { getSystemErrorName } from 'node:util';

/** `problem`: the error's number or name, a space, and its text. */
export function systemError(problem: string, syscall: string, path: string): NodeJS.ErrnoException {
  const at = problem.indexOf(' ');
  const told = problem.slice(0, at);
  const code = Number.isNaN(Number(told)) ? told : nameOf(-Number(told));
  const errno = -((constants.errno as Record<string, number>)[code] ?? 0);
  const message = `${code}: ${problem.slice(at + 1)}, ${syscall} '${path}'`;
  return Object.assign(new Error(message), { code, errno, syscall, path });
}

function nameOf(errno: number): string {
  try {
    return getSystemErrorName(errno);
  } catch {
    return 'EIO';
  }
}
