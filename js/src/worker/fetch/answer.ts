/** Sends the result of a `fetch` handler: a `Response` or a plain object. Decides what is a valid answer. */

import { readable } from '../../log/report.js';
import type { HttpExchange } from '../exchange.js';
import { piecesOf, type Streamable } from '../pieces.js';
import { pump } from '../pump.js';
import { wholeOf } from './light-response.js';
import { takeText } from './text-response.js';

/** A body of a plain answer. */
export type AnswerBody =
  | string
  | Uint8Array
  | ArrayBuffer
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array | string>
  | null
  | undefined;

/** An answer as a plain object, which costs less than a `Response`. */
export interface PlainAnswer {
  /** The status, 200 to 599. Default 200. */
  status?: number;
  /** The headers. An array gives a header several values. */
  headers?: Record<string, string | string[]> | Headers | [string, string][];
  /** The body. Default: none. */
  body?: AnswerBody;
}

/**
 * Sends an answer. Returns a promise if the body comes in pieces.
 *
 * @throws {TypeError} (or rejects with one) if the answer is not valid
 */
export function send(exchange: HttpExchange, answer: unknown): void | Promise<unknown> {
  if (answer instanceof Response) return sendResponse(exchange, answer);
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) throw noAnswer(answer);
  const { status, headers, body } = answer as PlainAnswer;
  if (status === undefined && headers === undefined && body === undefined) throw noAnswer(answer);
  return sendBody(exchange, status ?? 200, listOf(headers), body);
}

function noAnswer(value: unknown): TypeError {
  return new TypeError(`fetch must return a Response or { status, headers, body }, not ${readable(value)}`);
}

function sendResponse(exchange: HttpExchange, response: Response): void | Promise<unknown> {
  const whole = wholeOf(response);
  if (whole !== undefined) return exchange.respond(whole.status, whole.headers, whole.body ?? undefined);
  const text = takeText(response);
  if (text !== undefined) return sendBody(exchange, response.status, [...response.headers].flat(), text);
  const { body } = response;
  // a used body is empty by now, and must not be sent as if it were complete
  if (response.bodyUsed || body?.locked) throw new TypeError("the Response's body has been used already");
  const headers: string[] = [];
  for (const [name, value] of response.headers) headers.push(name, value);
  if (body === null) exchange.respond(response.status, headers);
  else return stream(exchange, response.status, headers, body as ReadableStream<Uint8Array>);
}

function stream(exchange: HttpExchange, status: number, headers: string[], body: Streamable): Promise<unknown> {
  const opener = {
    whole: (all?: string | Uint8Array) => exchange.respond(status, headers, all),
    begin: () => exchange.respondStream(status, headers),
  };
  return pump(exchange, status, piecesOf(body), opener);
}

function sendBody(
  exchange: HttpExchange,
  status: number,
  headers: string[],
  body: AnswerBody,
): void | Promise<unknown> {
  if (typeof body === 'string') {
    if (!hasType(headers)) headers.push('content-type', 'text/plain;charset=UTF-8');
    exchange.respond(status, headers, body);
  } else if (body === undefined || body === null) {
    exchange.respond(status, headers);
  } else if (body instanceof Uint8Array) {
    exchange.respond(status, headers, body);
  } else if (body instanceof ArrayBuffer) {
    exchange.respond(status, headers, new Uint8Array(body));
  } else if (body instanceof ReadableStream || (typeof body === 'object' && Symbol.asyncIterator in body)) {
    return stream(exchange, status, headers, body);
  } else {
    throw new TypeError(
      `an answer's body must be a string, Uint8Array, ArrayBuffer, ReadableStream or async iterable, not ${readable(body)}`,
    );
  }
}

/** The headers as names and values, alternating. */
function listOf(headers: PlainAnswer['headers']): string[] {
  const list: string[] = [];
  if (headers === undefined || headers === null) return list;
  if (typeof headers !== 'object')
    throw new TypeError(`an answer's headers must be an object, not ${readable(headers)}`);
  const entries = Symbol.iterator in headers ? headers : Object.entries(headers);
  for (const [name, value] of entries as Iterable<[string, string | string[]]>) {
    if (Array.isArray(value)) for (const one of value) list.push(String(name), textOf(name, one));
    else list.push(String(name), textOf(name, value));
  }
  return list;
}

function textOf(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  throw new TypeError(`an answer's header '${name}' must be a string or several, not ${readable(value)}`);
}

function hasType(headers: string[]): boolean {
  for (let at = 0; at < headers.length; at += 2) if (headers[at]?.toLowerCase() === 'content-type') return true;
  return false;
}
