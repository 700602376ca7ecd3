// @ts-check
/**
 * Text of a stranger as a terminal may get it: whatever steers one, or turns the direction of reading, is replaced.
 * @param {string} text
 */
export function printable(text) {
  return text.replace(UNPRINTABLE, '\ufffd');
}

const UNPRINTABLE = /[\p{Cc}\p{Cs}\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;
