/**
 * Decodes the event records that the native side writes, and in particular OPEN and CLOSE records. The meaning of the
 * numbers is in `kinds.generated.ts`.
 *
 * A record is two `u32` words and a payload padded to a multiple of four: word 0 is
 * `kind | ascii << 4 | sidecar << 5 | length << 8`, word 1 the connection's slot.
 */

import { TRANSPORTS, type Transport } from './kinds.generated.js';
import type { ArrivingMessage } from './message-stream.js';
import type { ClientCertificate } from './open-request.js';

/** The bits of word 0 that hold the record's kind. */
export const KIND_MASK = 15;
/** The lowest bit of the payload's length in word 0. */
export const LENGTH_SHIFT = 8;

/** The slot of a record whose connection belonged to another worker. */
export const NO_SLOT = 0xffffffff;

const NO_TOKEN = 0xffffffff;

/** The bit of an OPEN record's flags that says whether the connection is encrypted. */
const ENCRYPTED = 1 << 1;

/** A bit beside the token's length: the token is a serialised value. */
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

/** A connection that is to be opened. */
export interface Opening {
  id: number;
  ip: string;
  /** 0 on a unix socket, and if a proxy names the client in its requests. */
  port: number;
  transport: Transport;
  encrypted: boolean;
  /** Path and query, as sent. */
  target: string;
  headers: Record<string, string>;
  certificate: ClientCertificate | undefined;
}

/** A connection that is closed. */
export interface Closing {
  id: number;
  code: number;
  token: Buffer | undefined;
  /** Whether the token is a value that was serialised. */
  isValue: boolean;
  reason: string;
}

/** An event of a protocol, in the batch. */
export class SocketEvent {
  /** The event's number. */
  readonly number: number;
  /** The position of the fields: from byte `start`, a multiple of four, to `end`. */
  readonly words: Uint32Array;
  readonly buffer: RecordBuffer;
  readonly start: number;
  readonly end: number;
  /** The payload. It has memory of its own. */
  readonly payload: Buffer;
  /** The socket, and its token in the form for handlers. Set before the event is handled. */
  socketId = 0;
  token: unknown = undefined;
  /** The message that it announces, if it does. */
  message: ArrivingMessage | undefined = undefined;
  /**
   * Handles the failure of what it called, instead of the end of the connection. Undefined as the cause: it took too long.
   * Returns whether the failure is reported.
   */
  giveUp: ((cause: unknown) => boolean) | undefined = undefined;

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

  /** A copy whose fields have memory of their own, because the batch's memory is used again. */
  copy(): SocketEvent {
    const words = this.words.slice(this.start >>> 2, (this.end + 3) >>> 2);
    const place = { start: 0, end: this.end - this.start };
    const copy = new SocketEvent(this.number, words, over(words.buffer), place, this.payload);
    copy.message = this.message;
    return copy;
  }
}

/**
 * Whether `handleOpen` decides about the OPEN record whose payload starts at word `at`. If not, the connection is
 * accepted already.
 */
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
    encrypted: (flags & ENCRYPTED) !== 0,
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

/**
 * Reads names and values, each ended by a zero byte. The object has no prototype, because a client may choose any name.
 */
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

/** Reads a certificate's subject in the same form. An attribute that occurs several times becomes an array. */
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

/** Reads a socket id of two words. */
export function socketId(words: Uint32Array, at: number): number {
  return word(words, at + 1) * 2 ** 32 + word(words, at);
}

function word(words: Uint32Array, at: number): number {
  return words[at] ?? 0;
}
