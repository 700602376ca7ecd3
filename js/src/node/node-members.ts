/**
 * Undocumented members of Node's `IncomingMessage` and `ServerResponse`, and the calls of `http.Server` to them. No
 * other file names them. In a runtime that lacks one, nothing is done.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestSocket } from './socket.js';

/** A request with these members. */
export interface Incoming extends IncomingMessage {
  upgrade?: boolean;
  _consumed?: boolean;
  _dumped?: boolean;
  _dump?(): void;
  _addHeaderLines?(list: readonly string[], count: number): void;
}

/** A response with these members. */
export interface Outgoing extends ServerResponse {
  _removedConnection?: boolean;
  _closed?: boolean;
  destroyed: boolean;
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
