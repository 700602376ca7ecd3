/**
 * Decodes the batches of a worker's queue and gives each record to its connection. Owns the position in the batch. Calls
 * no handler itself.
 */

import type { NativeGateway, NativeWorker, Sidecar } from '../addon/native-interface.js';
import type { MillraceError } from '../errors.js';
import { Connection } from './connection.js';
import { Connections } from './connections.js';
import {
  FLAG_ASCII,
  FLAG_LAST,
  FLAG_SIDECAR,
  FLAG_TRAILERS,
  KIND_BINARY,
  KIND_CLOSE,
  KIND_CONGESTED,
  KIND_DRAIN,
  KIND_EVENT,
  KIND_OPEN,
  KIND_PIECE,
  KIND_REQUEST,
  KIND_TEXT,
  KIND_TURN,
} from './kinds.generated.js';
import { handlerBits, type LoadedModule } from './module.js';
import {
  type Closing,
  isAwaited,
  KIND_MASK,
  LENGTH_SHIFT,
  NO_SLOT,
  over,
  type RecordBuffer,
  readClosing,
  readOpening,
  SocketEvent,
  socketId,
} from './record.js';
import { Replies } from './replies.js';
import { Requests } from './requests.js';
import { Runner } from './runner.js';
import { Transfers } from './transfers.js';

/** The gateway whose methods the worker's handlers call. */
export interface WorkerGateway {
  /** Collects in `replies` what handlers send in reply from now on. Undefined: everything is sent at once. */
  collectReplies(replies: Replies | undefined, report?: (error: MillraceError) => void): void;
}

/** See the module. */
export class Dispatcher {
  readonly #worker: NativeWorker;
  readonly #runner: Runner;
  readonly #requests: Requests | undefined;
  readonly #gateway: WorkerGateway;
  readonly #replies: Replies;
  /** The buffer for batches whose records are not exposed to handlers as views. */
  readonly #exchange: RecordBuffer;
  readonly #exchangeWords: Uint32Array;
  readonly #transfers = new Transfers();
  readonly #connections = new Connections();

  #leaving = false;
  #buffer = NO_BYTES;
  #words: Uint32Array = NO_WORDS;
  #sidecars: Sidecar[] = NO_SIDECARS;
  /** The position of the next record, and the end of the batch, in words. */
  #position = 0;
  #end = 0;
  /** The number of handlers that run between two that are timed. */
  #row = LONGEST_ROW;
  /** A part of the batch as one string, and its position. Short texts are slices of that string. */
  #window = '';
  #windowStart = 0;
  #windowEnd = 0;

