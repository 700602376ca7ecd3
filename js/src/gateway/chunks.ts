/** Reads the chunks of a source, and cuts them into pieces that are sent one by one. Sends nothing itself. */

import { shown } from '../options/fields.js';
import type { Data } from './target.js';

/**
 * What a message is streamed from: a web `ReadableStream`, a `Readable` of Node.js, or anything else that iterates over
 * strings or bytes, such as a generator.
 */
export type StreamSource = ReadableStream<Data> | AsyncIterable<Data> | Iterable<Data>;

/** A source while it is read. */
export interface Chunks {
  next(): Promise<IteratorResult<unknown>> | IteratorResult<unknown>;
  /** Tells the source that nothing more is read. */
  cancel(reason: unknown): void;
}

type Given = Partial<ReadableStream & AsyncIterable<unknown> & Iterable<unknown>>;

/** @throws {TypeError} if it is no source */
export function checkSource(source: unknown): void {
  const given = (source ?? {}) as Given;
  const isSource =
    typeof source === 'object' &&
    !ArrayBuffer.isView(source) &&
    [given.getReader, given[Symbol.asyncIterator], given[Symbol.iterator]].some((one) => typeof one === 'function');
  if (isSource) return;
  const expected = 'a ReadableStream, a Readable or an iterable of strings or bytes';
  throw new TypeError(`argument 'readable' must be ${expected}, not ${shown(source)}`);
}

/**
 * Begins to read a source.
 *
 * @throws {TypeError} if it is a stream that is being read already
 */
export function chunksOf(source: StreamSource): Chunks {
  const given = source as Given;
  // not its iterator, which some runtimes lack, and which waits for a pending read before it cancels
  if (typeof given.getReader === 'function') return ofReader(given.getReader());
  if (typeof given[Symbol.asyncIterator] === 'function') {
    return ofIterator((source as AsyncIterable<unknown>)[Symbol.asyncIterator]());
  }
  return ofIterator((source as Iterable<unknown>)[Symbol.iterator]());
}

function ofReader(reader: ReadableStreamDefaultReader<unknown>): Chunks {
  return {
    next: () => reader.read() as Promise<IteratorResult<unknown>>,
    cancel: (reason) => void reader.cancel(reason).catch(ignore),
  };
}

function ofIterator(iterator: AsyncIterator<unknown> | Iterator<unknown>): Chunks {
  return {
    next: () => iterator.next(),
    cancel: () => {
      try {
        Promise.resolve(iterator.return?.()).catch(ignore);
      } catch {
        // the error that ended the message counts
      }
    },
  };
}

function ignore(): void {
  // the error that ended the message counts
}

/** Cuts chunks into pieces. */
export class Cutter {
  /** The first half of a surrogate pair that ended a string. */
  #half = '';

  /**
   * The pieces of a chunk, of at most 64 KiB each; empty chunks have none.
   *
   * @throws {TypeError} if it is neither a string nor bytes
   */
  *cut(chunk: unknown): Generator<string | Uint8Array> {
    if (typeof chunk === 'string') {
      yield* this.#cutText(chunk);
      return;
    }
    const bytes = bytesOf(chunk);
    const half = this.rest();
    if (half !== '') yield half;
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
  }

  /** What is left behind the last chunk. */
  rest(): string {
    const half = this.#half;
    this.#half = '';
    return half;
  }

  *#cutText(chunk: string): Generator<string> {
    let text = this.rest() + chunk;
    if (isHalf(text, text.length - 1)) {
      this.#half = text.slice(-1);
      text = text.slice(0, -1);
    }
    for (let at = 0; at < text.length; ) {
      let end = Math.min(at + PIECE_UNITS, text.length);
      if (end < text.length && isHalf(text, end - 1)) end -= 1;
      yield text.slice(at, end);
      at = end;
    }
  }
}

/** Whether a string has the first half of a surrogate pair at this place. */
function isHalf(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xd800 && unit < 0xdc00;
}

function bytesOf(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk);
  throw new TypeError(`a chunk must be a string or bytes, not ${chunk === null ? 'null' : typeof chunk}`);
}

/** The most bytes of a piece. */
const PIECE_BYTES = 64 * 1024;

/** The most UTF-16 units of a piece: each has at most three bytes. */
const PIECE_UNITS = 21_845;
