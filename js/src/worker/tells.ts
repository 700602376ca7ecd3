/**
 * Collects instructions from this thread to sessions of sockets, and sends many in one native call, at the end of the
 * running drain or of the current task. Keeps them in order with what handlers send.
 */

import type { NativeWorker } from '../addon/native-interface.js';
import { over, type RecordBuffer, socketId as readId } from './record.js';
import type { Replies } from './replies.js';

/** Called with an instruction that a socket could not get. The fields are a view. */
export type Refused = (socketId: number, operation: number, fields: RecordBuffer) => void;

/** See the module. */
export class Tells {
  /** The collected instructions. Fields are written here, at the place that `place` returns. */
  readonly buffer: RecordBuffer;
  readonly words: Uint32Array;
  readonly #worker: NativeWorker;
  readonly #replies: Replies;
  readonly #refused: Refused;
  #length = 0;
  #isScheduled = false;
  readonly #flush = (): void => this.flush();

  constructor(worker: NativeWorker, replies: Replies, refused: Refused) {
    const memory = new ArrayBuffer(BUFFER_BYTES);
    this.buffer = over(memory);
    this.words = new Uint32Array(memory);
    this.#worker = worker;
    this.#replies = replies;
    this.#refused = refused;
  }

  /** Makes room for a short instruction. Write the fields at the returned place, and the payload with `pay`. */
  place(socketId: number, operation: number, fieldBytes: number, payloadBytes: number): number {
    const length = HEAD_BYTES + padded(fieldBytes) + padded(payloadBytes);
    if (this.#length + length > BUFFER_BYTES) this.flush();
    if (this.#length === 0) this.#begin();
    const { words } = this;
    const at = this.#length;
    const word = at >>> 2;
    words[word] = socketId;
    words[word + 1] = socketId / 2 ** 32;
    words[word + 2] = operation;
    words[word + 3] = fieldBytes;
    words[word + 4] = payloadBytes;
    this.#length = at + length;
    return at + HEAD_BYTES;
  }

  /** Writes the payload behind the fields at a place. */
  pay(at: number, fieldBytes: number, payload: Uint8Array): void {
    this.buffer.set(payload, at + padded(fieldBytes));
  }

  /** Adds an instruction of any length. */
  tell(socketId: number, operation: number, fields: Buffer, payload?: Uint8Array): void {
    const payloadBytes = payload === undefined ? 0 : payload.length;
    if (fields.length + payloadBytes <= LONGEST) {
      const at = this.place(socketId, operation, fields.length, payloadBytes);
      this.buffer.set(fields, at);
      if (payload !== undefined) this.pay(at, fields.length, payload);
      return;
    }
    this.#replies.flush();
    if (!this.#worker.tell(socketId, operation, fields, payload)) {
      this.#refused(socketId, operation, fields as RecordBuffer);
    }
  }

  /** Adds an instruction whose payload is kept by the native side. */
  tellShared(socketId: number, operation: number, fields: RecordBuffer, bytes: number): void {
    this.#replies.flush();
    if (!this.#worker.tellShared(socketId, operation, fields, bytes)) this.#refused(socketId, operation, fields);
  }

  /** Sends the collected instructions now. */
  flush(): void {
    const length = this.#length;
    if (length === 0) return;
    this.#length = 0;
    this.#replies.first = undefined;
    const refused = this.#worker.tellMany(this.buffer, length);
    if (refused !== undefined) for (const at of refused) this.#tellRefused(at);
  }

  #begin(): void {
    // what was sent before goes first; what is sent later waits for this
    this.#replies.flush();
    this.#replies.first = this.#flush;
    if (this.#isScheduled || this.#replies.isDraining) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.flush();
    });
  }

  #tellRefused(at: number): void {
    const word = at >>> 2;
    const start = at + HEAD_BYTES;
    const fields = this.buffer.subarray(start, start + (this.words[word + 3] as number)) as RecordBuffer;
    this.#refused(readId(this.words, word), this.words[word + 2] as number, fields);
  }
}

function padded(bytes: number): number {
  return (bytes + 3) & ~3;
}

/** The longest short instruction: fields and payload together, in bytes. */
export const LONGEST = 16 * 1024;

/** The bytes of socket id, operation, and the lengths of fields and payload. */
const HEAD_BYTES = 20;

const BUFFER_BYTES = 64 * 1024;
