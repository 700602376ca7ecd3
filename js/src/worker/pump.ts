/**
 * Sends a body in pieces as fast as the client reads it. Decides when the head is sent and whether the body is sent as
 * a whole.
 */

import { readable } from '../log/report.js';
import type { AnswerStream, HttpExchange } from './exchange.js';
import type { Piece, Pieces } from './pieces.js';

/** How an answer is begun: with its whole body, or with the head first. */
export interface Opener {
  whole(body?: Piece): void;
  /** Undefined: the exchange was given another answer meanwhile. */
  begin(): AnswerStream | undefined;
}

/**
 * Sends all pieces. A single piece that is followed by the end is sent as a whole body with a length. The head waits a
 * short time for the first piece, so that a source that fails at once is still answered with an error.
 *
 * @returns false if the client left before the body was complete
 * @throws (as a rejection) the error of the source, after which an answer that had begun is cut; TypeErrors about
 *   pieces
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
    // cancelling may make the source fail
    if (!hasLeft) throw error;
  }
  return !hasLeft;
}

/** A piece that was requested. */
interface Asked {
  result: Promise<IteratorResult<unknown>>;
  /** The result, once it is known. */
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
  // the error is handled by the code that waits for the piece
  asked.result.catch(() => undefined);
  return asked;
}

/** The piece, if it arrives within a few turns of the microtask queue. */
async function now(asked: Asked): Promise<IteratorResult<unknown> | undefined> {
  for (let turn = 0; turn < TURNS && asked.found === undefined; turn += 1) await undefined;
  return asked.found;
}

/** The piece, if it arrives soon. */
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

/** The turns of the microtask queue in which a stream over complete data yields the data and its end. */
const TURNS = 12;

/** How long the head waits for the first piece, in milliseconds. */
const SOON_MS = 50;
