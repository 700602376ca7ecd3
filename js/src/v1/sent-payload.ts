/** What handlers and calls send: text and bytes as they are, anything else as JSON. */

import type { Data } from '../gateway/target.js';

/**
 * The payload for a value. Undefined: there is none, because there is no value.
 *
 * @throws {TypeError} if JSON cannot have it
 */
export function payloadOf(value: unknown, name: string): Data | undefined {
  // other threads may be writing it, so its bytes are copied
  if (value instanceof SharedArrayBuffer) return new Uint8Array(value).slice();
  if (ArrayBuffer.isView(value) && value.buffer instanceof SharedArrayBuffer) {
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice();
  }
  if (value === undefined || typeof value === 'string' || value instanceof ArrayBuffer) return value;
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) throw new TypeError(`${name} must be text, bytes or a value that JSON has`);
  return text;
}
