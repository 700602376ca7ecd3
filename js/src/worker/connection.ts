/** What a worker knows of one connection, and the events of it that wait. Owns no behaviour. */

import type { Closing, Opening, SocketEvent } from './record.js';

/** One connection. All have the same shape, whatever happens to them. */
export class Connection {
  readonly id: number;
  /** The word that changes with its token. */
  readonly tokenWord: number;
  /** That word when `token` was read; -1: never. */
  tokenSeen = -1;
  /** Bytes, or the value that was stored. */
  token: unknown = undefined;
  /** See `TokenHolder`. */
  tokenStamp = '';
  /** `handleOpen` said yes, or there is none. */
  accepted = false;
  /** A handler failed: no more messages. */
  failed = false;
  /** The handler that is pending, after which the next event comes. */
  run: Run | undefined = undefined;
  /** Promises of protocols' own code that are pending: only the socket's end waits for them, here. */
  beside = 0;
  /** The bytes of their events. */
  besideBytes = 0;
  /** There are so many of them that the connection is not read. */
  isStopped = false;
  closing: Closing | undefined = undefined;

  constructor(id: number) {
    this.id = id;
    this.tokenWord = id % TOKEN_WORDS;
  }
}

/** A handler whose promise is pending. */
export class Run {
  readonly connection: Connection;
  readonly kind: number;
  /** Payload bytes that are held with the native side; -1: no message. */
  readonly held: number;
  /** When it began to be waited for, on the clock of `performance.now()`. */
  readonly began: number;
  /** When it is late, on the clock of `performance.now()`. */
  readonly deadline: number;
  /** Events of the connection that wait for it, if any came. */
  waiting: Waiting[] | undefined = undefined;
  /** Settled or late: what comes after is ignored. */
  done = false;
  /** What decides over the answer of `handleOpen`. */
  readonly decide: ((result: unknown) => void) | undefined;
  /** What comes next does not wait for it. */
  beside = false;
  /** In the list of what is timed. */
  earlier: Run | undefined = undefined;
  later: Run | undefined = undefined;

  constructor(
    connection: Connection,
    kind: number,
    held: number,
    began: number,
    deadline: number,
    decide: ((result: unknown) => void) | undefined,
  ) {
    this.connection = connection;
    this.kind = kind;
    this.held = held;
    this.began = began;
    this.deadline = deadline;
    this.decide = decide;
  }
}

/** An event that waits for a handler. */
export interface Waiting {
  /** As with the runner. */
  kind: number;
  payload: string | Buffer | Opening | Closing | SocketEvent | undefined;
  /** Payload bytes that are held with the native side; -1: no message. */
  held: number;
}

/** Events held at which nothing more of a connection is taken, whatever its limit is. */
export const STOP = 2 ** 31;

/** The native side's count of token words. */
const TOKEN_WORDS = 1024;
