/** Durations and sizes in the notation of command lines, such as `'5s'` and `'5MB'`. Knows no option. */

import { shown } from '../options/fields.js';
import type { Range } from '../options/limit-values.js';

/**
 * A duration: milliseconds, or a text such as `'5s'`, `'1m30s'`, `'1.5h'` or `'250ms'`. A text consists of decimal
 * numbers, each with one of the units ns, us, ms, s, m and h.
 */
export type Duration = number | string;

/**
 * A size: bytes, or a text such as `'5MB'` or `'512KiB'`. A text consists of decimal numbers, each with one of the
 * units B, KB, MB, GB, TB, KiB, MiB, GiB and TiB. All units are powers of two: 1 KB is 1024 bytes.
 */
export type Size = number | string;

/** Converts a text to milliseconds, rounded up. Undefined: the text is not a duration. */
export function millisecondsOf(text: string): number | undefined {
  const nanoseconds = text === '0' ? 0 : sumOf(text, NANOSECONDS);
  return nanoseconds === undefined ? undefined : Math.ceil(nanoseconds / 1e6);
}

/** Converts a text to bytes, rounded down. Undefined: the text is not a size. */
export function bytesOf(text: string): number | undefined {
  const bytes = /^\d{1,15}$/.test(text) ? Number(text) : sumOf(text.toUpperCase(), BYTES);
  return bytes === undefined ? undefined : Math.floor(bytes);
}

/** Reads an option that is a duration. */
export function readDuration(value: unknown, at: string, range: Range, problems: string[]): number | undefined {
  return readMeasure(value, millisecondsOf, range, (range) => {
    const most = `${range.least} to ${range.most} milliseconds`;
    problems.push(`${at} must be ${most}, or a text such as "5s" that says so, not ${shown(value)}`);
  });
}

/** Reads an option that is a size. */
export function readSize(value: unknown, at: string, range: Range, problems: string[]): number | undefined {
  return readMeasure(value, bytesOf, range, (range) => {
    const most = `${range.least} to ${range.most} bytes`;
    problems.push(`${at} must be ${most}, or a text such as "5MB" that says so, not ${shown(value)}`);
  });
}

function readMeasure(
  value: unknown,
  parse: (text: string) => number | undefined,
  range: Range,
  complain: (range: Range) => void,
): number | undefined {
  if (value === undefined) return undefined;
  const number = typeof value === 'string' ? parse(value) : value;
  if (typeof number === 'number' && Number.isInteger(number) && number >= range.least && number <= range.most) {
    return number;
  }
  complain(range);
  return undefined;
}

/** The sum of the numbers in a text, times their units. */
function sumOf(text: string, units: ReadonlyMap<string, number>): number | undefined {
  if (text.length === 0 || text.length > LONGEST) return undefined;
  let sum = 0;
  for (let rest = text; rest !== ''; ) {
    const [part, number, unit = ''] = /^(\d+\.?\d*|\.\d+)([a-zµμ]+)/i.exec(rest) ?? [];
    const factor = units.get(unit);
    if (part === undefined || factor === undefined) return undefined;
    sum += Number(number) * factor;
    rest = rest.slice(part.length);
  }
  return sum;
}

const LONGEST = 64;

/** Both signs for micro are accepted. */
const NANOSECONDS: ReadonlyMap<string, number> = new Map([
  ['ns', 1],
  ['us', 1e3],
  ['µs', 1e3],
  ['μs', 1e3],
  ['ms', 1e6],
  ['s', 1e9],
  ['m', 60e9],
  ['h', 3600e9],
]);

const BYTES: ReadonlyMap<string, number> = new Map([
  ['B', 1],
  ...['K', 'M', 'G', 'T'].flatMap((letter, index): [string, number][] => [
    [`${letter}B`, 1024 ** (index + 1)],
    [`${letter}IB`, 1024 ** (index + 1)],
  ]),
]);
