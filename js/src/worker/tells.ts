/**
 * What this thread tells sessions of sockets, collected: one native call for many, at the end of the running drain or of the
 * task that told. Owns what is collected, in one order with what handlers send.
 */

import type { NativeWorker } from '../binding.js';
import type { Replies } from './replies.js';

/** Called with what a socket could not be told. The fields are a view. */
export type Refused = (socketId: number, operation: number, fields: Buffer) => void;

/** See the module. */
export class Tells {
  readonly #worker: NativeWorker;
  readonly #replies: Replies;
  readonly #refused: Refused;
  readonly #buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  #length = 0;
  #isScheduled = false;
  readonly #flush = (): void => this.flush();

  constructor(worker: NativeWorker, replies: Replies, refused: Refused) {
    this.#worker = worker;
    this.#replies = replies;
    this.#refused = refused;
  }

  /**
   * Collects something. `write` writes the fields, which are `fieldBytes` long, into a buffer from a place on.
   */
  add(
    socketId: number,
    operation: number,
    fieldBytes: number,
    payload: Uint8Array | undefined,
    write: (buffer: Buffer, at: number) => void,
  ): void {
    const payloadBytes = payload === undefined ? 0 : payload.length;
    const length = HEAD_BYTES + fieldBytes + payloadBytes;
    if (length > LONGEST) {
      this.#alone(socketId, operation, fieldBytes, payload, write);
      return;
    }
    if (this.#length + length > BUFFER_BYTES) this.flush();
    if (this.#length === 0) this.#begin();
    const buffer = this.#buffer;
    const at = this.#length;
    buffer.writeUInt32LE(socketId % 2 ** 32, at);
    buffer.writeUInt32LE(Math.floor(socketId / 2 ** 32), at + 4);
    buffer.writeUInt32LE(operation, at + 8);
    buffer.writeUInt32LE(fieldBytes, at + 12);
    buffer.writeUInt32LE(payloadBytes, at + 16);
    write(buffer, at + HEAD_BYTES);
    if (payload !== undefined) buffer.set(payload, at + HEAD_BYTES + fieldBytes);
    this.#length = at + length;
  }

  /** Tells now what waits. */
  flush(): void {
    const length = this.#length;
    if (length === 0) return;
    this.#length = 0;
    this.#replies.first = undefined;
    const refused = this.#worker.tellMany(this.#buffer, length);
    if (refused !== undefined) for (const at of refused) this.#tellRefused(at);
  }

  #begin(): void {
    // what was sent before goes before, what is sent behind waits for this
    this.#replies.flush();
    this.#replies.first = this.#flush;
    if (this.#isScheduled || this.#replies.isDraining) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.flush();
    });
  }

  #alone(
    socketId: number,
    operation: number,
    fieldBytes: number,
    payload: Uint8Array | undefined,
    write: (buffer: Buffer, at: number) => void,
  ): void {
    this.#replies.flush();
    this.flush();
    const fields = Buffer.allocUnsafe(fieldBytes);
    write(fields, 0);
    if (!this.#worker.tell(socketId, operation, fields, payload)) this.#refused(socketId, operation, fields);
  }

  #tellRefused(at: number): void {
    const buffer = this.#buffer;
    const socketId = buffer.readUInt32LE(at) + buffer.readUInt32LE(at + 4) * 2 ** 32;
    const fields = buffer.subarray(at + HEAD_BYTES, at + HEAD_BYTES + buffer.readUInt32LE(at + 12));
    this.#refused(socketId, buffer.readUInt32LE(at + 8), fields);
  }
}

/** Socket id, operation, bytes of the fields and of the payload. */
const HEAD_BYTES = 20;

const BUFFER_BYTES = 64 * 1024;

/** What is longer goes alone. */
const LONGEST = 16 * 1024;
