/** Reading option objects: fields of the right kind, and a problem in words for each that is not. Knows no option. */

import type { Range } from './limits.js';
import type { Origins } from './options.js';

/** An object's fields. */
export type Fields = Readonly<Record<string, unknown>>;

/** Stands in for an object that was not one. */
export const NOTHING: Fields = Object.freeze({});

/** An object with no other keys; otherwise `NOTHING`, or the problems of its keys. */
export function readObject(value: unknown, at: string, keys: readonly string[], problems: string[]): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    problems.push(`${at} must be an object, not ${shown(value)}`);
    return NOTHING;
  }
  for (const key of Object.keys(value)) {
    if (!keys.includes(key)) problems.push(`unknown option ${at}.${key}`);
  }
  return value as Fields;
}

/** A whole number in a range. */
export function readNumber(value: unknown, at: string, range: Range, problems: string[]): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= range.least && value <= range.most) {
    return value + 0;
  }
  problems.push(`${at} must be a whole number from ${range.least} to ${range.most}, not ${shown(value)}`);
  return undefined;
}

/** A function. */
export function readFunction<T>(value: unknown, at: string, problems: string[]): ((given: T) => void) | undefined {
  if (value === undefined || typeof value === 'function') return value as undefined;
  problems.push(`${at} must be a function, not ${shown(value)}`);
  return undefined;
}

/** A path or several. */
export function readPathList(value: unknown, at: string, problems: string[]): string[] | undefined {
  if (value === undefined) return undefined;
  const isList = Array.isArray(value);
  const paths: unknown[] = isList ? value : [value];
  for (const [index, path] of paths.entries()) {
    if (typeof path === 'string' && /^\/[^\s?#]*$/.test(path)) continue;
    problems.push(`${isList ? `${at}[${index}]` : at} must be a path such as "/ws", not ${shown(path)}`);
  }
  return paths as string[];
}

/** A switch. */
export function readFlag(value: unknown, at: string, problems: string[]): boolean | undefined {
  if (value === undefined || typeof value === 'boolean') return value;
  problems.push(`${at} must be true or false, not ${shown(value)}`);
  return undefined;
}

/** Origins, as `StartOptions.origins` has them. */
export function readOrigins(value: unknown, at: string, problems: string[]): Origins | undefined {
  if (value === undefined || value === '*' || value === 'same-host') return value;
  if (!Array.isArray(value)) {
    problems.push(`${at} must be '*', 'same-host' or an array of origins, not ${shown(value)}`);
    return undefined;
  }
  for (const [index, origin] of value.entries()) {
    if (typeof origin !== 'string' || !/^[a-z][a-z0-9+.-]*:\/\/[^/\s?#]+$/i.test(origin)) {
      problems.push(`${at}[${index}] must be an origin such as "https://example.org", not ${shown(origin)}`);
    }
  }
  return [...value];
}

/** A value in a message. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return value.length > 80 ? 'a long string' : JSON.stringify(value);
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'function') return 'a function';
  return typeof value === 'bigint' ? `${value}n` : String(value);
}
