/**
 * Readers for the fields of option objects. Each adds a problem for a value of the wrong kind. They know no option by
 * name.
 */

import type { Range } from './limit-values.js';
import { closestName } from './misspelt.js';

/** An object's fields. */
export type Fields = Readonly<Record<string, unknown>>;

/** The fields of a value that is not an object. */
export const NOTHING: Fields = Object.freeze({});

/** Reads an object. Adds a problem for each unknown key. Returns `NOTHING` for a value that is not an object. */
export function readObject(value: unknown, at: string, keys: readonly string[], problems: string[]): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    problems.push(`${at} must be an object, not ${shown(value)}`);
    return NOTHING;
  }
  for (const key of Object.keys(value)) {
    if (keys.includes(key)) continue;
    const meant = closestName(key, keys);
    const hint = meant === undefined || meant in value ? '' : `; did you mean ${meant}?`;
    problems.push(`unknown option ${at}.${key}${hint}`);
  }
  return value as Fields;
}

/** Reads a whole number in a range. */
export function readNumber(value: unknown, at: string, range: Range, problems: string[]): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= range.least && value <= range.most) {
    return value + 0;
  }
  problems.push(`${at} must be a whole number from ${range.least} to ${range.most}, not ${shown(value)}`);
  return undefined;
}

/** Reads a function. */
export function readFunction<T>(value: unknown, at: string, problems: string[]): ((given: T) => void) | undefined {
  if (value === undefined || typeof value === 'function') return value as undefined;
  problems.push(`${at} must be a function, not ${shown(value)}`);
  return undefined;
}

/** Reads a boolean. */
export function readFlag(value: unknown, at: string, problems: string[]): boolean | undefined {
  if (value === undefined || typeof value === 'boolean') return value;
  problems.push(`${at} must be true or false, not ${shown(value)}`);
  return undefined;
}

/** Reads an `AbortSignal`. */
export function readSignal(value: unknown, at: string, problems: string[]): AbortSignal | undefined {
  if (value === undefined || value instanceof AbortSignal) return value;
  problems.push(`${at} must be an AbortSignal, not ${shown(value)}`);
  return undefined;
}

/** A list of alternatives for a message: `'a', 'b' or 'c'`. */
export function choice(words: readonly string[]): string {
  const quoted = words.map((word) => `'${word}'`).join(', ');
  return quoted.replace(/, (?=[^,]*$)/, ' or ');
}

/** A value as messages show it. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return value.length > 80 ? 'a long string' : JSON.stringify(value);
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'function') return 'a function';
  return typeof value === 'bigint' ? `${value}n` : String(value);
}
