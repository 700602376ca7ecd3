/** Messages of crossws in the form that Millrace sends. */

import { readable } from '../log/report.js';

/**
 * Converts what a hook sends: text and what has a text form to a string, bytes to bytes, and plain objects to JSON.
 *
 * @throws {TypeError} if it is something else
 */
export function payloadOf(data: unknown): string | Uint8Array {
  switch (typeof data) {
    case 'string':
      return data;
    case 'undefined':
      return '';
    case 'number':
    case 'boolean':
    case 'bigint':
      return String(data);
    case 'object':
      if (data === null) return '';
      break;
    default:
      // as JSON has neither functions nor symbols
      return '{}';
  }
  if (data instanceof Uint8Array) return data;
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  // shared memory could change while it is sent
  if (typeof SharedArrayBuffer !== 'undefined' && data instanceof SharedArrayBuffer)
    return new Uint8Array(data).slice();
  if (isPlain(data)) return JSON.stringify(data);
  throw new TypeError(`argument 'data' must be text, bytes, or a plain object, not ${readable(data)}`);
}

/** Whether an object has no class of its own. */
function isPlain(data: object): boolean {
  const prototype = Object.getPrototypeOf(data);
  // the last: `Object.prototype` of another realm
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null;
}

/** The options of a message of Millrace for those of crossws: `compress: false` sends it as it is. Most have none. */
export function compressionOf(options: { compress?: boolean } | undefined): { compress?: boolean } | undefined {
  return options?.compress === undefined ? undefined : { compress: options.compress };
}
