/** The error of a failed call, and the text of the last one. */

import { constants } from 'node:os';
import { getSystemErrorName } from 'node:util';

/** The error of a call that the system refused, or that has an invalid address or request. */
export class InternalError extends Error {
  /** The name of the system's error: `'EBADF'`. `'ENOTFOUND'` if a host name is not found. */
  readonly code: string;
  /** The number of the error, positive. */
  readonly errno: number;
  /** The name of the function: `'bind'`. */
  readonly syscall: string;

  /** @internal */
  constructor(message: string, syscall: string, errno: number) {
    super(message);
    this.code = nameOf(errno);
    this.errno = errno;
    this.syscall = syscall;
  }
}

Object.defineProperty(InternalError.prototype, 'name', { value: 'InternalError', configurable: true, writable: true });

/** The number of the error for an argument that has the right type and a wrong value. */
export const EINVAL = constants.errno.EINVAL;

/** Makes the error, and keeps its text for `get_error`. */
export function failed(syscall: string, errno: number, text: string, message?: string): InternalError {
  last = text;
  return new InternalError(message ?? `${syscall}() failed: ${text}`, syscall, errno);
}

/** The text of the last failed call in this thread. Undefined if none has failed. */
export function lastText(): string | undefined {
  return last;
}

let last: string | undefined;

function nameOf(errno: number): string {
  const resolver = RESOLVER[errno];
  if (resolver !== undefined) return resolver;
  // the runtime's names are those of libuv, which lacks some of the system's errors
  const known = Object.entries(constants.errno).find(([, number]) => number === errno);
  if (known !== undefined && known[0] !== 'EWOULDBLOCK') return known[0];
  try {
    return getSystemErrorName(-errno);
  } catch {
    return known?.[0] ?? `E${errno}`;
  }
}

/** Errors of the resolver, which have numbers of libuv and not of the system. The names are those of Node.js. */
const RESOLVER: Partial<Record<number, string>> = {
  3001: 'EAI_AGAIN',
  3004: 'EAI_FAIL',
  3006: 'EAI_MEMORY',
  3008: 'ENOTFOUND',
};

/** The texts of the resolver's errors. */
export const RESOLVER_TEXTS: Partial<Record<number, string>> = {
  3001: 'Temporary failure in name resolution',
  3004: 'Non-recoverable failure in name resolution',
  3006: 'Memory allocation failure',
  3008: 'Name or service not known',
};
