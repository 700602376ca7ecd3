/**
 * Stores tokens that are not bytes, and reads them again. Tokens of bytes are stored unchanged. The native side keeps
 * beside each token which of the two it is, so that bytes can never be taken for a value.
 *
 * A stored value is eight bytes that are different for every call that stores one, followed by the result of
 * `serialize` of `node:v8`. All threads of a process have the same runtime, so each can read it.
 */

import type { Data } from '../gateway/target.js';
import { readable } from '../log/report.js';

/** A token in the form of the native side. */
export interface StoredToken {
  readonly data: Data | undefined;
  /** Whether `data` is a serialised value. */
  readonly isValue: boolean;
}

/** The stored form of no token. */
export const NO_TOKEN: StoredToken = { data: undefined, isValue: false };

/**
 * Converts a token into its stored form.
 *
 * @param at the token's name in errors: `"argument 'token'"`
 * @throws {TypeError} if it is a value that cannot be cloned
 */
export function storedToken(token: unknown, at: string): StoredToken {
  if (token === undefined) return NO_TOKEN;
  return isData(token) ? { data: token, isValue: false } : { data: serialised(token, at), isValue: true };
}

/** Whether a token is stored unchanged. */
export function isData(token: unknown): token is Data {
  return typeof token === 'string' || token instanceof Uint8Array || token instanceof ArrayBuffer;
}

/** The place where a worker keeps the value that it read last for a connection. */
export interface TokenHolder {
  token: unknown;
  /** The first bytes of the stored value that `token` was read from. Empty: `token` is not such a value. */
  tokenStamp: string;
}

/** Reads a stored value. If the holder has read it already, and no other was stored, the same object is returned. */
export function readValue(stored: Buffer, holder: TokenHolder): unknown {
  const stamp = stored.toString('latin1', 0, STAMP_BYTES);
  if (holder.tokenStamp === stamp) return holder.token;
  const value: unknown = v8().deserialize(stored.subarray(STAMP_BYTES));
  holder.tokenStamp = stamp;
  holder.token = value;
  return value;
}

const STAMP_BYTES = 8;

/** The first half of the eight bytes, which differs from thread to thread. The second half is a counter. */
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

/** Loaded on demand, because most programs have tokens of bytes or none. */
function v8(): typeof import('node:v8') {
  return require('node:v8');
}
