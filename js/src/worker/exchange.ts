/**
 * The contract between requests and the code that answers them in a worker: the `fetch` glue, the apps of
 * `millrace/http` and listeners of Node. Types only; how bytes are carried is not visible here.
 */

import type { MillraceError } from '../errors.js';
import type { FixedHeaders } from './fixed-headers.js';

/** One request that waits for its answer. A property is computed when it is read. */
export interface HttpExchange {
  /** As sent: `'GET'`. */
  readonly method: string;
  /** As sent: `'/a?b=c'`; `'*'` for `OPTIONS *`. */
  readonly target: string;
  readonly httpVersion: '1.0' | '1.1' | '2.0';
  /**
   * Names in lower case and values, alternating, in the order in which they were sent. Lines with the same name are
   * adjacent.
   */
  readonly headerList: readonly string[];
  /** The first `Host` header, or `:authority` of HTTP/2. Empty if there is none. */
  readonly host: string;
  /** The client's address; empty on a unix socket. */
  readonly ip: string;
  /** The client's port; 0 on a unix socket. */
  readonly port: number;
  /** Whether the request came over TLS. */
  readonly encrypted: boolean;
  /** Whether a proxy that the listener trusts sent the request, so that its `X-Forwarded-…` headers can be trusted. */
  readonly isForwarded: boolean;
  /** Whether the request has a body, which may still be empty. */
  readonly hasBody: boolean;
  /** Whether the answer has begun: `respond` or `respondStream` was called, or it was given up. */
  readonly answered: boolean;
  /** Whether the client has left or seems to have left, so that callbacks of `onAbort` are called. */
  readonly hasLeft: boolean;
  /**
   * Resolves with the whole body, which is empty if there is none. Every call returns the same promise. A body can be
   * read only once: by this method or by `stream`.
   *
   * @param limit a limit in bytes that is lower than `limits.bodyBytes`
   * @throws {MillraceError} (as a rejection) ERR_MILLRACE_BODY_TOO_LARGE (answer 413), ERR_MILLRACE_REQUEST_ABORTED if
   *   the client left
   */
  body(limit?: number): Promise<Uint8Array>;
  /**
   * The body if it arrived together with the request, as small ones do; empty if there is none. Otherwise undefined:
   * use `body`.
   */
  bodyNow(): Uint8Array | undefined;
  /** The body as a stream. The client is read only as fast as the stream is read. It fails as `body` does. */
  stream(): ReadableStream<Uint8Array>;
  /**
   * Calls back once if the client leaves before the answer is complete, or at once if it has left already. A client
   * that has only closed its sending side looks the same, so the answer is still sent.
   */
  onAbort(callback: () => void): void;
  /** Calls back once when the rest of the answer cannot be delivered any more, or at once if that is so already. */
  onGone(callback: () => void): void;
  /**
   * Sends the whole answer. `Content-Length` is added. For HEAD, 204 and 304 the body is left out; an answer to HEAD
   * without a body keeps its own `Content-Length`. Does nothing if the client has left or the answer was given up (see
   * `answered`).
   *
   * @param headers names in any case and values, alternating; `FixedHeaders` are not joined for each answer
   * @throws {TypeError} naming a header or a status that cannot be sent; nothing was sent
   * @throws {MillraceError} ERR_MILLRACE_ALREADY_ANSWERED, the second time
   */
  respond(status: number, headers: readonly string[] | FixedHeaders, body?: string | Uint8Array): void;
  /**
   * Begins an answer whose body is written in pieces. Throws as `respond` does. A `Content-Length` among the headers is
   * kept.
   */
  respondStream(status: number, headers: readonly string[]): AnswerStream;
}

/** The body of an answer that is being written. After `end`, or after the client has left, its methods do nothing. */
export interface AnswerStream {
  /**
   * Takes a piece, however much is queued. Returns false if enough is queued, in which case the caller should wait for
   * `drained`.
   */
  write(chunk: Uint8Array | string): boolean;
  /** Resolves when more may be written, or when the answer cannot be delivered any more (see `onAbort`). */
  drained(): Promise<void>;
  /** Completes the answer. */
  end(): void;
  /** Gives up the answer: the connection is cut, so that the client does not take the answer for complete. */
  abort(): void;
}

/**
 * Answers a request. If it throws or rejects, the error is reported, and the request is answered with 500 unless it has
 * been answered.
 */
export type ExchangeHandler = (exchange: HttpExchange) => void | Promise<unknown>;

/** A request whose answer is written as a message of HTTP/1.1, and its sink for what follows. */
export interface MessageExchange {
  /** As sent: `'GET'`. */
  readonly method: string;
  /** As sent, byte for byte. */
  readonly target: string;
  readonly httpVersion: '1.0' | '1.1' | '2.0';
  /** Names and values, alternating, in the order and case in which they were sent. The caller owns the array. */
  readonly headerList: string[];
  readonly ip: string;
  readonly port: number;
  /** The local address. Undefined on a unix socket. */
  readonly local: { address: string; port: number } | undefined;
  readonly encrypted: boolean;
  /** The whole body, if there is one and it arrived together with the request. */
  readonly content: Uint8Array | undefined;
  /** Whether the body arrives in pieces. */
  readonly streams: boolean;
  /** Whether the exchange is over: nothing more is reported to it, and nothing may be written. */
  readonly over: boolean;
  /** Gets the pieces and events that follow. The handler must set it before it returns. */
  sink: MessageSink | undefined;
  /** Allows the client to send so many more bytes of the body. */
  pull(bytes: number): void;
  /** Writes a part of the message. `last` ends the message. `latin1`: `first` is sent as Latin-1 if it is a string. */
  write(first: string | Uint8Array, second: string | Uint8Array | undefined, last: boolean, latin1: boolean): void;
  /** Asks for a call of the sink's `room` when few bytes of the answer are left to be written. */
  wantRoom(): void;
  /** Cuts the connection. An unfinished answer stays unfinished. */
  cut(): void;
  /** Reports what a callback of the listener threw. */
  failed(error: unknown): void;
}

/** Gets the pieces and events of a `MessageExchange`. */
export interface MessageSink {
  /** A piece of the request's body. */
  piece(piece: Uint8Array, last: boolean): void;
  /** The end of the request's body, with its trailers: names and values, alternating. */
  trailers(list: string[]): void;
  /** The rest of the request's body will not arrive. The request may still be answered. */
  broken(error: MillraceError): void;
  /** Few bytes of the answer are left to be written. */
  room(): void;
  /** The client has left or seems to have left. */
  gone(): void;
  /** The listener failed: send the client an error with this status if that is still possible. */
  giveUp(status: number, text: string): void;
}

/** Answers a request with a message. Failures have the same effect as with `ExchangeHandler`. */
export type MessageHandler = (exchange: MessageExchange) => void | Promise<unknown>;

/** The export that answers requests with messages. */
export interface MessageAnswerer {
  readonly handle: MessageHandler;
  /** Prepares for requests. Called before the worker takes any. */
  ready(): Promise<void>;
}

/**
 * The symbol under which the default export of a worker module has its `MessageAnswerer`. `nodeHandler` makes such
 * exports.
 */
export const MESSAGE_HANDLER: unique symbol = Symbol.for('millrace.message');

/**
 * The symbol under which the default export of a worker module has its `ExchangeHandler`, as in apps of
 * `millrace/http`.
 */
export const EXCHANGE_HANDLER: unique symbol = Symbol.for('millrace.exchange');
