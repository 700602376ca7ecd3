/**
 * A request of a REQUEST record whose answer is a message of HTTP/1.1. Owns one exchange, as `native-exchange.ts` does.
 * Does not look into the messages: their contents belong to the handler.
 */

import type { NativeWorker } from '../addon/native-interface.js';
import type { MillraceError } from '../errors.js';
import type { MessageExchange, MessageSink } from './exchange.js';
import { ENCRYPTED, HAS_BODY, HEAD_WORDS, STREAMS, VERSIONS, WHOLE } from './native-exchange.js';
import { type RecordBuffer, socketId } from './record.js';

/** The owner of the list of exchanges. */
export interface MessageKeeper {
  /** Removes an exchange that is over. */
  forget(exchange: NativeMessage): void;
  /** Reports an error that a callback of the listener threw. */
  failed(exchange: NativeMessage, error: unknown): void;
}

/** See the module. All instances have the same shape, so that V8 optimises access to them. */
export class NativeMessage implements MessageExchange {
  readonly id: number;
  over = false;
  hasLeft = false;
  sink: MessageSink | undefined = undefined;
  readonly method: string;
  readonly target: string;
  readonly content: Uint8Array | undefined;
  readonly #worker: NativeWorker;
  readonly #keeper: MessageKeeper;
  readonly #flags: number;
  /** The client's address, a line feed, and the local address with its port. */
  readonly #addresses: string;
  readonly #headers: string;
  #begun = false;

  /** Reads a REQUEST record's payload, which starts at word `at`. */
  constructor(
    worker: NativeWorker,
    words: Uint32Array,
    buffer: RecordBuffer,
    place: { at: number; length: number },
    keeper: MessageKeeper,
  ) {
    const { at } = place;
    const flags = words[at + 2] as number;
    const start = (at + HEAD_WORDS) << 2;
    const end = start + (words[at + 6] as number);
    const head = buffer.latin1Slice(start, end);
    const methodAt = words[at + 3] as number;
    const targetAt = methodAt + (words[at + 4] as number);
    const headersAt = targetAt + (words[at + 5] as number);
    this.id = socketId(words, at);
    this.#worker = worker;
    this.#keeper = keeper;
    this.#flags = flags;
    this.#addresses = head.slice(0, methodAt);
    this.method = head.slice(methodAt, targetAt);
    this.target = head.slice(targetAt, headersAt);
    this.#headers = head.slice(headersAt);
    // a copy, because the batch's memory is used again
    const body = (at << 2) + place.length;
    this.content = (flags & WHOLE) === HAS_BODY ? Buffer.from(buffer.subarray(end, body)) : undefined;
  }

  get httpVersion(): '1.0' | '1.1' | '2.0' {
    return VERSIONS[this.#flags & 3] ?? '1.1';
  }

  get headerList(): string[] {
    return listOf(this.#headers);
  }

  get ip(): string {
    const end = this.#addresses.indexOf('\n');
    return end < 0 ? this.#addresses : this.#addresses.slice(0, end);
  }

  get local(): { address: string; port: number } | undefined {
    const found = /\n\[?(.+?)\]?:(\d+)$/.exec(this.#addresses);
    return found === null ? undefined : { address: found[1] as string, port: Number(found[2]) };
  }

  get port(): number {
    return this.#flags >>> 16;
  }

  get encrypted(): boolean {
    return (this.#flags & ENCRYPTED) !== 0;
  }

  get streams(): boolean {
    return (this.#flags & STREAMS) !== 0;
  }

  pull(bytes: number): void {
    if (!this.over) this.#worker.pull(this.id, bytes);
  }

  write(first: string | Uint8Array, second: string | Uint8Array | undefined, last: boolean, latin1: boolean): void {
    if (this.over) return;
    const flags = (this.#begun ? 0 : BEGINS) | (last ? ENDS : 0) | (latin1 ? LATIN1 : 0);
    this.#begun = true;
    this.#worker.writeMessage(this.id, first, second, flags);
    if (last) this.#finish();
  }

  wantRoom(): void {
    if (!this.over) this.#worker.wantRoom(this.id);
  }

  cut(): void {
    if (this.over) return;
    if (!this.#begun) this.#worker.writeMessage(this.id, '', undefined, BEGINS);
    this.#worker.endAnswer(this.id, false);
    this.#finish();
  }

  failed(error: unknown): void {
    this.#keeper.failed(this, error);
  }

  /** Sends an error after the handler failed, if that is still possible. */
  giveUp(status: number, text: string): void {
    if (this.sink !== undefined) this.sink.giveUp(status, text);
    else if (!this.over && !this.#begun) this.#answer(status, text);
    else this.cut();
  }

  // What the native side reports.

  piece(piece: Uint8Array, last: boolean): void {
    this.sink?.piece(piece, last);
  }

  trailers(text: string): void {
    this.sink?.trailers(listOf(text));
  }

  room(): void {
    this.sink?.room();
  }

  broken(error: MillraceError): void {
    this.sink?.broken(error);
  }

  gone(_why: string): void {
    if (this.over) return;
    this.over = true;
    this.hasLeft = true;
    this.sink?.gone();
  }

  /** The client sends nothing more. Node.js treats such a client as one that has left, so the sink does, too. */
  left(): void {
    this.hasLeft = true;
    this.sink?.gone();
  }

  #answer(status: number, text: string): void {
    const headers = 'content-type\0text/plain; charset=utf-8';
    this.#worker.respond(this.id, status, headers, 2, text);
    this.#finish();
  }

  #finish(): void {
    this.over = true;
    this.#keeper.forget(this);
  }
}

/** Splits names and values, each ended by a zero byte. */
function listOf(text: string): string[] {
  const list = text.split('\0');
  list.pop();
  return list;
}

/** Flags of `writeMessage`. */
const BEGINS = 1;
const ENDS = 2;
const LATIN1 = 4;
