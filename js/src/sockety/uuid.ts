/** The ids of messages and responses. Owns a supply of random ids. Does not know messages. */

import { randomFillSync } from 'node:crypto';

/**
 * The id of a message or a response: 16 bytes. It is an object and not a string: compare two ids with `equals`, or by
 * `String(id)`.
 */
export class UUID {
  /** The bytes, one character for each. */
  readonly #bytes: string;

  private constructor(bytes: string) {
    this.#bytes = bytes;
  }

  /** Makes a random id (RFC 9562, version 4). */
  static random(): UUID {
    return new UUID(UUID.randomBytes());
  }

  /** Makes the bytes of a random id, one character for each. */
  static randomBytes(): string {
    if (next === supply.length) fill();
    const bytes = supply.substring(next, next + LENGTH);
    next += LENGTH;
    return bytes;
  }

  /** Makes an id of its bytes, one character for each. */
  static ofBytes(bytes: string): UUID {
    return new UUID(bytes);
  }

  /** The bytes of an id, one character for each: a key for maps. */
  static bytesOf(id: UUID): string {
    return id.#bytes;
  }

  /** The id as 36 characters in lower case: `"2e3fe860-1cb6-4676-b643-fbd989500cc2"`. */
  toString(): string {
    const hex = this.toBuffer().toString('hex');
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
  }

  /** The same as `toString`. */
  toJSON(): string {
    return this.toString();
  }

  /** The 16 bytes, in the order of the text. */
  toBuffer(): Buffer {
    return Buffer.from(this.#bytes, 'latin1');
  }

  /** Writes the 16 bytes to a buffer. */
  write(buffer: Buffer, offset = 0): void {
    buffer.write(this.#bytes, offset, LENGTH, 'latin1');
  }

  /** Whether another id has the same bytes. */
  equals(other: UUID): boolean {
    return other instanceof UUID && other.#bytes === this.#bytes;
  }

  /** The text for `console.log`. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return `UUID(${this.toString()})`;
  }
}

function fill(): void {
  randomFillSync(POOL);
  for (let at = 0; at < POOL.length; at += LENGTH) {
    POOL[at + 6] = ((POOL[at + 6] as number) & 0x0f) | 0x40;
    POOL[at + 8] = ((POOL[at + 8] as number) & 0x3f) | 0x80;
  }
  supply = POOL.latin1Slice(0, POOL.length);
  next = 0;
}

/** A `Buffer` with a decoder that skips argument checks, which Node.js, Bun and Deno have. */
interface Bytes extends Buffer {
  latin1Slice(start: number, end: number): string;
}

const LENGTH = 16;

/**
 * A supply of random ids that were not used yet, one character for each byte, and the position of the next. Many are
 * made at a time.
 */
const POOL = Buffer.alloc(256 * LENGTH) as Bytes;
let supply = '';
let next = 0;
