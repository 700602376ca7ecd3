/** What a failed call throws, and the text of the last one. */

import { constants } from 'node:os';
import { getSystemErrorName } from 'node:util';

/** A call failed: the system said so, or an address or a request is none. */
export class InternalError extends Error {
  /** The name of the system's error: `'EBADF'`. Of a name that is not found `'ENOTFOUND'`. */
  readonly code: string;
  /** Its number, positive. */
  readonly errno: number;
  /** The function: `'bind'`. */
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

/** The number of what is wrong with an argument that has the right type. */
export const EINVAL = constants.errno.EINVAL;

/** Keeps the text for `get_error`. */
export function failed(syscall: string, errno: number, text: string, message?: string): InternalError {
  last = text;
  return new InternalError(message ?? `${syscall}() failed: ${text}`, syscall, errno);
}

/** The text of the last failed call in this thread, if there was one. */
export function lastText(): string | undefined {
  return last;
}

let last: string | undefined;

function nameOf(errno: number): string {
  const resolver = RESOLVER[errno];
  if (resolver !== undefined) return resolver;
  // the runtime's names are those of libuv, which has not all of the system's
  const known = Object.entries(constants.errno).find(([, number]) => number === errno);
  if (known !== undefined && known[0] !== 'EWOULDBLOCK') return known[0];
  try {
    return getSystemErrorName(-errno);
  } catch {
    return known?.[0] ?? `E${errno}`;
  }
}

/** The resolver has numbers of libuv, which no system has. Named as in Node.js. */
const RESOLVER: Partial<Record<number, string>> = {
  3001: 'EAI_AGAIN',
  3004: 'EAI_FAIL',
  3006: 'EAI_MEMORY',
  3008: 'ENOTFOUND',
};

/** What the resolver's numbers say. */
export const RESOLVER_TEXTS: Partial<Record<number, string>> = {
  3001: 'Temporary failure in name resolution',
  3004: 'Non-recoverable failure in name resolution',
  3006: 'Memory allocation failure',
  3008: 'Name or service not known',
};
