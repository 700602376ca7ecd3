/**
 * Undocumented members of Node's `IncomingMessage` and `ServerResponse`, and the calls of `http.Server` to them. No
 * other file names them. In a runtime that lacks one, nothing is done.
 */

import { IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { RequestSocket } from './socket.js';

/** A request with these members. */
export interface Incoming extends IncomingMessage {
  upgrade?: boolean;
  _consumed?: boolean;
  _dumped?: boolean;
  _dump?(): void;
  joinDuplicateHeaders?: boolean;
  _addHeaderLines?(list: readonly string[], count: number): void;
}

/** A response with these members. */
export interface Outgoing extends ServerResponse {
  _removedConnection?: boolean;
  _closed?: boolean;
  _expect_continue?: boolean;
  destroyed: boolean;
}

/** What a server makes requests and responses of: options of `http.createServer`. */
export interface Making {
  readonly Request: new (socket: never) => Incoming;
  readonly Response: new (request: Incoming, options?: object) => Outgoing;
  /** The second argument of `Response`. */
  readonly options: object | undefined;
  /** Whether values of repeated headers are joined. */
  readonly joins: boolean;
  /** Gives a response the names of headers whose values are joined. */
  mark(response: Outgoing): void;
}

/** Reads the options with which a server was made. */
export function makingOf(server: Server): Making {
  const members = server as unknown as Record<PropertyKey, unknown>;
  const symbols = Object.getOwnPropertySymbols(server);
  const keyOf = (name: string) => symbols.find((symbol) => symbol.description === name) ?? name;
  const classOf = (name: string, fallback: unknown) => {
    const own = members[keyOf(name)];
    return typeof own === 'function' ? own : fallback;
  };
  const uniqueKey = keyOf('kUniqueHeaders');
  const unique = members[uniqueKey] ?? undefined;
  const rejects = members['rejectNonStandardBodyWrites'] === true;
  return {
    Request: classOf('IncomingMessage', IncomingMessage) as Making['Request'],
    Response: classOf('ServerResponse', ServerResponse) as Making['Response'],
    options: rejects ? { rejectNonStandardBodyWrites: true } : undefined,
    joins: members['joinDuplicateHeaders'] === true,
    mark(response) {
      if (unique !== undefined) (response as unknown as Record<PropertyKey, unknown>)[uniqueKey] = unique;
    },
  };
}

/** Calls the listeners of a server for a request, as `http.Server` does. */
export function emitRequest(server: Server, request: Incoming, response: Outgoing, expects: boolean): void {
  if (!expects) {
    server.emit('request', request, response);
  } else if (CONTINUE.test(request.headers.expect ?? '')) {
    response._expect_continue = true;
    if (server.emit('checkContinue', request, response)) return;
    response.writeContinue();
    server.emit('request', request, response);
  } else if (!server.emit('checkExpectation', request, response)) {
    response.writeHead(417);
    response.end();
  }
}

/** As in Node.js. */
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

/** Whether a request of HTTP/1.1 has an expectation. */
export function hasExpectation(list: readonly string[], version: string): boolean {
  if (version !== '1.1') return false;
  for (let at = 0; at < list.length; at += 2) {
    const name = list[at] as string;
    if (name.length === 6 && name.toLowerCase() === 'expect') return true;
  }
  return false;
}

/** Marks a response as closed. */
export function closeResponse(response: Outgoing): void {
  if (response._closed === true) return;
  response.destroyed = true;
  response._closed = true;
  response.emit('close');
}

/** Gives a request its headers or, once it is complete, its trailers: names and values, alternating. */
export function addLines(request: Incoming, list: readonly string[]): void {
  request._addHeaderLines?.(list, list.length);
}

/** Whether a client wants to keep its connection open. */
export function staysOpen(list: readonly string[], version: string): boolean {
  for (let at = 0; at < list.length; at += 2) {
    const name = list[at] as string;
    if (name.length !== 10 || name.toLowerCase() !== 'connection') continue;
    const value = (list[at + 1] as string).toLowerCase();
    return version === '1.0' ? value.includes('keep-alive') : !value.includes('close');
  }
  return version !== '1.0';
}

/** The error that `http.Server` gives a request whose client has left. */
export function reset(): Error {
  return Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
}

/** Emits `drain` for writers that were told to wait, as `http.Server` does. */
export function drain(response: Outgoing, socket: RequestSocket): void {
  socket.emit('drain');
  const needs = needDrain(response);
  const marks = response as unknown as Record<symbol, boolean>;
  if (response.writableEnded || (needs !== undefined && marks[needs] === false)) return;
  if (needs !== undefined) marks[needs] = false;
  response.emit('drain');
}

/** The key of Node's flag for writers that were told to wait. Null in runtimes that lack it. */
let needDrainKey: symbol | null | undefined;

function needDrain(response: object): symbol | undefined {
  needDrainKey ??= Object.getOwnPropertySymbols(response).find((key) => key.description === 'kNeedDrain') ?? null;
  return needDrainKey ?? undefined;
}
