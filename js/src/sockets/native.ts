/** The native functions, the meaning of their results, and waiting. */

import { constants } from 'node:os';
import { nativeSockets } from '../addon/binding.js';
import type { NativeSockets } from '../addon/native-interface.js';
import { EINVAL, failed, type InternalError, lastText, RESOLVER_TEXTS } from './error.js';

/** Undefined on a platform without these functions. */
const native = nativeSockets();

/** The platform's constants by name. */
export const NUMBERS: Readonly<Record<string, number>> = native?.constants() ?? {};

/**
 * Returns the native functions, for the call with this name.
 *
 * @throws {InternalError} ENOSYS on a platform without them
 */
export function calls(syscall: string): NativeSockets {
  if (native === undefined) throw absent(syscall);
  return native;
}

/** Returns the native functions of epoll. */
export function epollCalls(syscall: string): Required<NativeSockets> {
  if (native?.epollCreate === undefined) throw absent(syscall);
  return native as Required<NativeSockets>;
}

function absent(syscall: string): InternalError {
  const what = native === undefined ? 'low-level sockets are' : 'epoll is';
  return failed(syscall, constants.errno.ENOSYS, `${what} not available on ${process.platform}`);
}

/** Returns a result, or throws if it is negative. */
export function done(syscall: string, answer: number): number {
  if (answer < 0) throw failedWith(syscall, -answer);
  return answer;
}

/** Returns the result of a function that reports an error as a number. */
export function told<T>(syscall: string, answer: T | number): T {
  if (typeof answer === 'number') throw failedWith(syscall, -answer);
  return answer;
}

/** As `done`, for functions that return false for an invalid address. */
export function doneAt(syscall: string, address: string, answer: number | false): number {
  if (answer !== false) return done(syscall, answer);
  throw failed(syscall, EINVAL, textOf(EINVAL), `Invalid address: ${address}`);
}

function failedWith(syscall: string, errno: number): InternalError {
  return failed(syscall, errno, textOf(errno));
}

function textOf(errno: number): string {
  return RESOLVER_TEXTS[errno] ?? calls('strerror').errorText(errno);
}

/**
 * Returns the text of the last failed call in this thread. Calls that succeed do not change it.
 *
 * @example
 * ```ts
 * try {
 *   bind(fd, '127.0.0.1', 80);
 * } catch {
 *   console.log(get_error()); // Permission denied
 * }
 * ```
 */
export function get_error(): string {
  return lastText() ?? native?.errorText(0) ?? '';
}

/**
 * Repeats a call until it has a result. Each call waits for a slice of time. JavaScript runs between two calls, so that
 * a runtime can end the thread.
 */
export function waiting<T>(call: () => T | undefined): T {
  for (;;) {
    const answer = call();
    if (answer !== undefined) return answer;
  }
}

/**
 * As `waiting`, for at most `timeout` milliseconds, or without a limit if it is negative. The call gets the time that
 * is left.
 */
export function waitingFor<T>(timeout: number, call: (left: number) => T | undefined): T {
  if (!(timeout > 0)) return waiting(() => call(timeout));
  const end = performance.now() + timeout;
  let left = timeout;
  return waiting(() => {
    const answer = call(left);
    left = Math.max(0, Math.ceil(end - performance.now()));
    return answer;
  });
}
