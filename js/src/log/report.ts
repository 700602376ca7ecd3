/** Formats errors for people and passes them between threads. Does not decide what is reported. */

import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { OWN_FOLDER } from '../addon/place.js';
import { type ErrorCode, MillraceError } from '../errors.js';
import { write } from './output.js';

/** A thrown value in a form that can be posted to another thread. */
export interface PostedError {
  /** Whether it was an `Error`. */
  isError: boolean;
  name: string;
  message: string;
  stack: string;
  code: string | undefined;
}

/** A `MillraceError` in a form that can be posted to another thread. */
export interface PostedReport {
  code: ErrorCode;
  message: string;
  cause: PostedError | undefined;
}

/** Converts a thrown value into a form that can be posted. */
export function postable(value: unknown): PostedError {
  if (isErrorLike(value)) {
    const { name, message, stack, code } = value as Error & { code?: unknown };
    return {
      isError: true,
      name: String(name),
      message: String(message),
      stack: typeof stack === 'string' ? withoutOurs(stack) : `${name}: ${message}`,
      code: typeof code === 'string' ? code : undefined,
    };
  }
  return { isError: false, name: 'Error', message: readable(value), stack: '', code: undefined };
}

/** A stack up to our own code: how a handler was called does not help its author. */
function withoutOurs(stack: string): string {
  const lines = stack.split('\n');
  const last = lines.findLastIndex((line) => /^\s+at /.test(line) && !OURS.some((folder) => line.includes(folder)));
  return last < 0 ? stack : lines.slice(0, last + 1).join('\n');
}

/** Restores an error that was posted, as far as possible. */
export function revive(posted: PostedError): unknown {
  const error: Error & { code?: string } = new Error(posted.message);
  error.name = posted.name;
  error.stack = posted.isError ? posted.stack : `(no stack: the thrown value is ${posted.message})`;
  if (posted.code !== undefined) error.code = posted.code;
  return error;
}

/** Restores the `MillraceError` of a posted report. */
export function revivedReport(report: PostedReport): MillraceError {
  const options = report.cause === undefined ? undefined : { cause: revive(report.cause) };
  return new MillraceError(report.code, report.message, options);
}

/** A thrown value of any type in one line. */
export function readable(value: unknown): string {
  if (typeof value === 'string') return value;
  if (isErrorLike(value)) return String((value as Error).message);
  try {
    return inspect(value, { depth: 2, breakLength: Number.POSITIVE_INFINITY });
  } catch {
    return 'a value that cannot be shown';
  }
}

/** The error for a worker that could not be started. */
export function workerFailure(cause: unknown): MillraceError {
  // this error explains itself and needs no other error around it
  if (cause instanceof Error && (cause as MillraceError).code === 'ERR_MILLRACE_NO_HANDLER') {
    return new MillraceError('ERR_MILLRACE_NO_HANDLER', cause.message);
  }
  return new MillraceError('ERR_MILLRACE_WORKER_FAILED', `a worker could not be started: ${readable(cause)}`, {
    cause: cause instanceof Error ? cause : revive(postable(cause)),
  });
}

/** Prints an error to the standard error output, with the stack of its cause. */
export function print(error: MillraceError): void {
  const cause = error.cause === undefined ? '' : `\n${stackOf(error.cause)}`;
  write(process.stderr, `millrace: ${error.message} (${error.code})${cause}\n`);
}

function stackOf(value: unknown): string {
  return isErrorLike(value) ? String((value as Error).stack ?? value) : readable(value);
}

/**
 * The folder of our compiled code and, through source maps, of its sources, as a path and as a URL. In a bundle: the
 * text at the beginning of a thread's code.
 */
const OURS =
  OWN_FOLDER === undefined
    ? ['[worker eval]']
    : [path.join(OWN_FOLDER, '..', path.sep), `${pathToFileURL(path.join(OWN_FOLDER, '..')).href}/`];

function isErrorLike(value: unknown): boolean {
  return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]';
}
