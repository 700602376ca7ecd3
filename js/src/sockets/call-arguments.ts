/** Checks arguments before the native functions get them. */

import { shown } from '../options/fields.js';

/** Converts a value to a 32-bit integer, as the original library does. */
export function toInt32(value: unknown, argument: string): number {
  if (typeof value === 'bigint' || typeof value === 'symbol') throw wrong(argument, 'a number', value);
  return Number(value) | 0;
}

/** The bits of a mask that is given as a signed or unsigned number. */
export function toMask(value: unknown, argument: string): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= -(2 ** 31) && value < 2 ** 32) return value | 0;
  throw wrong(argument, 'an integer of at most 32 bits', value);
}

/** Whether the options ask for bytes. */
export function wantsBytes(options: unknown): boolean {
  if (options === undefined) return false;
  if (typeof options !== 'object' || options === null) throw wrong('options', 'an object', options);
  const { bytes } = options as { bytes?: unknown };
  if (bytes !== undefined && typeof bytes !== 'boolean') throw wrong('options.bytes', 'true or false', bytes);
  return bytes === true;
}

/** The error for a wrong argument. */
export function wrong(argument: string, expected: string, given: unknown): TypeError {
  const what = typeof given === 'symbol' ? 'a symbol' : shown(given);
  return new TypeError(`argument '${argument}' must be ${expected}, not ${what}`);
}
