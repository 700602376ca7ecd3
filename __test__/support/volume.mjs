// What messages in volume are cut from: texts and bytes of several kinds, which compress well, a little or not at all.
import { readdirSync, readFileSync } from 'node:fs';
import zlib from 'node:zlib';

/** Whether a thousand messages of each kind and size are sent, instead of a few. */
export const IS_FULL = process.env.MILLRACE_TEST_COMPRESSION === 'full';

const ROOT = new URL('../../', import.meta.url);
const read = (name) => readFileSync(new URL(name, ROOT));

const LEAST = 256 << 10;
const repeated = (bytes) => Buffer.concat(Array(Math.ceil(LEAST / bytes.length)).fill(bytes));

const prose = () =>
  readdirSync(new URL('docs/', ROOT))
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => `${read(`docs/${name}`)}\n— Größe, 漢字, 🦀 —\n`)
    .join('\n');

const page = (text) =>
  text
    .split('\n')
    .map((line) => line.replaceAll('&', '&amp;').replaceAll('<', '&lt;'))
    .map((line, index) => `<tr class="line"><td id="l${index}">${index}</td><td>${line}</td></tr>`)
    .join('\n');

/** A grey picture of 512 by 512, one byte for each pixel: slopes, a disc and some grain. */
const bitmap = () =>
  Buffer.from(
    Array.from({ length: 512 * 512 }, (_, at) => {
      const [x, y] = [at % 512, at >> 9];
      const disc = (x - 256) ** 2 + (y - 200) ** 2 < 120 ** 2 ? 90 : 0;
      return ((x + y) >> 3) + disc + (Math.imul(at, 2654435761) >>> 31);
    }),
  );

/** Cuts messages of a length in bytes: one after the other, from the beginning again after the end. */
class Source {
  #bytes;
  #text;

  constructor(bytes, text) {
    this.#bytes = repeated(bytes);
    this.#text = text;
  }

  /** The message number `index` of `size` bytes. A text has whole characters, filled up with blanks. */
  message(size, index) {
    const bytes = this.#bytes;
    let start = (index * size) % (bytes.length - size);
    if (!this.#text) return bytes.subarray(start, start + size);
    let end = start + size;
    while ((bytes[end] & 0xc0) === 0x80) end--;
    while (start < end && (bytes[start] & 0xc0) === 0x80) start++;
    return bytes.toString('utf8', start, end) + ' '.repeat(size - (end - start));
  }
}

/** The kinds by their names. `compresses`: every message from 1 KiB on gets shorter. */
export const KINDS = {
  JSON: { source: new Source(read('package-lock.json'), true), compresses: true },
  'a bitmap': { source: new Source(bitmap(), false), compresses: true },
  prose: { source: new Source(Buffer.from(prose()), true), compresses: true },
  HTML: { source: new Source(Buffer.from(page(prose())), true), compresses: true },
  'a compressed file': {
    source: new Source(zlib.gzipSync(prose() + read('package-lock.json')), false),
    compresses: false,
  },
};
