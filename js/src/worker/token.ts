/**
 * Tokens that are no bytes: how a value is stored, and how it is read again. Owns the form. Bytes stay as they are, and the
 * native side keeps beside each token which of the two it is, so no bytes can pass for a value.
 *
 * A stored value is eight bytes that differ for every call that stores one, and then what `serialize` of `node:v8` makes of
 * it: one process has one runtime, so whoever reads it understands it.
 */

import type { Data } from '../gateway/target.js';
import { readable } from '../log/report.js';

/** A token as the native side keeps it. */
export interface StoredToken {
  readonly data: Data | undefined;
  /** Whether `data` is a value that was serialised. */
  readonly isValue: boolean;
}

/** None. */
export const NO_TOKEN: StoredToken = { data: undefined, isValue: false };

/**
 * The form in which a token is stored.
 *
 * @param at how an error names it: `"argument 'token'"`
 * @throws {TypeError} if it is a value that cannot be cloned
 */
export function storedToken(token: unknown, at: string): StoredToken {
  if (token === undefined) return NO_TOKEN;
  return isData(token) ? { data: token, isValue: false } : { data: serialised(token, at), isValue: true };
}

/** Whether something is a token that is stored as it is. */
export function isData(token: unknown): token is Data {
  return typeof token === 'string' || token instanceof Uint8Array || token instanceof ArrayBuffer;
}

/** Where a worker keeps the value that it has read last for a connection. */
export interface TokenHolder {
  token: unknown;
  /** The first bytes of the stored value that `token` was read from; empty: it is none. */
  tokenStamp: string;
}

/** Reads a stored value, unless the holder has it already: one that was not stored anew stays the same object. */
export function readValue(stored: Buffer, holder: TokenHolder): unknown {
  const stamp = stored.toString('latin1', 0, STAMP_BYTES);
  if (holder.tokenStamp === stamp) return holder.token;
  const value: unknown = v8().deserialize(stored.subarray(STAMP_BYTES));
  holder.tokenStamp = stamp;
  holder.token = value;
  return value;
}

const STAMP_BYTES = 8;

/** Differs from thread to thread; the half behind it is counted. */
let thread: number | undefined;
let count = 0;

function serialised(value: unknown, at: string): Buffer {
  let bytes: Buffer;
  try {
    bytes = v8().serialize(value);
  } catch (cause) {
    throw new TypeError(`${at} must be bytes, or a value that can be cloned: ${readable(cause)}`, { cause });
  }
  thread ??= require('node:crypto').randomInt(2 ** 32) as number;
  count = (count + 1) >>> 0;
  const stored = Buffer.allocUnsafe(STAMP_BYTES + bytes.length);
  stored.writeUInt32LE(thread, 0);
  stored.writeUInt32LE(count, 4);
  stored.set(bytes, STAMP_BYTES);
  return stored;
}

/** Loaded here, because most programs have tokens of bytes, or none. */
function v8(): typeof import('node:v8') {
  return require('node:v8');
}
