/**
 * The layout of event records, as the native side writes them. Owns the two records with more than a
 * payload; handles nothing. What the numbers in them mean is in `kinds.generated.ts`.
 *
 * A record is two `u32` words and a payload padded to a multiple of four: word 0 is
 * `kind | ascii << 4 | sidecar << 5 | length << 8`, word 1 the connection's slot.
 */

import { TRANSPORTS, type Transport } from './kinds.generated.js';
import type { ClientCertificate } from './open-request.js';

/** The bits of word 0 that tell the record's kind. */
export const KIND_MASK = 15;
/** Where the payload's length begins in word 0. */
export const LENGTH_SHIFT = 8;

/** The slot of a record whose connection belonged to another worker. */
export const NO_SLOT = 0xffffffff;

const NO_TOKEN = 0xffffffff;

/** Beside the token's length: it is a value that was serialised. */
const TOKEN_IS_VALUE = 0x80000000;

/** A `Buffer` with the methods that skip argument checks; they exist in Node, Bun and Deno. */
export interface RecordBuffer extends Buffer {
  latin1Write(text: string, at: number, length: number): number;
  latin1Slice(start: number, end: number): string;
  utf8Slice(start: number, end: number): string;
}

/** A `Buffer` over the whole of `memory`. */
export function over(memory: ArrayBuffer): RecordBuffer {
  return Buffer.from(memory) as RecordBuffer;
}

/** A connection that wants to come in. */
export interface Opening {
  id: number;
  ip: string;
  /** 0 on a unix socket, and where a proxy names the client in its requests. */
  port: number;
  transport: Transport;
  /** Path and query, as sent. */
  target: string;
  headers: Record<string, string>;
  certificate: ClientCertificate | undefined;
}

/** A connection that is gone. */
export interface Closing {
  id: number;
  code: number;
  token: Buffer | undefined;
  /** Whether the token is a value that was serialised. */
  isValue: boolean;
  reason: string;
}

/** What a protocol tells of a connection, in the batch. */
export class SocketEvent {
  /** The event's number. */
  readonly number: number;
  /** Where the fields lie: from `start`, a multiple of four, to `end`. */
  readonly words: Uint32Array;
  readonly buffer: RecordBuffer;
  readonly start: number;
  readonly end: number;
  /** Its own, no view. */
  readonly payload: Buffer;
  /** Whose it is, and its token as handlers get it: set before it is handled. */
  socketId = 0;
  token: unknown = undefined;

  constructor(
    number: number,
    words: Uint32Array,
    buffer: RecordBuffer,
    place: { start: number; end: number },
    payload: Buffer,
  ) {
    this.number = number;
    this.words = words;
    this.buffer = buffer;
    this.start = place.start;
    this.end = place.end;
    this.payload = payload;
  }

  /** A view of the fields. */
  get fields(): RecordBuffer {
    return this.buffer.subarray(this.start, this.end) as RecordBuffer;
  }

  /** The same with fields of its own, for when the batch is used again. */
  copy(): SocketEvent {
    const words = this.words.slice(this.start >>> 2, (this.end + 3) >>> 2);
    const place = { start: 0, end: this.end - this.start };
    return new SocketEvent(this.number, words, over(words.buffer), place, this.payload);
  }
}

/** Whether `handleOpen` decides over the OPEN record whose payload starts at word `at`; if not, it is accepted already. */
export function isAwaited(words: Uint32Array, at: number): boolean {
  return (word(words, at + 2) & 1) !== 0;
}

/** Reads an OPEN record's payload, which starts at word `at`. */
export function readOpening(words: Uint32Array, buffer: RecordBuffer, at: number): Opening {
  const ip = (at + 8) << 2;
  const target = ip + word(words, at + 3);
  const headers = target + word(words, at + 4);
  const subject = headers + word(words, at + 5);
  const certificate = subject + word(words, at + 6);
  const end = certificate + word(words, at + 7);
  const flags = word(words, at + 2);
  return {
    id: socketId(words, at),
    ip: buffer.latin1Slice(ip, target),
    port: flags >>> 16,
    transport: TRANSPORTS[(flags >>> 8) & 0xff] as Transport,
    target: buffer.latin1Slice(target, headers),
    headers: readHeaders(buffer.latin1Slice(headers, subject)),
    certificate:
      end === certificate
        ? undefined
        : {
            subject: readSubject(buffer.utf8Slice(subject, certificate)),
            raw: Uint8Array.prototype.slice.call(buffer, certificate, end),
          },
  };
}

/** Reads a CLOSE record's payload, which starts at word `at`. */
export function readClosing(words: Uint32Array, buffer: RecordBuffer, at: number): Closing {
  const told = word(words, at + 3);
  const hasToken = told !== NO_TOKEN;
  const tokenLength = hasToken ? (told & ~TOKEN_IS_VALUE) >>> 0 : 0;
  const token = (at + 5) << 2;
  const reason = token + tokenLength;
  return {
    id: socketId(words, at),
    code: word(words, at + 2),
    token: hasToken ? Buffer.from(buffer.subarray(token, reason)) : undefined,
    isValue: hasToken && (told & TOKEN_IS_VALUE) !== 0,
    reason: buffer.utf8Slice(reason, reason + word(words, at + 4)),
  };
}

/** Names and values in turn, each ended by a zero. No prototype: a client may name a header as it likes. */
function readHeaders(text: string): Record<string, string> {
  const headers: Record<string, string> = Object.create(null);
  let at = 0;
  while (at < text.length) {
    const nameEnd = text.indexOf('\0', at);
    const valueEnd = text.indexOf('\0', nameEnd + 1);
    if (nameEnd < 0 || valueEnd < 0) break;
    headers[text.slice(at, nameEnd)] = text.slice(nameEnd + 1, valueEnd);
    at = valueEnd + 1;
  }
  return headers;
}

/** The same for a certificate's subject, where an attribute that is there several times becomes a list. */
function readSubject(text: string): Record<string, string | string[]> {
  const subject: Record<string, string | string[]> = {};
  const parts = text.split('\0');
  for (let at = 0; at + 2 < parts.length; at += 2) {
    const [name, value] = [parts[at] ?? '', parts[at + 1] ?? ''];
    const known = subject[name];
    subject[name] = known === undefined ? value : [known, value].flat();
  }
  return subject;
}

/** The id of two words. */
export function socketId(words: Uint32Array, at: number): number {
  return word(words, at + 1) * 2 ** 32 + word(words, at);
}

function word(words: Uint32Array, at: number): number {
  return words[at] ?? 0;
}
