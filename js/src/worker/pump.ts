/** A body in pieces on its way to the client, as fast as that takes it. Owns when the head goes and when all is whole. */

import { readable } from '../log/report.js';
import type { AnswerStream, HttpExchange } from './exchange.js';
import type { Piece, Pieces } from './pieces.js';

/** How an answer is given: with all of its body, or with the head first. */
export interface Opener {
  whole(body?: Piece): void;
  /** undefined: it was given another one meanwhile. */
  begin(): AnswerStream | undefined;
}

/**
 * Sends everything that `pieces` gives. One piece with the end right behind it is a whole body, and has a length. While
 * the first piece is soon to come the head waits for it, so that a source that fails at once can still be answered with
 * an error.
 *
 * @returns false if the client left before it had everything
 * @throws (as a rejection) what the source failed with; an answer that had begun was cut. Also TypeErrors about pieces
 */
export async function pump(exchange: HttpExchange, status: number, pieces: Pieces, opener: Opener): Promise<boolean> {
  if (status === 204 || status === 304 || exchange.method === 'HEAD') {
    pieces.cancel();
    opener.whole();
    return true;
  }
  let hasLeft = false;
  exchange.onGone(() => {
    hasLeft = true;
    pieces.cancel();
  });
  let stream: AnswerStream | undefined;
  try {
    let next = ask(pieces);
    const first = (await now(next)) ?? (await early(next.result));
    if (first?.done) {
      opener.whole();
      return !hasLeft;
    }
    if (first !== undefined) {
      const piece = checked(first.value);
      next = ask(pieces);
      if ((await now(next))?.done) {
        opener.whole(piece);
        return !hasLeft;
      }
      stream = opener.begin();
      if (stream !== undefined) await write(stream, piece);
    } else {
      stream = opener.begin();
    }
    if (stream === undefined) {
      pieces.cancel();
      return false;
    }
    for (let found = await next.result; !found.done && !hasLeft; found = await pieces.next()) {
      await write(stream, checked(found.value));
    }
    if (!hasLeft) stream.end();
  } catch (error) {
    stream?.abort();
    pieces.cancel();
    // a source that is cancelled may fail for that
    if (!hasLeft) throw error;
  }
  return !hasLeft;
}

/** A piece that was asked for. */
interface Asked {
  result: Promise<IteratorResult<unknown>>;
  /** Once it is there. */
  found: IteratorResult<unknown> | undefined;
}

function ask(pieces: Pieces): Asked {
  const asked: Asked = {
    result: pieces.next().then((result) => {
      asked.found = result;
      return result;
    }),
    found: undefined,
  };
  // that it fails is seen where it is waited for
  asked.result.catch(() => undefined);
  return asked;
}

/** The piece, if it takes no more than turns of the microtask queue. */
async function now(asked: Asked): Promise<IteratorResult<unknown> | undefined> {
  for (let turn = 0; turn < TURNS && asked.found === undefined; turn += 1) await undefined;
  return asked.found;
}

/** The piece, if it is there soon. */
function early<T>(result: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, SOON_MS, undefined);
    result.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function write(stream: AnswerStream, piece: Piece): void | Promise<void> {
  return stream.write(piece) ? undefined : stream.drained();
}

function checked(piece: unknown): Piece {
  if (typeof piece === 'string' || piece instanceof Uint8Array) return piece;
  throw new TypeError(`a body's pieces must be strings or Uint8Arrays, not ${readable(piece)}`);
}

/** Turns of the microtask queue within which a stream over something whole gives it, and its end. */
const TURNS = 12;

/** How long the head waits for the first piece. */
const SOON_MS = 50;
