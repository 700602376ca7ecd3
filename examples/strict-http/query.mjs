// @ts-check
/** Queries and forms: `a=1&b=%20`. */
import { HttpError } from './http-error.mjs';

/**
 * A plus stays a plus.
 * @param {string} text
 */
export function readQuery(text) {
  return readPairs(text, 'The query');
}

/**
 * As browsers encode forms: a plus is a space.
 * @param {string} text
 */
export function readForm(text) {
  return readPairs(text.replaceAll('+', ' '), 'The form');
}

/**
 * If a name is repeated, the last value counts.
 * @param {string} text
 * @param {string} what
 * @returns {Record<string, string>}
 */
function readPairs(text, what) {
  /** @type {Record<string, string>} */
  const pairs = Object.create(null);
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const [name, value] = equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)];
    pairs[decode(name, what)] = decode(value, what);
  }
  return pairs;
}

/**
 * @param {string} text
 * @param {string} what
 */
export function decode(text, what) {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new HttpError(400, `${what} has an escape that stands for nothing.`);
  }
}
