/** A request of a REQUEST record, and its answer. Owns one exchange, not the list of them. */

import type { NativeWorker } from '../addon/native-interface.js';
import { MillraceError } from '../errors.js';
import type { AnswerStream, HttpExchange } from './exchange.js';
import { FixedHeaders, textOf } from './fixed-headers.js';
import { aborted, Incoming, tooLarge } from './incoming.js';
import { NOWHERE, Outgoing } from './outgoing.js';
import { type RecordBuffer, socketId } from './record.js';

/** The owner of the list of exchanges. */
export interface Keeper {
  /** Removes an exchange that is over. */
  forget(exchange: NativeExchange): void;
  /** Reports that an answer was cut because the handler kept writing to a client that does not read. */
  overrun(exchange: NativeExchange): void;
  /** Reports that an answer was cut because the client has left. */
  deserted(exchange: NativeExchange): void;
}

/** See the module. All instances have the same shape, so that V8 optimises access to them. */
export class NativeExchange implements HttpExchange {
  readonly id: number;
  /** Whether the exchange is over: nothing more is reported to it, and nothing may be written. */
  over = false;
  readonly #worker: NativeWorker;
  readonly #flags: number;
  readonly #head: string;
  readonly #methodAt: number;
  readonly #targetAt: number;
  readonly #headersAt: number;
  readonly #content: Uint8Array | undefined;
  readonly #incoming: Incoming | undefined;
  readonly #keeper: Keeper;
  #state = OPEN;
  #target: string | undefined;
  #headerList: string[] | undefined;
  #body: Promise<Uint8Array> | undefined;
  #outgoing: Outgoing | undefined;
  /** Whether the client sends nothing more. */
  #left = false;
  #onAbort: (() => void)[] | undefined;
  #onGone: (() => void)[] | undefined;

  /** Reads a REQUEST record's payload, which starts at word `at`. */
  constructor(
    worker: NativeWorker,
    words: Uint32Array,
    buffer: RecordBuffer,
    place: { at: number; length: number },
    keeper: Keeper,
  ) {
    const { at } = place;
    const flags = words[at + 2] as number;
    const start = (at + HEAD_WORDS) << 2;
    const end = start + (words[at + 6] as number);
    this.id = socketId(words, at);
    this.#worker = worker;
    this.#flags = flags;
    this.#head = buffer.latin1Slice(start, end);
    this.#methodAt = words[at + 3] as number;
    this.#targetAt = this.#methodAt + (words[at + 4] as number);
    this.#headersAt = this.#targetAt + (words[at + 5] as number);
    this.#content = (flags & WHOLE) === HAS_BODY ? copyOf(buffer, end, (at << 2) + place.length) : undefined;
    this.#incoming = (flags & STREAMS) === 0 ? undefined : new Incoming(worker, this.id);
    this.#keeper = keeper;
  }

  get method(): string {
    return this.#head.substring(this.#methodAt, this.#targetAt);
  }

  get target(): string {
    this.#target ??= this.#head.substring(this.#targetAt, this.#headersAt);
    return this.#target;
  }

