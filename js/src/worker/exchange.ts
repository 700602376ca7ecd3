/**
 * A request and its answer, as whatever handles requests in a worker sees them: the `fetch` glue and the apps of
 * `millrace/http`. Owns the contract only; how bytes come and go is behind it.
 */

import type { MillraceError } from '../errors.js';

/** One request that waits for its answer. Reading a property costs nothing until it is read. */
export interface HttpExchange {
  /** As sent: `'GET'`. */
  readonly method: string;
  /** As sent: `'/a?b=c'`; `'*'` for `OPTIONS *`. */
  readonly target: string;
  readonly httpVersion: '1.0' | '1.1' | '2.0';
  /** Name, value, name, value …: names in lower case, in the order sent; lines of one name follow each other. */
  readonly headerList: readonly string[];
  /** The first `Host`, or what HTTP/2 has instead; empty if there is none. */
  readonly host: string;
  /** The client's address; empty on a unix socket. */
  readonly ip: string;
  /** The client's port; 0 on a unix socket. */
  readonly port: number;
  /** Whether it came over TLS. */
  readonly encrypted: boolean;
  /** Whether a proxy that the listener trusts has sent it: what its `X-Forwarded-…` headers say is true. */
  readonly isForwarded: boolean;
  /** Whether the request has a body, which may still be empty. */
  readonly hasBody: boolean;
  /** Whether the answer has begun: `respond` or `respondStream` was called, or it was given up. */
  readonly answered: boolean;
  /** Whether the client has left, or seems to: `onAbort` was, or would be, called. */
  readonly hasLeft: boolean;
  /**
   * The whole body; empty if there is none. The same promise each time. A body is read once: by this or by `stream`.
   *
   * @param limit bytes, if fewer than `limits.bodyBytes` are wanted
   * @throws {MillraceError} (as a rejection) ERR_MILLRACE_BODY_TOO_LARGE (answer 413), ERR_MILLRACE_REQUEST_ABORTED if
   *   the client left
   */
  body(limit?: number): Promise<Uint8Array>;
  /** The body if all of it came with the request, as small ones do; empty if there is none. Else undefined: use `body`. */
  bodyNow(): Uint8Array | undefined;
  /** The body in pieces as they come; the client is read only as fast as they are taken. Fails as `body` does. */
  stream(): ReadableStream<Uint8Array>;
  /**
   * Called once if the client leaves before the answer is complete; at once if it has left already. One that only closed
   * its sending side looks the same, so what is answered is still sent.
   */
  onAbort(callback: () => void): void;
  /** Called once if nobody will read the answer, or its rest, whatever comes; at once if that is so already. */
  onGone(callback: () => void): void;
  /**
   * The whole answer. `Content-Length` is added; for HEAD, 204 and 304 the body is left out. To HEAD without a body a
   * `Content-Length` among the headers is kept. Does nothing if the client has left or the answer was given up (see
   * `answered`).
   *
   * @param headers name, value, name, value …; names in any case
   * @throws {TypeError} naming a header or status that cannot be sent; nothing was
   * @throws {MillraceError} ERR_MILLRACE_ALREADY_ANSWERED, the second time
   */
  respond(status: number, headers: readonly string[], body?: string | Uint8Array): void;
  /** An answer whose body comes in pieces. Throws as `respond` does. A `Content-Length` among the headers is kept. */
  respondStream(status: number, headers: readonly string[]): AnswerStream;
}

/** The body of an answer, while it is written. After the client left, or after `end`, everything here does nothing. */
export interface AnswerStream {
  /** Takes a piece in any case. False: enough waits already, so go on after `drained`. */
  write(chunk: Uint8Array | string): boolean;
  /** Resolves when more may be written, or when nobody reads any more (see `onAbort`). */
  drained(): Promise<void>;
  /** The answer is complete. */
  end(): void;
  /** The answer cannot be completed: the connection is cut, so that nobody takes it for whole. */
  abort(): void;
}

/** Answers requests. What it throws or rejects with is reported and answered with 500, if it has not answered. */
export type ExchangeHandler = (exchange: HttpExchange) => void | Promise<unknown>;

/** A request that waits for an answer written as a message of HTTP/1.1, and who takes what comes of it. */
export interface MessageExchange {
  /** As sent: `'GET'`. */
  readonly method: string;
  /** As sent, byte for byte. */
  readonly target: string;
  readonly httpVersion: '1.0' | '1.1' | '2.0';
  /** Name, value, name, value …, as sent: in their order, names in their case. The caller's own. */
  readonly headerList: string[];
  readonly ip: string;
  readonly port: number;
  /** This side's address; undefined on a unix socket. */
  readonly local: { address: string; port: number } | undefined;
  readonly encrypted: boolean;
  /** The whole body, if all of it came with the request and it has one. */
  readonly content: Uint8Array | undefined;
  /** The body comes in pieces. */
  readonly streams: boolean;
  /** Nothing more will be told of it, and nothing is to be. */
  readonly over: boolean;
  /** Who is told what comes; to be set before the handler returns. */
  sink: MessageSink | undefined;
  /** There is room for so many more bytes of the body. */
  pull(bytes: number): void;
  /** Writes a part of the message; `last`: it ends it. `latin1`: a first string goes as Latin-1. */
  write(first: string | Uint8Array, second: string | Uint8Array | undefined, last: boolean, latin1: boolean): void;
  /** The sink is to be told when few bytes of the answer are left to be written. */
  wantRoom(): void;
  /** Cuts the connection: what was begun will not be finished, and nothing else is said. */
  cut(): void;
  /** Reports what a callback of the listener threw. */
  failed(error: unknown): void;
}

/** Is told what comes of a `MessageExchange`. */
export interface MessageSink {
  /** A piece of the request's body. */
  piece(piece: Uint8Array, last: boolean): void;
  /** Its end, with trailers: name, value, name, value …. */
  trailers(list: string[]): void;
  /** The rest of the body will not come; the answer may still go. */
  broken(error: MillraceError): void;
  /** Few bytes of the answer are left to be written. */
  room(): void;
  /** The client has left: nobody waits for the answer any more, or nobody seems to. */
  gone(): void;
  /** The listener failed: what there is left to be said to the client. */
  giveUp(status: number, text: string): void;
}

/** Answers requests with messages; failing is as with `ExchangeHandler`. */
export type MessageHandler = (exchange: MessageExchange) => void | Promise<unknown>;

/** Who answers with messages. */
export interface MessageAnswerer {
  readonly handle: MessageHandler;
  /** Gets it ready: before the worker takes anything. */
  ready(): Promise<void>;
}

/** Under this symbol the default export of a worker module has its `MessageAnswerer`, as what `nodeHandler` makes does. */
export const MESSAGE_HANDLER: unique symbol = Symbol.for('millrace.message');

/** Under this symbol the default export of a worker module has its `ExchangeHandler`, as apps of `millrace/http` do. */
export const EXCHANGE_HANDLER: unique symbol = Symbol.for('millrace.exchange');
