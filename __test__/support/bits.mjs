// Blocks of DEFLATE bit by bit, valid or not.

/** Bytes of `[value, count]`, numbers with their lowest bit first, and of strings of 0 and 1 as they stand (codes). */
export function bits(...parts) {
  let all = '';
  for (const part of parts) {
    if (typeof part === 'string') all += part;
    else for (let bit = 0; bit < part[1]; bit++) all += (part[0] >> bit) & 1;
  }
  const bytes = [];
  for (let at = 0; at < all.length; at += 8) {
    bytes.push(
      Number.parseInt(
        all
          .slice(at, at + 8)
          .padEnd(8, '0')
          .split('')
          .reverse()
          .join(''),
        2,
      ),
    );
  }
  return Buffer.from(bytes);
}

/** The heads of a block: BFINAL is not set. */
export const STORED = [0, 3];
export const FIXED = [2, 3];
export const DYNAMIC = [4, 3];
export const RESERVED = [6, 3];

/** The code of a symbol in a fixed block. */
export function fixed(symbol) {
  if (symbol < 144) return (0x30 + symbol).toString(2).padStart(8, '0');
  if (symbol < 256) return (0x190 + symbol - 144).toString(2).padStart(9, '0');
  if (symbol < 280) return (symbol - 256).toString(2).padStart(7, '0');
  return (0xc0 + symbol - 280).toString(2).padStart(8, '0');
}

/** The end of a fixed block, and the empty stored block whose tail the sender removes. */
export const END = [fixed(256), '000'];

/** A fixed block of a text of ASCII. */
export const literals = (text) => [FIXED, ...[...Buffer.from(text)].map(fixed)];
