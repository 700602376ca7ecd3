/** Messages of the protocol millrace.v1: a line of JSON, then perhaps a payload. Text or bytes, values in and out. */

import { CallError } from './call-error.js';
import type { Message } from './client-interface.js';

/** The fields that the client reads. What the server sends is trusted to have these types. */
export interface Header {
  t?: string;
  id?: number | string;
  /** The channel. */
  c?: string;
  /** The method of a call. */
  m?: unknown;
  /** The epoch and offset of a position. */
  e?: string;
  o?: number;
  /** The time of a publication. */
  ts?: number;
  /** The publisher. */
  f?: string;
  /** How a virtual socket marks its messages. */
  v?: string | number;
  /** Only the position counts: this subscriber was left out. */
  x?: number;
  /** The request of the history that it answers. */
  re?: number;
  /** A number of publications or members. */
  n?: number;
  /** How many of the last publications follow. */
  last?: number;
  more?: boolean;
  recovered?: boolean;
  code?: string;
  reason?: string;
  /** This connection's socket id, the key of a stream, and the pause before a ping. */
  s?: string;
  k?: string;
  ping?: number;
  /** On a stream: the payload is base64, of bytes (1) or text (2). */
  b?: number;
}

/** The longest header that the server reads, in bytes. */
const HEADER = 8192;

/** A payload as it is on the wire; undefined: there is none. */
export type Payload = string | Uint8Array | undefined;

/** Bytes as they are, anything else as JSON. Bytes are not copied. */
export function payloadOf(value: unknown): Payload {
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  return JSON.stringify(value);
}

/** What a payload stands for. Text that is not JSON stays text. */
export function dataOf(payload: Payload): unknown {
  if (typeof payload !== 'string') return payload;
  try {
    return JSON.parse(payload);
  } catch {
    return payload;
  }
}

/** A publication as it is told. */
export const messageOf = ({ c, o, ts, f, v }: Header, payload: Payload): Message => ({
  data: dataOf(payload),
  channel: c,
  offset: o,
  timestamp: ts,
  from: f,
  mark: v,
});

/**
 * A message, with a copy of the payload.
 *
 * @throws {CallError} `limit` for a header that the server would not read, and so not answer
 * @throws {TypeError} for a header that is no JSON
 */
export function encode(header: object, payload?: Payload): string | Uint8Array {
  const line = JSON.stringify(header);
  if (unescape(encodeURIComponent(line)).length > HEADER) throw new CallError('limit', `over ${HEADER} bytes`);
  if (payload === undefined) return line;
  if (typeof payload === 'string') return `${line}\n${payload}`;
  const start = new TextEncoder().encode(`${line}\n`);
  const whole = new Uint8Array(start.length + payload.length);
  whole.set(start);
  whole.set(payload, start.length);
  return whole;
}

/** @throws {SyntaxError} for a header that is not JSON */
export function decode(message: string | ArrayBuffer): [header: Header, payload: Payload] {
  if (typeof message === 'string') {
    const [line, rest] = split(message, message.indexOf('\n'));
    return [JSON.parse(line), rest];
  }
  const bytes = new Uint8Array(message);
  const [line, rest] = split(bytes, bytes.indexOf(10));
  // not TextDecoder, which React Native may not have
  return [JSON.parse(decodeURIComponent(escape(String.fromCharCode(...line)))), rest];
}

/** The bytes of a text in base64. */
export const fromBase64 = (text: string) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0));

/** A text as base64url of its bytes. */
export const toBase64Url = (text: string) =>
  btoa(String.fromCharCode(...new TextEncoder().encode(text)))
    .replace(/=/g, '')
    .replace(/\+/g, '-')
    .replace(/\//g, '_');

function split<Whole extends string | Uint8Array>(whole: Whole, at: number): [Whole, Whole | undefined] {
  const part = (from: number, to?: number) => whole.slice(from, to) as Whole;
  return at < 0 ? [whole, undefined] : [part(0, at), part(at + 1)];
}
