/**
 * The data that a connection has received and the application has not taken yet. It is kept as bytes until the
 * application asks for text, so that each byte is taken once and a character may arrive in several pieces. Does not
 * know connections.
 */

/** See the module. */
export class Received {
  #text = '';
  /** Bytes that were received after the text. */
  #chunks: Buffer[] = [];
  #chunkBytes = 0;
  #hasEnded = false;

  /** The amount of data that was not taken: UTF-16 units of text, and bytes of the rest. */
  get size(): number {
    return this.#text.length + this.#chunkBytes;
  }

  /** Adds received data. Its memory is a view that may be used again. */
  push(data: Buffer): void {
    // copy a small view, which would otherwise keep the whole memory alive
    const chunk = data.length * 2 < data.buffer.byteLength ? Buffer.from(data) : data;
    this.#chunks.push(chunk);
    this.#chunkBytes += chunk.length;
  }

  /** The input has ended: an incomplete character becomes U+FFFD. */
  end(): void {
    this.#hasEnded = true;
  }

  /** All data as text, except an incomplete character at the end. */
  get text(): string {
    if (this.#chunkBytes > 0) {
      const bytes = this.bytes;
      const end = bytes.length - (this.#hasEnded ? 0 : unfinished(bytes));
      this.#text += bytes.toString('utf8', 0, end);
      this.bytes = bytes.subarray(end);
    }
    return this.#text;
  }

  set text(text: string) {
    // bytes that are not text yet are replaced, too
    if (this.#chunkBytes > 0) void this.text;
    this.#text = text;
  }

  /** The bytes that were not converted to text. */
  get bytes(): Buffer {
    const [first = NOTHING] = this.#chunks;
    if (this.#chunks.length < 2) return first;
    const all = Buffer.concat(this.#chunks, this.#chunkBytes);
    this.#chunks = [all];
    return all;
  }

  set bytes(bytes: Buffer) {
    this.#chunks = bytes.length === 0 ? [] : [bytes];
    this.#chunkBytes = bytes.length;
  }

  /**
   * Takes up to so many UTF-16 units from the front, one more if that would split a character. Null: there is no text.
   */
  takeText(most: number): string | null {
    const { text } = this;
    if (text.length === 0) return null;
    const end = isLead(text.charCodeAt(most - 1)) && most < text.length ? most + 1 : most;
    this.#text = text.slice(end);
    return text.slice(0, end);
  }

  /** Takes up to so many bytes from the front. Null: there are none. */
  takeBytes(most: number): Buffer | null {
    const { bytes } = this;
    if (bytes.length === 0) return null;
    this.bytes = bytes.subarray(most);
    return bytes.subarray(0, most);
  }
}

const NOTHING = Buffer.alloc(0);

/** Whether a UTF-16 unit is the first half of a surrogate pair. */
function isLead(unit: number): boolean {
  return (unit & 0xfc00) === 0xd800;
}

/** How many bytes at the end are the beginning of an incomplete UTF-8 character. */
function unfinished(bytes: Buffer): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back += 1) {
    const byte = bytes[bytes.length - back] as number;
    // only the first byte of a character tells its length
    if ((byte & 0xc0) !== 0x80) return lengthBy(byte) > back ? back : 0;
  }
  return 0;
}

/** The length of a character with this first byte. 1 if no character begins with it. */
function lengthBy(byte: number): number {
  if (byte < 0xc2 || byte > 0xf4) return 1;
  if (byte < 0xe0) return 2;
  return byte < 0xf0 ? 3 : 4;
}
