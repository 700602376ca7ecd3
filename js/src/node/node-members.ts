/**
 * Members of Node's `IncomingMessage` and `ServerResponse` that their types leave out, and what `http.Server` does with them.
 * The only file that names them; where a runtime has none, nothing is done.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestSocket } from './socket.js';

/** A request, with them. */
export interface Incoming extends IncomingMessage {
  upgrade?: boolean;
  _consumed?: boolean;
  _dumped?: boolean;
  _dump?(): void;
  _addHeaderLines?(list: readonly string[], count: number): void;
}

/** A response, with them. */
export interface Outgoing extends ServerResponse {
  _removedConnection?: boolean;
  _closed?: boolean;
  destroyed: boolean;
}

/** Tells that nothing more is done with a response. */
export function closeResponse(response: Outgoing): void {
  if (response._closed === true) return;
  response.destroyed = true;
  response._closed = true;
  response.emit('close');
}

/** Gives a request its headers or, once it is complete, its trailers: name, value, name, value …. */
export function addLines(request: Incoming, list: readonly string[]): void {
  request._addHeaderLines?.(list, list.length);
}

/** Whether a client wants its connection to stay. */
export function staysOpen(list: readonly string[], version: string): boolean {
  for (let at = 0; at < list.length; at += 2) {
    const name = list[at] as string;
    if (name.length !== 10 || name.toLowerCase() !== 'connection') continue;
    const value = (list[at + 1] as string).toLowerCase();
    return version === '1.0' ? value.includes('keep-alive') : !value.includes('close');
  }
  return version !== '1.0';
}

/** What `http.Server` tells a request whose client has left. */
export function reset(): Error {
  return Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
}

/** Says that more may be written, to those who were told to wait, as `http.Server` does. */
export function drain(response: Outgoing, socket: RequestSocket): void {
  socket.emit('drain');
  const needs = needDrain(response);
  const marks = response as unknown as Record<symbol, boolean>;
  if (response.writableEnded || (needs !== undefined && marks[needs] === false)) return;
  if (needs !== undefined) marks[needs] = false;
  response.emit('drain');
}

/** Where Node keeps whether somebody was told to wait; null in runtimes that have no such place. */
let needDrainKey: symbol | null | undefined;

function needDrain(response: object): symbol | undefined {
  needDrainKey ??= Object.getOwnPropertySymbols(response).find((key) => key.description === 'kNeedDrain') ?? null;
  return needDrainKey ?? undefined;
}
