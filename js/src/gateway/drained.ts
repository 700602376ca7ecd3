/** Waits until a socket's outbox has room. Owns the deadline of each wait. */

import { MillraceError } from '../errors.js';
import { readNumber, readObject, readSignal } from '../options/fields.js';
import { type Questions, YES } from './questions.js';

/** Options of `drained`. */
export interface DrainedOptions {
  /** After this time, in milliseconds, the promise is rejected with ERR_MILLRACE_NOT_DRAINED. Default: no limit. */
  timeoutMs?: number;
  /** When it is aborted, the promise is rejected with its reason. */
  signal?: AbortSignal;
}

/**
 * See the module function `drained`.
 *
 * @throws {TypeError} if an argument is wrong
 */
export function untilDrained(questions: Questions, socketId: number, options?: DrainedOptions): Promise<boolean> {
  const { timeoutMs, signal } = readOptions(options);
  signal?.throwIfAborted();
  const { native } = questions;
  const question = native.whenDrained(socketId);
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', aborted);
    };
    const giveUp = (reason: unknown): void => {
      end();
      questions.forget(question);
      reject(reason);
    };
    const aborted = (): void => giveUp(signal?.reason);
    questions.await(question, (answer) => {
      end();
      resolve(answer === YES);
    });
    signal?.addEventListener('abort', aborted);
    if (timeoutMs !== undefined) timer = setTimeout(() => giveUp(late(socketId, timeoutMs)), timeoutMs);
  });
}

function late(socketId: number, timeoutMs: number): MillraceError {
  const message = `the outbox of socket ${socketId} was not drained within ${timeoutMs} ms`;
  return new MillraceError('ERR_MILLRACE_NOT_DRAINED', message);
}

function readOptions(options: unknown): DrainedOptions {
  if (options === undefined) return {};
  const problems: string[] = [];
  const fields = readObject(options, 'options', ['timeoutMs', 'signal'], problems);
  const timeoutMs = readNumber(fields['timeoutMs'], 'options.timeoutMs', { least: 0, most: DAY_MS }, problems);
  const signal = readSignal(fields['signal'], 'options.signal', problems);
  if (problems.length > 0) throw new TypeError(problems.join('; '));
  return { ...(timeoutMs !== undefined && { timeoutMs }), ...(signal !== undefined && { signal }) };
}

const DAY_MS = 86_400_000;
