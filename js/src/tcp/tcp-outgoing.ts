/**
 * Counts the bytes that were written on a connection and not sent yet, and limits them, so that a slow peer holds up
 * its writers. It asks the native side, by one note at a time, when bytes have been sent. Holds no bytes.
 */

import type { NativeWorker } from '../addon/native-interface.js';
import { OPERATION_TCP_CLOSE, OPERATION_TCP_WRITE } from '../worker/kinds.generated.js';

/** Binary data that can be written. */
export type Bytes = ArrayBuffer | ArrayBufferView;

/** See the module. */
export class Outgoing {
  readonly #worker: NativeWorker;
  readonly #socketId: number;
  /** The most bytes that may wait. */
  readonly #most: number;
  /** Bytes that wait, as far as is known. */
  #waiting = 0;
  /** The bytes among these that a pending note covers. 0: no note is pending. */
  #noted = 0;
  #isShort = false;

  readonly #whenRoom: () => void;

  /** `whenRoom` is called when the I/O thread, which had too much to do, may have room again. */
  constructor(worker: NativeWorker, socketId: number, most: number, whenRoom: () => void) {
    this.#worker = worker;
    this.#socketId = socketId;
    this.#most = most;
    this.#whenRoom = whenRoom;
  }

  /** Whether a write took less than it was given and the writer was not told of room since. */
  get isShort(): boolean {
    return this.#isShort;
  }

  /** Takes as much of a text as there is room for, in whole characters. Returns the bytes. */
  writeText(text: string): number {
    const room = this.#most - this.#waiting;
    // a character has at most three bytes for each of its UTF-16 units
    if (text.length * 3 <= room) return this.#take(text, Buffer.byteLength(text), true);
    const bytes = Buffer.allocUnsafe(Math.min(room, text.length * 3));
    const { read, written } = ENCODER.encodeInto(text, bytes);
    return this.#take(bytes.subarray(0, written), written, read === text.length);
  }

  /** Takes as many bytes as there is room for. Returns their number. */
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

  /** The bytes of the note have been sent. Returns whether the writer is to be told of room. */
  noted(): boolean {
    this.#waiting -= this.#noted;
    this.#noted = 0;
    if (this.#waiting >= this.#most * ENOUGH) this.#ask();
    return this.takeRoom();
  }

  /** Returns whether the writer is to be told of room. The caller then tells it. */
  takeRoom(): boolean {
    if (!this.#isShort || this.#waiting > this.#most / 2) return false;
    this.#isShort = false;
    return true;
  }

  #ask(): void {
    if (this.#worker.tell(this.#socketId, OPERATION_TCP_WRITE, NOTE)) this.#noted = this.#waiting;
    else setTimeout(() => this.#ask(), AGAIN_MS);
  }

  /** Closes the connection when everything has been sent. False: the native side cannot take the instruction now. */
  close(): boolean {
    return this.#worker.tell(this.#socketId, OPERATION_TCP_CLOSE, NO_FIELDS);
  }
}

/** The first bytes of binary data, without a copy. */
function part(data: Bytes, length: number): Uint8Array {
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, length)
    : new Uint8Array(data, 0, length);
}

const ENCODER = new TextEncoder();
const NO_FIELDS = new Uint8Array(0);
const NOTE = Uint8Array.of(1);

/** The part of the limit that is enough for a note. */
const ENOUGH = 1 / 4;

/** Time until a refused instruction is tried again, in milliseconds. */
const AGAIN_MS = 10;
