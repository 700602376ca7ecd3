// An inflater without zlib, which knows no mercy: the one of Node.js lets a match reach back farther than the window if
// the text is still in its buffer.
import { Violation } from './frames.mjs';

const CODE_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const LENGTH_EXTRA = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const LENGTH_BASE = LENGTH_EXTRA.map((_, index) =>
  index === 28 ? 258 : LENGTH_EXTRA.slice(0, index).reduce((sum, extra) => sum + 2 ** extra, 3),
);
const DISTANCE_EXTRA = Array.from({ length: 30 }, (_, index) => Math.max(0, (index >> 1) - 1));
const DISTANCE_BASE = DISTANCE_EXTRA.map((_, index) =>
  DISTANCE_EXTRA.slice(0, index).reduce((sum, extra) => sum + 2 ** extra, 1),
);
const LONGEST_CODE = 15;

/** Reads bits, the lowest of each byte first. */
class Bits {
  #bytes;
  #at = 0;
  #hold = 0;
  #count = 0;

  constructor(bytes) {
    this.#bytes = bytes;
  }

  /** A number of `count` bits, at most 16. */
  take(count) {
    while (this.#count < count) {
      if (this.#at === this.#bytes.length) throw new Violation('the message ends within a block');
      this.#hold |= this.#bytes[this.#at++] << this.#count;
      this.#count += 8;
    }
    const value = this.#hold & ((1 << count) - 1);
    this.#hold >>>= count;
    this.#count -= count;
    return value;
  }

  /** A symbol of a Huffman code. */
  symbol({ short, counts, symbols }) {
    while (this.#count < LONGEST_CODE && this.#at < this.#bytes.length) {
      this.#hold |= this.#bytes[this.#at++] << this.#count;
      this.#count += 8;
    }
    const entry = short[this.#hold & (short.length - 1)];
    if (entry !== 0 && (entry & 15) <= this.#count) {
      this.#hold >>>= entry & 15;
      this.#count -= entry & 15;
      return entry >> 4;
    }
    let [code, first, index] = [0, 0, 0];
    for (let length = 1; length <= LONGEST_CODE; length++) {
      code |= this.take(1);
      const count = counts[length];
      if (code - count < first) return symbols[index + code - first];
      index += count;
      first = (first + count) << 1;
      code <<= 1;
    }
    throw new Violation('a code that its block does not define');
  }

  /** The whole bytes after the rest of this one. */
  bytes(count) {
    this.#hold = 0;
    this.#at -= this.#count >> 3;
    this.#count = 0;
    const found = this.#bytes.subarray(this.#at, this.#at + count);
    if (found.length < count) throw new Violation('the message ends within a block');
    this.#at += count;
    return found;
  }

  /** Everything was read, and the last block has ended at the end of a byte. */
  get done() {
    return this.#at === this.#bytes.length && this.#count === 0;
  }
}

const SHORT_BITS = 9;

/** A Huffman code from the lengths of its symbols. Only a code of at most one symbol may be incomplete. */
function codeOf(lengths) {
  const counts = new Uint16Array(LONGEST_CODE + 1);
  for (const length of lengths) counts[length]++;
  counts[0] = 0;
  let left = 1;
  for (let length = 1; length <= LONGEST_CODE; length++) left = left * 2 - counts[length];
  const used = counts.reduce((sum, count) => sum + count, 0);
  if (left !== 0 && used > 1) throw new Violation('an incomplete code, or one with too many symbols');
  const symbols = [];
  const short = new Uint16Array(1 << SHORT_BITS);
  let code = 0;
  for (let length = 1; length <= LONGEST_CODE; length++, code <<= 1) {
    for (let symbol = 0; counts[length] > 0 && symbol < lengths.length; symbol++) {
      if (lengths[symbol] !== length) continue;
      symbols.push(symbol);
      if (length <= SHORT_BITS) fill(short, code, length, symbol);
      code++;
    }
  }
  return { short, counts, symbols };
}

function fill(short, code, length, symbol) {
  let turned = 0;
  for (let bit = 0; bit < length; bit++) turned |= ((code >> bit) & 1) << (length - 1 - bit);
  for (let at = turned; at < short.length; at += 1 << length) short[at] = (symbol << 4) | length;
}

const FIXED = {
  literals: codeOf(Uint8Array.from({ length: 288 }, (_, at) => (at < 144 ? 8 : at < 256 ? 9 : at < 280 ? 7 : 8))),
  distances: codeOf(new Uint8Array(32).fill(5)),
};

function dynamicCodes(bits) {
  const [literals, distances, some] = [bits.take(5) + 257, bits.take(5) + 1, bits.take(4) + 4];
  if (literals > 286 || distances > 30) throw new Violation('a block with too many symbols');
  const order = new Uint8Array(19);
  for (let index = 0; index < some; index++) order[CODE_ORDER[index]] = bits.take(3);
  const code = codeOf(order);
  const lengths = new Uint8Array(literals + distances);
  for (let at = 0; at < lengths.length; ) {
    const symbol = bits.symbol(code);
    if (symbol < 16) {
      lengths[at++] = symbol;
      continue;
    }
    if (symbol === 16 && at === 0) throw new Violation('a repeated length without a first one');
    const value = symbol === 16 ? lengths[at - 1] : 0;
    const count = symbol === 16 ? 3 + bits.take(2) : symbol === 17 ? 3 + bits.take(3) : 11 + bits.take(7);
    if (at + count > lengths.length) throw new Violation('more lengths than symbols');
    lengths.fill(value, at, at + count);
    at += count;
  }
  if (lengths[256] === 0) throw new Violation('a block without an end');
  return { literals: codeOf(lengths.subarray(0, literals)), distances: codeOf(lengths.subarray(literals)) };
}

/** The text so far, with what may be referred to before it. */
class Text {
  #bytes;
  #start;
  #length;
  #window;
  /** The longest distance that a match had. */
  farthest = 0;

  constructor(dictionary, window) {
    this.#bytes = Buffer.alloc(dictionary.length + 4096);
    this.#bytes.set(dictionary);
    this.#start = dictionary.length;
    this.#length = dictionary.length;
    this.#window = window;
  }

  #room(count) {
    if (this.#length + count <= this.#bytes.length) return;
    const more = Buffer.alloc(2 * this.#bytes.length + count);
    more.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = more;
  }

  append(bytes) {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  byte(value) {
    if (this.#length === this.#bytes.length) this.#room(1);
    this.#bytes[this.#length++] = value;
  }

  match(distance, length) {
    if (distance > this.#window) throw new Violation(`a match ${distance} bytes back, in a window of ${this.#window}`);
    if (distance > this.#length) throw new Violation('a match before the beginning');
    if (distance > this.farthest) this.farthest = distance;
    this.#room(length);
    const bytes = this.#bytes;
    for (let at = this.#length, end = at + length; at < end; at++) bytes[at] = bytes[at - distance];
    this.#length += length;
  }

  get bytes() {
    return this.#bytes.subarray(this.#start, this.#length);
  }
}

function block(bits, { literals, distances }, text) {
  for (;;) {
    const symbol = bits.symbol(literals);
    if (symbol === 256) return;
    if (symbol < 256) {
      text.byte(symbol);
      continue;
    }
    if (symbol > 285) throw new Violation('a reserved length');
    const length = LENGTH_BASE[symbol - 257] + bits.take(LENGTH_EXTRA[symbol - 257]);
    const far = bits.symbol(distances);
    if (far > 29) throw new Violation('a reserved distance');
    text.match(DISTANCE_BASE[far] + bits.take(DISTANCE_EXTRA[far]), length);
  }
}

/**
 * Inflates a message with its tail. It must consist of whole blocks, none of them final, and its matches must not reach
 * back farther than `window` bytes, nor before `dictionary`, which is the text before the message.
 *
 * @returns {{data: Buffer, farthest: number}} `farthest` is the longest distance of a match
 * @throws {Violation}
 */
export function inflateStrictly(bytes, { dictionary = Buffer.alloc(0), window = 32_768 } = {}) {
  const [bits, text] = [new Bits(bytes), new Text(dictionary.subarray(-window), window)];
  while (!bits.done) {
    if (bits.take(1) === 1) throw new Violation('a final block');
    const kind = bits.take(2);
    if (kind === 3) throw new Violation('a block of a reserved kind');
    if (kind === 0) {
      const head = bits.bytes(4);
      const length = head.readUInt16LE(0);
      if ((length ^ head.readUInt16LE(2)) !== 0xffff) throw new Violation('a stored block whose lengths differ');
      text.append(bits.bytes(length));
    } else block(bits, kind === 1 ? FIXED : dynamicCodes(bits), text);
  }
  return { data: text.bytes, farthest: text.farthest };
}
