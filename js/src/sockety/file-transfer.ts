/** A file that is sent with a message. Owns where its bytes come from. */

import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { nothing } from '../log/quiet.js';
import { SocketyError } from './sockety-errors.js';

/** See the module. */
export class FileTransfer {
  /** What the other side is told that it is called. */
  readonly name: string;
  /** In bytes. */
  readonly size: number;
  readonly #source: Source;
  #used = false;

  private constructor(name: string, size: number, source: Source) {
    this.name = name;
    this.size = size;
    this.#source = source;
  }

  /** From memory. May be sent any number of times. */
  static buffer(buffer: Uint8Array, name: string): FileTransfer {
    if (!(buffer instanceof Uint8Array)) throw new TypeError("argument 'buffer' must be a Uint8Array");
    return new FileTransfer(checked(name), buffer.length, { kind: 'buffer', buffer });
  }

  /**
   * From the file system: its size is taken now, and so many bytes are read whenever it is sent. They do not enter JavaScript.
   *
   * @throws (as a rejection) as `fs.stat`
   */
  static async fs(file: string, name: string = path.basename(file)): Promise<FileTransfer> {
    checked(name);
    const { size } = await stat(file);
    return new FileTransfer(name, size, { kind: 'fs', path: path.resolve(file) });
  }

  /**
   * From a stream that gives so many bytes. May be sent once: `send` and `pass` throw a SocketyError ERR_SOCKETY_USED then. It is
   * destroyed where its message cannot be sent to the end.
   *
   * @throws {TypeError} naming what is wrong with the arguments
   */
  static stream(stream: Readable, size: number, name: string): FileTransfer {
    if (!isIterable(stream)) throw new TypeError("argument 'stream' must be a Readable");
    if (!Number.isSafeInteger(size) || size < 0 || size > LARGEST) {
      throw new TypeError(`argument 'size' must be a whole number of at most ${LARGEST}`);
    }
    // what it fails with is told to whoever sends it
    if (typeof stream.on === 'function') stream.on('error', nothing);
    return new FileTransfer(checked(name), size, { kind: 'stream', stream });
  }

  /** @internal The path, if the native side reads it. */
  static pathOf(file: FileTransfer): string | undefined {
    const source = file.#source;
    return source.kind === 'fs' ? source.path : undefined;
  }

  /** @internal They are about to be sent: throws where one was sent before and may be sent once. */
  static use(files: readonly FileTransfer[]): void {
    const once = files.filter((file) => file.#source.kind === 'stream');
    if (once.some((file, index) => file.#used || once.indexOf(file) < index)) {
      throw new SocketyError('ERR_SOCKETY_USED', 'FileTransfer with stream may be used only once.');
    }
    for (const file of once) file.#used = true;
  }

  /** @internal They are not sent, or not to their end: what may be sent once is of no use any more, and may hold a descriptor. */
  static abandon(files: readonly FileTransfer[]): void {
    for (const file of files) {
      const source = file.#source;
      if (source.kind === 'stream' && typeof source.stream.destroy === 'function') source.stream.destroy();
    }
  }

  /** @internal Its bytes, piece by piece, if the native side does not. */
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

/** Bytes, piece by piece. */
export function* slices(bytes: Uint8Array, length = PIECE_BYTES): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

function isIterable(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Symbol.asyncIterator in value || Symbol.iterator in value;
}

const LONGEST_NAME = 0xffff;

/** What six bytes can say. */
const LARGEST = 2 ** 48 - 1;

const PIECE_BYTES = 64 * 1024;
