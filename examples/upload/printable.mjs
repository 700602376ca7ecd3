// @ts-check
/**
 * Makes untrusted text safe for a terminal: replaces control characters and bidirectional marks.
 * @param {string} text
 */
export function printable(text) {
  return text.replace(UNPRINTABLE, '\ufffd');
}

const UNPRINTABLE = /[\p{Cc}\p{Cs}\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;
