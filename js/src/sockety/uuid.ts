/** The ids of messages and responses. Owns the supply of random ones; knows nothing of messages. */

import { randomFillSync } from 'node:crypto';

/**
 * An id of a message or a response: 16 bytes. An object, not a string: compare two with `equals`, or by `String(id)`.
 */
export class UUID {
  /** A character for each byte. */
  readonly #bytes: string;

  private constructor(bytes: string) {
    this.#bytes = bytes;
  }

  /** A new one, random (RFC 9562, version 4). */
  static random(): UUID {
    return new UUID(UUID.randomBytes());
  }

  /** The bytes of a new one, one for each character. */
  static randomBytes(): string {
    if (next === supply.length) fill();
    const bytes = supply.substring(next, next + LENGTH);
    next += LENGTH;
    return bytes;
  }

  /** The one whose bytes are those of a text, one for each character. */
  static ofBytes(bytes: string): UUID {
    return new UUID(bytes);
  }

  /** Its bytes, one for each character: a key for maps. */
  static bytesOf(id: UUID): string {
    return id.#bytes;
  }

  /** 36 characters, lower-case: `"2e3fe860-1cb6-4676-b643-fbd989500cc2"`. */
  toString(): string {
    const hex = this.toBuffer().toString('hex');
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
  }

  /** As `toString`. */
  toJSON(): string {
    return this.toString();
  }

  /** Its 16 bytes, in the order of the text. */
  toBuffer(): Buffer {
    return Buffer.from(this.#bytes, 'latin1');
  }

  /** Writes its 16 bytes to a buffer. */
  write(buffer: Buffer, offset = 0): void {
    buffer.write(this.#bytes, offset, LENGTH, 'latin1');
  }

  /** Whether another one has the same bytes. */
  equals(other: UUID): boolean {
    return other instanceof UUID && other.#bytes === this.#bytes;
  }

  /** For `console.log`. */
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

/** A `Buffer` with the decoder that skips argument checks; it exists in Node, Bun and Deno. */
interface Bytes extends Buffer {
  latin1Slice(start: number, end: number): string;
}

const LENGTH = 16;

/** Random ids that nobody has yet, made many at a time, one character for each byte, and the next of them. */
const POOL = Buffer.alloc(256 * LENGTH) as Bytes;
let supply = '';
let next = 0;
