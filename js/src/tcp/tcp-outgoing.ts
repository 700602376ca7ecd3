/**
 * What was written on a connection and has not left: at most so much, so that a peer that does not read holds up whoever writes.
 * The native side is asked by notes when something has left, one at a time. Owns the count, no bytes.
 */

import type { NativeWorker } from '../addon/native-interface.js';
import { OPERATION_TCP_CLOSE, OPERATION_TCP_WRITE } from '../worker/kinds.generated.js';

/** What can be written. */
export type Bytes = ArrayBuffer | ArrayBufferView;

/** See the module. */
export class Outgoing {
  readonly #worker: NativeWorker;
  readonly #socketId: number;
  /** Bytes that may wait. */
  readonly #most: number;
  /** Bytes that wait, as far as is known. */
  #waiting = 0;
  /** Those of them that a note under way is about; 0: none is. */
  #noted = 0;
  #isShort = false;

  readonly #whenRoom: () => void;

  /** `whenRoom` is called where the I/O thread had too much to do, and may have no longer. */
  constructor(worker: NativeWorker, socketId: number, most: number, whenRoom: () => void) {
    this.#worker = worker;
    this.#socketId = socketId;
    this.#most = most;
    this.#whenRoom = whenRoom;
  }

  /** Whether less was taken than was given, and nobody was told of room since. */
  get isShort(): boolean {
    return this.#isShort;
  }

  /** Takes as much of a text as there is room for, no part of a character; returns its bytes. */
  writeText(text: string): number {
    const room = this.#most - this.#waiting;
    // no character has more than three bytes for each of its units
    if (text.length * 3 <= room) return this.#take(text, Buffer.byteLength(text), true);
    const bytes = Buffer.allocUnsafe(Math.min(room, text.length * 3));
    const { read, written } = ENCODER.encodeInto(text, bytes);
    return this.#take(bytes.subarray(0, written), written, read === text.length);
  }

  /** Takes as many bytes as there is room for; returns how many. */
  writeBytes(data: Bytes): number {
    const length = Math.min(data.byteLength, this.#most - this.#waiting);
    return this.#take(part(data, length), length, length === data.byteLength);
  }

  #take(data: string | Uint8Array, bytes: number, isAll: boolean): number {
    if (!isAll) this.#isShort = true;
    if (bytes === 0) return 0;
    const waiting = this.#waiting + bytes;
    const isNoted = this.#noted === 0 && waiting >= this.#most * ENOUGH;
    if (!this.#worker.tell(this.#socketId, OPERATION_TCP_WRITE, isNoted ? NOTE : NO_FIELDS, data)) {
      this.#isShort = true;
      setTimeout(this.#whenRoom, AGAIN_MS);
      return 0;
    }
    this.#waiting = waiting;
    if (isNoted) this.#noted = waiting;
    return bytes;
  }

  /** What the note was about has left. Whether there is room again, of which nobody was told. */
  noted(): boolean {
    this.#waiting -= this.#noted;
    this.#noted = 0;
    if (this.#waiting >= this.#most * ENOUGH) this.#ask();
    return this.takeRoom();
  }

  /** Whether there is room again, of which nobody was told: whoever asks is told. */
  takeRoom(): boolean {
    if (!this.#isShort || this.#waiting > this.#most / 2) return false;
    this.#isShort = false;
    return true;
  }

  #ask(): void {
    if (this.#worker.tell(this.#socketId, OPERATION_TCP_WRITE, NOTE)) this.#noted = this.#waiting;
    else setTimeout(() => this.#ask(), AGAIN_MS);
  }

  /** Ends the connection when all has left; false: it cannot be said now. */
  close(): boolean {
    return this.#worker.tell(this.#socketId, OPERATION_TCP_CLOSE, NO_FIELDS);
  }
}

/** The first bytes of something, not copied. */
function part(data: Bytes, length: number): Uint8Array {
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, length)
    : new Uint8Array(data, 0, length);
}

const ENCODER = new TextEncoder();
const NO_FIELDS = new Uint8Array(0);
const NOTE = Uint8Array.of(1);

/** Which part of what may wait is enough for a note. */
const ENOUGH = 1 / 4;

/** Time until what the I/O thread had no room for is tried again. */
const AGAIN_MS = 10;
