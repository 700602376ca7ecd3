/** What a `fetch` handler returned, sent: a `Response` or a plain object. Owns what counts as an answer. */

import { readable } from '../../report.js';
import type { AnswerStream, HttpExchange } from '../exchange.js';

/** A body of a plain answer. */
export type AnswerBody =
  | string
  | Uint8Array
  | ArrayBuffer
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array | string>
  | null
  | undefined;

/** An answer that costs less than a `Response`. */
export interface PlainAnswer {
  /** 200 to 599. Default 200. */
  status?: number;
  /** An array gives a header several values. */
  headers?: Record<string, string | string[]> | Headers | [string, string][];
  /** Default: none. */
  body?: AnswerBody;
}

/**
 * Sends an answer. A promise is returned for bodies that come in pieces.
 *
 * @throws {TypeError} (or rejects) if it is none
 */
export function send(exchange: HttpExchange, answer: unknown): void | Promise<void> {
  if (answer instanceof Response) return sendResponse(exchange, answer);
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) throw noAnswer(answer);
  const { status, headers, body } = answer as PlainAnswer;
  if (status === undefined && headers === undefined && body === undefined) throw noAnswer(answer);
  return sendBody(exchange, status ?? 200, listOf(headers), body);
}

function noAnswer(value: unknown): TypeError {
  return new TypeError(`fetch must return a Response or { status, headers, body }, not ${readable(value)}`);
}

function sendResponse(exchange: HttpExchange, response: Response): void | Promise<void> {
  const headers: string[] = [];
  for (const [name, value] of response.headers) headers.push(name, value);
  const { body } = response;
  if (body === null || exchange.method === 'HEAD') {
    body?.cancel().catch(() => undefined);
    exchange.respond(response.status, headers);
    return;
  }
  return pump(exchange, response.status, headers, body as ReadableStream<Uint8Array>);
}

function sendBody(exchange: HttpExchange, status: number, headers: string[], body: AnswerBody): void | Promise<void> {
  if (typeof body === 'string') {
    if (!hasType(headers)) headers.push('content-type', 'text/plain;charset=UTF-8');
    exchange.respond(status, headers, body);
  } else if (body === undefined || body === null) {
    exchange.respond(status, headers);
  } else if (body instanceof Uint8Array) {
    exchange.respond(status, headers, body);
  } else if (body instanceof ArrayBuffer) {
    exchange.respond(status, headers, new Uint8Array(body));
  } else if (body instanceof ReadableStream) {
    return pump(exchange, status, headers, body);
  } else if (typeof body === 'object' && Symbol.asyncIterator in body) {
    return iterate(exchange, status, headers, body);
  } else {
    throw new TypeError(
      `an answer's body must be a string, Uint8Array, ArrayBuffer, ReadableStream or async iterable, not ${readable(body)}`,
    );
  }
}

/** Names and values in turn. */
function listOf(headers: PlainAnswer['headers']): string[] {
  const list: string[] = [];
  if (headers === undefined || headers === null) return list;
  if (typeof headers !== 'object')
    throw new TypeError(`an answer's headers must be an object, not ${readable(headers)}`);
  const entries = Symbol.iterator in headers ? headers : Object.entries(headers);
  for (const [name, value] of entries as Iterable<[string, string | string[]]>) {
    if (Array.isArray(value)) for (const one of value) list.push(String(name), String(one));
    else list.push(String(name), String(value));
  }
  return list;
}

function hasType(headers: string[]): boolean {
  for (let at = 0; at < headers.length; at += 2) if (headers[at]?.toLowerCase() === 'content-type') return true;
  return false;
}

/** Sends a stream. One whose end comes right behind its first piece is a whole body, and has a length. */
async function pump(
  exchange: HttpExchange,
  status: number,
  headers: string[],
  body: ReadableStream<Uint8Array>,
): Promise<void> {
  const reader = body.getReader();
  exchange.onGone(() => void reader.cancel().catch(() => undefined));
  let stream: AnswerStream | undefined;
  try {
    const first = await reader.read();
    if (first.done) {
      exchange.respond(status, headers);
      return;
    }
    let ended = false;
    const second = reader.read().then((result) => {
      ended = result.done;
      return result;
    });
    // a failure is seen where it is awaited below
    second.catch(() => undefined);
    for (let turn = 0; turn < TURNS && !ended; turn += 1) await undefined;
    if (ended) {
      exchange.respond(status, headers, bytesOf(first.value));
      return;
    }
    stream = exchange.respondStream(status, headers);
    await write(stream, bytesOf(first.value));
    for (let next = await second; !next.done; next = await reader.read()) {
      await write(stream, bytesOf(next.value));
    }
    stream.end();
  } catch (error) {
    stream?.abort();
    void reader.cancel(error).catch(() => undefined);
    throw error;
  }
}

async function iterate(
  exchange: HttpExchange,
  status: number,
  headers: string[],
  body: AsyncIterable<Uint8Array | string>,
): Promise<void> {
  const stream = exchange.respondStream(status, headers);
  let left = false;
  exchange.onGone(() => {
    left = true;
  });
  try {
    for await (const piece of body) {
      if (left) return;
      await write(stream, typeof piece === 'string' ? piece : bytesOf(piece));
    }
    stream.end();
  } catch (error) {
    stream.abort();
    throw error;
  }
}

function write(stream: AnswerStream, piece: Uint8Array | string): void | Promise<void> {
  return stream.write(piece) ? undefined : stream.drained();
}

function bytesOf(piece: unknown): Uint8Array {
  if (piece instanceof Uint8Array) return piece;
  throw new TypeError(`a body's pieces must be Uint8Arrays, not ${readable(piece)}`);
}

/** Turns of the microtask queue within which the end of a body that was whole is seen. */
const TURNS = 8;
