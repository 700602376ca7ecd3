/**
 * One interface for all sources of bodies in pieces: web streams, streams of Node.js, and generators. Sends nothing.
 */

/** A piece of a body. */
export type Piece = string | Uint8Array;

/** A source of a body in pieces: web streams, streams of Node.js, and generators. */
export type Streamable = ReadableStream<Piece> | AsyncIterable<Piece> | Iterable<Piece>;

/** See the module. */
export interface Pieces {
  /** Returns the next piece. */
  next(): Promise<IteratorResult<unknown>>;
  /** Ends the source, which then releases its resources. May be called while `next` is pending. */
  cancel(): void;
}

/** Whether a value is a source of pieces. A string is one. */
export function isSource(value: unknown): value is Streamable {
  if (typeof value !== 'object' || value === null) return false;
  return value instanceof ReadableStream || Symbol.asyncIterator in value || Symbol.iterator in value;
}

/** @throws {TypeError} if the source is a stream that has another reader */
export function piecesOf(source: Streamable): Pieces {
  if (source instanceof ReadableStream) {
    const reader = source.getReader();
    return { next: () => reader.read(), cancel: () => void reader.cancel().catch(() => undefined) };
  }
  const iterator = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  return { next: async () => iterator.next(), cancel: () => void finish(source, iterator) };
}

/** Ends an iterator that may be waiting. Streams of Node.js notice this only when they are destroyed. */
async function finish(source: object, iterator: Iterator<Piece> | AsyncIterator<Piece>): Promise<void> {
  try {
    const { destroy } = source as { destroy?: unknown };
    if (typeof destroy === 'function') destroy.call(source);
    await iterator.return?.();
  } catch {
    // the caller does not wait for this, so the error has no recipient
  }
}