  constructor(
    native: NativeGateway,
    gateway: WorkerGateway,
    module: LoadedModule,
    handlerTimeoutMs: number,
    report: (error: MillraceError) => void,
  ) {
    const handlers = handlerBits(module);
    this.#worker = native.addWorker(handlers, (batch, length, sidecars) => this.#drain(batch, length, sidecars));
    this.#exchange = over(this.#worker.exchange);
    this.#exchangeWords = new Uint32Array(this.#worker.exchange);
    this.#gateway = gateway;
    this.#replies = new Replies(native, this.#worker);
    gateway.collectReplies(this.#replies, report);
    const host = {
      gateway: native,
      worker: this.#worker,
      module,
      transfers: this.#transfers,
      replies: this.#replies,
    };
    this.#runner = new Runner(host, this.#replies, handlerTimeoutMs, report);
    const answers = module.exchange !== undefined || module.message !== undefined;
    this.#requests = answers ? new Requests(this.#worker, module, report) : undefined;
  }

  /** The worker's id. */
  get id(): number {
    return this.#worker.id;
  }

  /** Takes connections from now on. */
  activate(): void {
    this.#worker.activate();
  }

  /** Prepares for being replaced: the connections are closed with 1012, and no more are taken. */
  leave(): void {
    this.#leaving = true;
    this.#worker.leave();
  }

  /** Handles all waiting events and waits for pending handlers, for at most `ms`. */
  async settle(ms: number): Promise<void> {
    const deadline = performance.now() + ms;
    for (;;) {
      while (this.#worker.drainNow());
      await this.#runner.settled(deadline - performance.now());
      if ((this.#runner.pending === 0 && this.#isDone()) || performance.now() >= deadline) return;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  #isDone(): boolean {
    // check the queue last: a connection that ends meanwhile is no longer counted once its close is in the queue
    if (this.#leaving && this.#worker.connections() > 0) return false;
    return this.#worker.requests() === 0 && this.#worker.isIdle();
  }

  /** Handles no more events. */
  end(): void {
    this.#runner.end();
    this.#requests?.end();
    this.#gateway.collectReplies(undefined);
    this.#worker.retire();
    this.#connections.clear();
  }

  #drain(batch: ArrayBuffer | true | null, length: number, sidecars: Sidecar[] | null): boolean {
    this.#replies.begin();
    try {
      return this.#handle(batch, length, sidecars);
    } finally {
      this.#connections.settle();
      this.#replies.end();
    }
  }

  #handle(batch: ArrayBuffer | true | null, length: number, sidecars: Sidecar[] | null): boolean {
    if (batch !== null) {
      if (batch === true) {
        this.#buffer = this.#exchange;
        this.#words = this.#exchangeWords;
      } else {
        this.#load(batch);
      }
      this.#sidecars = sidecars ?? NO_SIDECARS;
      this.#windowEnd = 0;
      this.#position = 0;
      this.#end = length >>> 2;
    } else if (this.#words.length === 0) {
      this.#loadAgain();
    }
    let now = performance.now();
    const until = now + DRAIN_MS;
    let flushed = now;
    // only the first handler of a row is timed, because reading the clock costs as much as a short handler
    let untimed = 0;
    while (this.#position < this.#end) {
      this.#record();
      this.#connections.settle();
      // a handler may have transferred `data.buffer` to another thread, and with it the records not yet read
      if (this.#words.length === 0) this.#loadAgain();
      if (untimed === 0) {
        const after = performance.now();
        const ms = after - now;
        this.#worker.observe(Math.trunc(ms * 1000));
        // slow handlers shorten the rows, down to one handler; fast ones make them longer again
        this.#row = ms > SLOW_MS ? 0 : Math.min(LONGEST_ROW, this.#row * 2 + 1);
        untimed = this.#row;
        now = after;
        if (now - flushed > SLOW_MS) {
          this.#replies.flush();
          this.#worker.wake();
          flushed = now;
        }
      } else {
        untimed -= 1;
      }
      if (untimed === 0 && this.#position < this.#end) {
        if (this.#row > 0) now = performance.now();
        if (now > until) return true;
      }
    }
    this.#buffer = NO_BYTES;
    this.#words = NO_WORDS;
    this.#sidecars = NO_SIDECARS;
    this.#window = '';
    return false;
  }

  #load(batch: ArrayBuffer): void {
    this.#buffer = over(batch);
    this.#words = new Uint32Array(batch);
  }

  #loadAgain(): void {
    if (this.#position >= this.#end) return;
    const batch = this.#worker.rebatch();
    if (batch === undefined) this.#position = this.#end;
    else this.#load(batch);
  }

  #record(): void {
    const words = this.#words;
    const at = this.#position;
    const head = words[at] as number;
    const slot = words[at + 1] as number;
    const length = head >>> LENGTH_SHIFT;
    // advance first, so that the record is never handled twice, whatever the handler does
    this.#position = at + 2 + ((length + 3) >>> 2);
    switch (head & KIND_MASK) {
      case KIND_TEXT:
        this.#text(head, slot, (at + 2) << 2, length);
        break;
      case KIND_BINARY:
        this.#binary(head, slot, (at + 2) << 2, length);
        break;
      case KIND_OPEN:
        this.#open(slot, at + 2);
        break;
      case KIND_CLOSE:
        this.#close(slot, readClosing(words, this.#buffer, at + 2));
        break;
      case KIND_CONGESTED:
      case KIND_DRAIN:
        this.#level(slot, head & KIND_MASK);
        break;
      case KIND_REQUEST:
        this.#replies.handling(0);
        this.#requests?.request(words, this.#buffer, at + 2, length);
        break;
      case KIND_PIECE:
        this.#piece(head, at + 2, length);
        break;
      case KIND_TURN:
        this.#turn(socketId(words, at + 2), words[at + 4] as number);
        break;
      case KIND_EVENT:
        this.#event(head, slot, at + 2, length);
        break;
    }
  }

  #text(head: number, slot: number, start: number, length: number): void {
    const connection = this.#connections.find(slot);
    if (connection === undefined) return;
    const end = start + length;
    let text: string;
    let bytes = length;
    if ((head & FLAG_SIDECAR) !== 0) {
      const beside = this.#sidecar(start);
      // a text beside the batch is ASCII, or still bytes
      bytes = beside.length;
      if (typeof beside !== 'string') {
        this.#runner.text(connection, beside.utf8Slice(0, bytes), bytes);
        return;
      }
      text = beside;
    } else if ((head & FLAG_ASCII) === 0) text = this.#buffer.utf8Slice(start, end);
    else if (length > WINDOWED) text = this.#buffer.latin1Slice(start, end);
    else text = this.#windowed(start, end);
    this.#replies.receiving(text, (start >>> 2) - RECORD_WORDS);
    this.#runner.text(connection, text, bytes);
  }

  /** Returns an ASCII text as a slice of a string that holds many of them, which one native call has decoded. */
  #windowed(start: number, end: number): string {
    if (end > this.#windowEnd) {
      this.#windowStart = start;
      // a text that is kept keeps the whole string
      this.#windowEnd = Math.min(start + Math.max(WINDOW, (end - start) * LONG_WINDOW), this.#end << 2);
      this.#window = this.#buffer.latin1Slice(start, this.#windowEnd);
    }
    return this.#window.substring(start - this.#windowStart, end - this.#windowStart);
  }

  #binary(head: number, slot: number, start: number, length: number): void {
    const connection = this.#connections.find(slot);
    if (connection === undefined) return;
    const beside = (head & FLAG_SIDECAR) === 0 ? undefined : this.#sidecar(start);
    // a binary payload is never a string
    if (typeof beside === 'object') this.#runner.binary(connection, beside, false);
    else this.#runner.binary(connection, this.#buffer.subarray(start, start + length), true);
  }

  #sidecar(start: number): RecordBuffer | string {
    const beside = this.#sidecars[this.#words[start >>> 2] as number];
    if (beside === undefined) return NO_BYTES;
    return typeof beside === 'string' ? beside : over(beside);
  }

