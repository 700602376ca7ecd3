/** A file that is sent with a message. Owns the source of its bytes. */

import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { nothing } from '../log/quiet.js';
import { SocketyError } from './sockety-errors.js';

/** See the module. */
export class FileTransfer {
  /** The name that the other side gets. */
  readonly name: string;
  /** The size in bytes. */
  readonly size: number;
  readonly #source: Source;
  #used = false;

  private constructor(name: string, size: number, source: Source) {
    this.name = name;
    this.size = size;
    this.#source = source;
  }

  /** Makes a file of bytes in memory. It may be sent any number of times. */
  static buffer(buffer: Uint8Array, name: string): FileTransfer {
    if (!(buffer instanceof Uint8Array)) throw new TypeError("argument 'buffer' must be a Uint8Array");
    return new FileTransfer(checked(name), buffer.length, { kind: 'buffer', buffer });
  }

  /**
   * Makes a file of a file in the file system. Its size is read now, and as many bytes are sent each time. They do not
   * enter JavaScript.
   *
   * @throws (as a rejection) as `fs.stat`
   */
  static async fs(file: string, name: string = path.basename(file)): Promise<FileTransfer> {
    checked(name);
    const { size } = await stat(file);
    return new FileTransfer(name, size, { kind: 'fs', path: path.resolve(file) });
  }

  /**
   * Makes a file of a stream that yields `size` bytes. It may be sent once; after that, `send` and `pass` throw a
   * SocketyError ERR_SOCKETY_USED. The stream is destroyed if its message cannot be sent completely.
   *
   * @throws {TypeError} naming what is wrong with the arguments
   */
  static stream(stream: Readable, size: number, name: string): FileTransfer {
    if (!isIterable(stream)) throw new TypeError("argument 'stream' must be a Readable");
    if (!Number.isSafeInteger(size) || size < 0 || size > LARGEST) {
      throw new TypeError(`argument 'size' must be a whole number of at most ${LARGEST}`);
    }
    // errors of the stream are reported by the request that sends it
    if (typeof stream.on === 'function') stream.on('error', nothing);
    return new FileTransfer(checked(name), size, { kind: 'stream', stream });
  }

  /** @internal The path, if the native side reads the file. */
  static pathOf(file: FileTransfer): string | undefined {
    const source = file.#source;
    return source.kind === 'fs' ? source.path : undefined;
  }

  /** @internal Marks files as sent. Throws if one of them was sent before and may be sent only once. */
  static use(files: readonly FileTransfer[]): void {
    const once = files.filter((file) => file.#source.kind === 'stream');
    if (once.some((file, index) => file.#used || once.indexOf(file) < index)) {
      throw new SocketyError('ERR_SOCKETY_USED', 'FileTransfer with stream may be used only once.');
    }
    for (const file of once) file.#used = true;
  }

  /** @internal Destroys the streams of files that are not sent completely: they cannot be sent again, and may hold descriptors. */
  static abandon(files: readonly FileTransfer[]): void {
    for (const file of files) {
      const source = file.#source;
      if (source.kind === 'stream' && typeof source.stream.destroy === 'function') source.stream.destroy();
    }
  }

  /** @internal The bytes in pieces, for a file that the native side does not read. */
  static open(file: FileTransfer): Iterable<Uint8Array> | AsyncIterable<Uint8Array> {
    const source = file.#source;
    if (source.kind === 'fs') return [];
    if (source.kind === 'buffer') return slices(source.buffer);
    return source.stream;
  }
}

type Source =
  | { readonly kind: 'buffer'; readonly buffer: Uint8Array }
  | { readonly kind: 'fs'; readonly path: string }
  | { readonly kind: 'stream'; readonly stream: Readable };

function checked(name: string): string {
  if (typeof name !== 'string') throw new TypeError("argument 'name' must be a string");
  if (Buffer.byteLength(name) > LONGEST_NAME)
    throw new TypeError(`argument 'name' must have at most ${LONGEST_NAME} bytes`);
  return name;
}

/** Splits bytes into pieces. */
export function* slices(bytes: Uint8Array, length = PIECE_BYTES): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

function isIterable(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Symbol.asyncIterator in value || Symbol.iterator in value;
}

const LONGEST_NAME = 0xffff;

/** The largest number in six bytes. */
const LARGEST = 2 ** 48 - 1;

const PIECE_BYTES = 64 * 1024;