  get httpVersion(): '1.0' | '1.1' | '2.0' {
    return VERSIONS[this.#flags & 3] ?? '1.1';
  }

  get headerList(): readonly string[] {
    if (this.#headerList === undefined) {
      const list = this.#head.substring(this.#headersAt).split('\0');
      list.pop();
      this.#headerList = list;
    }
    return this.#headerList;
  }

  get host(): string {
    const head = this.#head;
    const at = this.#headersAt;
    // most clients send this header first
    if (head.startsWith(HOST, at)) return head.substring(at + HOST.length, head.indexOf('\0', at + HOST.length));
    const list = this.headerList;
    for (let at = 0; at < list.length; at += 2) if (list[at] === 'host') return list[at + 1] as string;
    return '';
  }

  get ip(): string {
    return this.#head.substring(0, this.#methodAt);
  }

  get port(): number {
    return this.#flags >>> 16;
  }

  get encrypted(): boolean {
    return (this.#flags & ENCRYPTED) !== 0;
  }

  get isForwarded(): boolean {
    return (this.#flags & FORWARDED) !== 0;
  }

  get hasBody(): boolean {
    return (this.#flags & HAS_BODY) !== 0;
  }

  get answered(): boolean {
    return this.#state !== OPEN;
  }

  get hasLeft(): boolean {
    return this.#left || this.#state === GONE;
  }

  body(limit = Number.POSITIVE_INFINITY): Promise<Uint8Array> {
    this.#body ??= this.#incoming?.whole(limit) ?? this.#present(limit);
    return this.#body;
  }

  #present(limit: number): Promise<Uint8Array> {
    const content = this.#content ?? NOTHING;
    return content.length > limit ? Promise.reject(tooLarge()) : Promise.resolve(content);
  }

  bodyNow(): Uint8Array | undefined {
    return this.#incoming === undefined ? (this.#content ?? NOTHING) : undefined;
  }

  stream(): ReadableStream<Uint8Array> {
    if (this.#incoming !== undefined) return this.#incoming.stream();
    const content = this.#content;
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        if (content !== undefined && content.length > 0) controller.enqueue(content);
        controller.close();
      },
    });
  }

  onAbort(callback: () => void): void {
    if (this.hasLeft) callback();
    else if (!this.over) this.#onAbort = [...(this.#onAbort ?? []), callback];
  }

  onGone(callback: () => void): void {
    if (this.#state === GONE) callback();
    else if (!this.over) this.#onGone = [...(this.#onGone ?? []), callback];
  }

  respond(status: number, headers: readonly string[] | FixedHeaders, body?: string | Uint8Array): void {
    if (this.#state !== OPEN) return this.#again();
    const isFixed = headers instanceof FixedHeaders;
    const list = isFixed ? headers.list : headers;
    const text = isFixed ? headers.text : textOf(headers);
    if (body === undefined && this.method === 'HEAD' && hasLength(list)) {
      // the length describes the body of the answer to GET; only the head of a streamed answer may name it
      this.#worker.beginAnswer(this.id, status, text, list.length);
      this.#worker.endAnswer(this.id, true);
    } else {
      this.#worker.respond(this.id, status, text, list.length, body);
    }
    this.#state = ANSWERED;
    this.#finish();
  }

  respondStream(status: number, headers: readonly string[]): AnswerStream {
    if (this.#state !== OPEN) {
      this.#again();
      return NOWHERE;
    }
    if (status === 204 || status === 304 || this.method === 'HEAD') {
      this.respond(status, headers);
      return NOWHERE;
    }
    this.#worker.beginAnswer(this.id, status, textOf(headers), headers.length);
    this.#state = ANSWERED;
    this.#outgoing = new Outgoing(this.#worker, this.id, {
      ended: () => this.#finish(),
      overrun: () => this.#keeper.overrun(this),
      deserted: () => this.#keeper.deserted(this),
    });
    if (this.#left) this.#outgoing.left();
    return this.#outgoing;
  }

  /** Sends an error after the handler failed, if that is still possible. */
  giveUp(status: number, text: string): void {
    if (this.#state === OPEN) this.respond(status, PLAIN, text);
    else this.#outgoing?.abort();
  }

  // What the native side reports.

  piece(piece: Uint8Array, last: boolean): void {
    this.#incoming?.push(piece, last);
  }

  room(): void {
    this.#outgoing?.room();
  }

  /** The rest of the request's body will not arrive. The request may still be answered. */
  broken(error: MillraceError): void {
    this.#incoming?.fail(error);
  }

  /** Trailers are not exposed to these handlers. */
  trailers(_text: string): void {}

  /** The answer cannot be delivered any more. */
  gone(why: string): void {
    if (this.over) return;
    this.#state = GONE;
    this.over = true;
    this.#incoming?.fail(aborted(why));
    this.#outgoing?.gone();
    this.left();
    const callbacks = this.#onGone ?? [];
    this.#onGone = undefined;
    for (const callback of callbacks) callback();
  }

  /** The client sends nothing more, so it may have left. */
  left(): void {
    this.#left = true;
    this.#outgoing?.left();
    const callbacks = this.#onAbort ?? [];
    this.#onAbort = undefined;
    for (const callback of callbacks) callback();
  }

  #finish(): void {
    this.over = true;
    this.#onAbort = undefined;
    this.#onGone = undefined;
    this.#incoming?.fail(aborted('the request is answered already'));
    this.#keeper.forget(this);
  }

  /** @throws {MillraceError} ERR_MILLRACE_ALREADY_ANSWERED, unless the answer cannot be delivered anyway */
  #again(): void {
    if (this.#state === GONE) return;
    throw new MillraceError('ERR_MILLRACE_ALREADY_ANSWERED', `${this.method} ${this.target} has been answered already`);
  }
}

function hasLength(headers: readonly string[]): boolean {
  for (let at = 0; at < headers.length; at += 2) if (headers[at]?.toLowerCase() === 'content-length') return true;
  return false;
}

/** A copy, because the batch's memory is used again. */
function copyOf(buffer: RecordBuffer, start: number, end: number): Uint8Array {
  return Buffer.from(buffer.subarray(start, end));
}

const OPEN = 0;
const ANSWERED = 1;
const GONE = 2;

/** Words of a REQUEST record's payload before its texts. */
export const HEAD_WORDS = 7;

/** Bits of the payload's third word. Its upper half is the port. */
export const ENCRYPTED = 1 << 2;
export const HAS_BODY = 1 << 3;
export const STREAMS = 1 << 4;
export const FORWARDED = 1 << 5;
export const WHOLE = HAS_BODY | STREAMS;

const HOST = 'host\0';
export const VERSIONS = ['1.0', '1.1', '2.0'] as const;
const PLAIN = new FixedHeaders(['content-type', 'text/plain; charset=utf-8']);
const NOTHING = new Uint8Array(0);
