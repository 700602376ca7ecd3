/** Bodies that come piece by piece, as one thing: web streams, Node's, generators. Sends nothing. */

/** A piece of a body. */
export type Piece = string | Uint8Array;

/** What gives a body piece by piece: web streams, Node's, generators. */
export type Streamable = ReadableStream<Piece> | AsyncIterable<Piece> | Iterable<Piece>;

/** See the module. */
export interface Pieces {
  /** The next one. */
  next(): Promise<IteratorResult<unknown>>;
  /** Nobody wants more; also while `next` is pending. Whoever gives them lets go of what it holds. */
  cancel(): void;
}

/** Whether something gives pieces; a text is one. */
export function isSource(value: unknown): value is Streamable {
  if (typeof value !== 'object' || value === null) return false;
  return value instanceof ReadableStream || Symbol.asyncIterator in value || Symbol.iterator in value;
}

/** @throws {TypeError} if it is a stream that somebody reads already */
export function piecesOf(source: Streamable): Pieces {
  if (source instanceof ReadableStream) {
    const reader = source.getReader();
    return { next: () => reader.read(), cancel: () => void reader.cancel().catch(() => undefined) };
  }
  const iterator = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  return { next: async () => iterator.next(), cancel: () => void finish(source, iterator) };
}

/** Ends an iterator that may be waiting: Node's streams notice only that they are destroyed. */
async function finish(source: object, iterator: Iterator<Piece> | AsyncIterator<Piece>): Promise<void> {
  try {
    const { destroy } = source as { destroy?: unknown };
    if (typeof destroy === 'function') destroy.call(source);
    await iterator.return?.();
  } catch {
    // nobody is left to be told
  }
}
