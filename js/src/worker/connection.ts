/** The state of one connection in a worker, and the events that wait for its handlers. Has no behaviour. */

import type { ArrivingMessage } from './message-stream.js';
import type { Closing, Opening, SocketEvent } from './record.js';

/** The state of one connection. All instances have the same shape, so that V8 optimises access to them. */
export class Connection {
  id: number;
  /** The value of its token word when `token` was read. 0: it was never read, and no token was ever set. */
  tokenSeen = 0;
  /** The token: bytes, or the stored value. */
  token: unknown = undefined;
  /** See `TokenHolder`. */
  tokenStamp = '';
  /** Whether `handleOpen` has accepted the connection, or the module has no `handleOpen`. */
  accepted = true;
  /** Whether a handler failed. The connection then gets no more messages. */
  failed = false;
  /** The pending handler that the next event waits for. */
  run: Run | undefined = undefined;
  /** How many promises of protocols' own code are pending. Only the end of the socket waits for these. */
  beside = 0;
  /** The bytes of the events that these promises belong to. */
  besideBytes = 0;
  /** Whether so many of them are pending that the connection is not read. */
  isStopped = false;
  closing: Closing | undefined = undefined;

  constructor(id: number) {
    this.id = id;
  }
}

/** Whether a connection differs from a new one that is accepted. */
export function hasState(connection: Connection): boolean {
  return (
    connection.run !== undefined ||
    connection.tokenSeen !== 0 ||
    connection.token !== undefined ||
    connection.failed ||
    !connection.accepted ||
    connection.beside !== 0
  );
}

/** A handler whose promise is pending. */
export class Run {
  readonly connection: Connection;
  readonly kind: number;
  /** The payload bytes that the native side counts as unhandled for this event. -1: the event is not a message. */
  readonly held: number;
  /** When waiting for it began, on the clock of `performance.now()`. */
  readonly began: number;
  /** When it exceeds its time limit, on the clock of `performance.now()`. */
  deadline: number;
  /** The connection's events that wait for this handler. */
  waiting: Waiting[] | undefined = undefined;
  /** Whether it is settled or over its time limit. Anything that follows is ignored. */
  done = false;
  /** Handles the answer of `handleOpen`. */
  readonly decide: ((result: unknown) => void) | undefined;
  /** Whether the connection's next events go on without waiting for it. */
  beside = false;
  /** The message that it reads while it arrives. */
  message: ArrivingMessage | undefined = undefined;
  /** See `SocketEvent`. */
  giveUp: ((cause: unknown) => boolean) | undefined = undefined;
  /** The neighbours in the list of `Deadlines`. */
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

/** An event that waits for a pending handler. */
export interface Waiting {
  /** The kind, as in `Runner`. */
  kind: number;
  payload: string | Buffer | Opening | Closing | SocketEvent | undefined;
  /** The payload bytes that the native side counts as unhandled for this event. -1: the event is not a message. */
  held: number;
}

/** Holding this many events stops reading a connection, whatever its limit is. */
export const STOP = 2 ** 31;

/** The index of the token word of a socket: the word changes when the socket's token may have changed. */
export function tokenWord(id: number): number {
  return id & (TOKEN_WORDS - 1);
}

/** The number of token words on the native side, a power of two. */
const TOKEN_WORDS = 1024;
