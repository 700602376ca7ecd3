/** Calls methods of clients of `millrace.v1`. Owns the deadline of each call. */

import { CallError } from '../client/call-error.js';
import { readNumber, readObject } from '../options/fields.js';
import { payloadOf } from '../v1/sent-payload.js';
import { FAILED, type Questions, SAID, UNABLE } from './questions.js';

/** Options of `call`. */
export interface CallOptions {
  /** After this time, in milliseconds, the promise is rejected with the code `timeout`. Default: 10,000. */
  timeoutMs?: number;
}

/** See the module function `call`. @throws {TypeError} if an argument is wrong */
export function callClient(
  questions: Questions,
  socketId: number,
  method: string,
  params?: unknown,
  options?: CallOptions,
): Promise<string | Uint8Array> {
  const timeoutMs = readTimeout(options);
  if (typeof method !== 'string' || method === '' || Buffer.byteLength(method) > METHOD_BYTES) {
    throw new TypeError(`argument 'method' must be text of 1 to ${METHOD_BYTES} bytes`);
  }
  const { native } = questions;
  const question = native.callClient(socketId, method, payloadOf(params, "argument 'params'"));
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      questions.forget(question);
      reject(new CallError('timeout', `no answer within ${timeoutMs} ms`));
    }, timeoutMs);
    questions.await(question, (answer) => {
      clearTimeout(timer);
      const result = answer === SAID || answer === FAILED ? native.takeResult(question) : undefined;
      if (Array.isArray(result)) reject(new CallError(result[0] as string, result[1]));
      else if (result !== undefined) resolve(result);
      else if (answer === UNABLE) reject(new CallError('not_found', 'the socket does not speak millrace.v1'));
      else reject(new CallError('closed'));
    });
  });
}

function readTimeout(options: unknown): number {
  if (options === undefined) return TIMEOUT_MS;
  const problems: string[] = [];
  const fields = readObject(options, 'options', ['timeoutMs'], problems);
  const timeoutMs = readNumber(fields['timeoutMs'], 'options.timeoutMs', { least: 1, most: DAY_MS }, problems);
  if (problems.length > 0) throw new TypeError(problems.join('; '));
  return timeoutMs ?? TIMEOUT_MS;
}

const TIMEOUT_MS = 10_000;
const DAY_MS = 86_400_000;

/** The most bytes of a method's name. */
const METHOD_BYTES = 1024;
