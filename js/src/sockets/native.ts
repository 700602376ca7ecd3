/** The native functions, what their answers mean, and waiting. */

import { constants } from 'node:os';
import { nativeSockets } from '../addon/binding.js';
import type { NativeSockets } from '../addon/native-interface.js';
import { EINVAL, failed, type InternalError, lastText, RESOLVER_TEXTS } from './error.js';

/** Undefined on a platform that has none. */
const native = nativeSockets();

/** The numbers of this platform, by their names. */
export const NUMBERS: Readonly<Record<string, number>> = native?.constants() ?? {};

/**
 * The native functions, for a call of this name.
 *
 * @throws {InternalError} ENOSYS, where there are none
 */
export function calls(syscall: string): NativeSockets {
  if (native === undefined) throw absent(syscall);
  return native;
}

/** Those for epoll. */
export function epollCalls(syscall: string): Required<NativeSockets> {
  if (native?.epollCreate === undefined) throw absent(syscall);
  return native as Required<NativeSockets>;
}

function absent(syscall: string): InternalError {
  const what = native === undefined ? 'low-level sockets are' : 'epoll is';
  return failed(syscall, constants.errno.ENOSYS, `${what} not available on ${process.platform}`);
}

/** Functions that answer with a number below zero have failed. */
export function done(syscall: string, answer: number): number {
  if (answer < 0) throw failedWith(syscall, -answer);
  return answer;
}

/** What a function answered that may have failed, with a number. */
export function told<T>(syscall: string, answer: T | number): T {
  if (typeof answer === 'number') throw failedWith(syscall, -answer);
  return answer;
}

/** As `done`, for functions that may say that an address is none. */
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
 * The text of the last failed call in this thread. Calls that succeed leave it alone.
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
 * Calls until there is an answer: each call waits for a slice of time. Between two of them JavaScript runs, so that a runtime
 * can end the thread.
 */
export function waiting<T>(call: () => T | undefined): T {
  for (;;) {
    const answer = call();
    if (answer !== undefined) return answer;
  }
}

/** As `waiting`, for at most so many ms; below zero without end. The call is told what is left. */
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
