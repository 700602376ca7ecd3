/** Names of statuses, and the error that stands for a status. Does not know responses. */

import { STATUS_CODES } from 'node:http';

/** The platform's name of a status, or `Unknown`. */
export function statusText(code: number): string {
  return STATUS_CODES[code] ?? 'Unknown';
}

/** Whether an answer must include the name of its status, because native code would write another one. */
export function isNamedOtherwise(code: number): boolean {
  return code === 203 || code === 418 || code === 509;
}

/**
 * An error that tells the client's mistake by a status. Error handlers get it; without them, the answer has this status
 * with its name as the body. Any error with a `status` from 400 to 499 is treated the same.
 *
 * @example
 * ```ts
 * throw new HttpError(409, 'the name is taken');
 * ```
 */
export class HttpError extends Error {
  /** The status of the answer. */
  readonly status: number;

  /** `message` is for error handlers. It is not sent. */
  constructor(status: number, message: string = statusText(status), options?: { cause?: unknown }) {
    super(message, options);
    this.status = status;
  }
}

Object.defineProperty(HttpError.prototype, 'name', { value: 'HttpError', configurable: true, writable: true });

/** The status of an error. 500 if the error does not name a status from 400 to 499. */
export function statusOf(error: unknown): number {
  if (typeof error !== 'object' || error === null) return 500;
  const { status, statusCode } = error as { status?: unknown; statusCode?: unknown };
  for (const asked of [status, statusCode]) {
    if (typeof asked === 'number' && Number.isInteger(asked) && asked >= 400 && asked < 500) return asked;
  }
  return 500;
}
