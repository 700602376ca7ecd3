/** Names of statuses, and the error that stands for one. Owns no response. */

import { STATUS_CODES } from 'node:http';

/** The name of a status, as the platform has it; `Unknown` for one that has none. */
export function statusText(code: number): string {
  return STATUS_CODES[code] ?? 'Unknown';
}

/** Whether an answer must bring the name of its status along: native code would write another one. */
export function isNamedOtherwise(code: number): boolean {
  return code === 203 || code === 418 || code === 509;
}

/**
 * An error that says what the client did wrong. Error handlers see it; without one the answer is the status and its
 * name. Any error with a `status` from 400 to 499 is treated so.
 *
 * @example
 * ```ts
 * throw new HttpError(409, 'the name is taken');
 * ```
 */
export class HttpError extends Error {
  /** The status of the answer. */
  readonly status: number;

  /** `message` is for error handlers and is not sent. */
  constructor(status: number, message: string = statusText(status), options?: { cause?: unknown }) {
    super(message, options);
    this.status = status;
  }
}

Object.defineProperty(HttpError.prototype, 'name', { value: 'HttpError', configurable: true, writable: true });

/** The status that an error asks for; 500 if it is none of the client's faults. */
export function statusOf(error: unknown): number {
  if (typeof error !== 'object' || error === null) return 500;
  const { status, statusCode } = error as { status?: unknown; statusCode?: unknown };
  for (const asked of [status, statusCode]) {
    if (typeof asked === 'number' && Number.isInteger(asked) && asked >= 400 && asked < 500) return asked;
  }
  return 500;
}
