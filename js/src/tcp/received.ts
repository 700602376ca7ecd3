/**
 * What has come on a connection and is not taken yet. It is kept as bytes until somebody asks for text: so each of them is taken
 * once, and a character whose bytes come in pieces is one character. Knows no connection.
 */

/** See the module. */
export class Received {
  #text = '';
  /** What has come behind the text. */
  #chunks: Buffer[] = [];
  #chunkBytes = 0;
  #hasEnded = false;

  /** What is not taken: characters (UTF-16 units) of what was made text, bytes of the rest. */
  get size(): number {
    return this.#text.length + this.#chunkBytes;
  }

  /** More has come, in a view that others may use again. */
  push(data: Buffer): void {
    // a small part would keep all that it is a part of
    const chunk = data.length * 2 < data.buffer.byteLength ? Buffer.from(data) : data;
    this.#chunks.push(chunk);
    this.#chunkBytes += chunk.length;
  }

  /** Nothing more comes: what is left of a character is none. */
  end(): void {
    this.#hasEnded = true;
  }

  /** All of it as text, but for the beginning of a character whose rest may still come. */
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
    // what was not made text yet is replaced, too
    if (this.#chunkBytes > 0) void this.text;
    this.#text = text;
  }

  /** What was not made text. */
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

  /** Takes so many characters from the front, one more where that would cut one; null: there are none. */
  takeText(most: number): string | null {
    const { text } = this;
    if (text.length === 0) return null;
    const end = isLead(text.charCodeAt(most - 1)) && most < text.length ? most + 1 : most;
    this.#text = text.slice(end);
    return text.slice(0, end);
  }

  /** Takes so many bytes from the front; null: there are none. */
  takeBytes(most: number): Buffer | null {
    const { bytes } = this;
    if (bytes.length === 0) return null;
    this.bytes = bytes.subarray(most);
    return bytes.subarray(0, most);
  }
}

const NOTHING = Buffer.alloc(0);

/** Whether a UTF-16 unit is the first half of a character. */
function isLead(unit: number): boolean {
  return (unit & 0xfc00) === 0xd800;
}

/** How many bytes at the end begin a character in UTF-8 whose rest is missing. */
function unfinished(bytes: Buffer): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back += 1) {
    const byte = bytes[bytes.length - back] as number;
    // the first byte of a character says how long it is, the others look all alike
    if ((byte & 0xc0) !== 0x80) return lengthBy(byte) > back ? back : 0;
  }
  return 0;
}

/** Bytes of a character that begins with this one; 1 where none does. */
function lengthBy(byte: number): number {
  if (byte < 0xc2 || byte > 0xf4) return 1;
  if (byte < 0xe0) return 2;
  return byte < 0xf0 ? 3 : 4;
}