  #open(slot: number, at: number): void {
    const words = this.#words;
    const connection = this.#connections.open(slot, socketId(words, at));
    // a connection that is accepted without `handleOpen` has no state, and its request is not decoded
    if (!isAwaited(words, at)) return;
    connection.accepted = false;
    this.#runner.open(connection, readOpening(words, this.#buffer, at));
  }

  #close(slot: number, closing: Closing): void {
    const known = slot === NO_SLOT ? undefined : this.#connections.close(slot, closing.id);
    // one that is not known was accepted by another worker, which died
    this.#runner.close(known ?? new Connection(closing.id), closing);
  }

  #turn(transfer: number, turn: number): void {
    this.#replies.handling(0);
    const end = this.#transfers.find(transfer);
    if (end === undefined) this.#requests?.turn(transfer, turn);
    else end.turn(turn);
  }

  #piece(head: number, at: number, length: number): void {
    const transfer = socketId(this.#words, at);
    const end = this.#requests?.find(transfer) ?? this.#transfers.find(transfer);
    if (end === undefined) return;
    const start = (at + 2) << 2;
    if ((head & FLAG_TRAILERS) !== 0) {
      if ('trailers' in end) end.trailers(this.#buffer.latin1Slice(start, (at << 2) + length));
      return;
    }
    const beside = (head & FLAG_SIDECAR) === 0 ? undefined : this.#sidecar(start);
    // a copy, because the batch's memory is used again
    const piece = typeof beside === 'object' ? beside : Buffer.from(this.#buffer.subarray(start, (at << 2) + length));
    end.piece(piece, (head & FLAG_LAST) !== 0);
  }

  /** Reads an EVENT record: the event's number and the length of its fields, then the fields. */
  #event(head: number, slot: number, at: number, length: number): void {
    const connection = this.#connections.find(slot);
    if (connection === undefined) return;
    const words = this.#words;
    const start = (at + 2) << 2;
    const end = start + (words[at + 1] as number);
    const behind = (end + 3) & ~3;
    const payload = this.#payload(head, behind, (at << 2) + length);
    this.#runner.event(connection, new SocketEvent(words[at] as number, words, this.#buffer, { start, end }, payload));
  }

  /** Copies a payload out of the batch, whose memory is used again. */
  #payload(head: number, start: number, end: number): Buffer {
    if (start >= end) return NO_BYTES;
    const beside = (head & FLAG_SIDECAR) === 0 ? undefined : this.#sidecar(start);
    return typeof beside === 'object' ? beside : Buffer.from(this.#buffer.subarray(start, end));
  }

  #level(slot: number, kind: number): void {
    const connection = this.#connections.find(slot);
    if (connection !== undefined) this.#runner.level(connection, kind);
  }
}

const NO_BYTES = over(new ArrayBuffer(0));
const NO_WORDS = new Uint32Array(0);
const NO_SIDECARS: Sidecar[] = [];

/** Bytes decoded at once for short texts. A text that is kept keeps at most this much memory alive … */
const WINDOW = 2048;

/** … or so many times its length. */
const LONG_WINDOW = 8;

/** The longest ASCII texts, in bytes, that are slices of a window. */
const WINDOWED = 2048;

/** The words of a record in front of its payload. */
const RECORD_WORDS = 2;

/** The longest time of one drain, in milliseconds, so that timers and promises can run in between. */
const DRAIN_MS = 8;

/** The largest number of handlers between two that are timed. */
const LONGEST_ROW = 15;

/** A handler that takes longer, in milliseconds, is slow: what was sent before it is flushed. */
const SLOW_MS = 1;
