/**
 * The body of a request that arrives in pieces. It is read whole or as a stream, and requested only as fast as it is
 * read.
 */

import type { NativeWorker } from '../addon/native-interface.js';
import { MillraceError } from '../errors.js';

/** See the module. */
export class Incoming {
  readonly #worker: NativeWorker;
  readonly #request: number;
  #pieces: Uint8Array[] = [];
  /** Bytes in `#pieces`. */
  #size = 0;
  /** Bytes that were read and not requested again yet. */
  #owed = WINDOW - FIRST_CREDIT;
  #ended = false;
  #error: unknown;
  /** Called when a piece, the end or an error has arrived. */
  #wake: (() => void) | undefined;
  /** Whether the body is collected as a whole, so that more is requested as soon as a piece arrives. */
  #greedy = false;

  constructor(worker: NativeWorker, request: number) {
    this.#worker = worker;
    this.#request = request;
  }

  /** Adds a piece that has arrived. */
  push(piece: Uint8Array, last: boolean): void {
    if (this.#ended) return;
    this.#pieces.push(piece);
    this.#size += piece.length;
    if (last) this.#ended = true;
    else if (this.#greedy) this.#took(piece.length);
    this.#wake?.();
  }

  /** Ends the body with an error. */
  fail(error: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    this.#wake?.();
  }

  /**
   * @throws {MillraceError} (as a rejection) ERR_MILLRACE_BODY_TOO_LARGE above `limit`, or the error that ended the
   *   body
   */
  whole(limit: number): Promise<Uint8Array> {
    this.#greedy = true;
    this.#took(this.#size);
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (this.#size > limit) {
          this.#wake = undefined;
          const error = tooLarge();
          this.fail(error);
          reject(error);
        } else if (this.#error !== undefined) {
          reject(this.#error);
        } else if (this.#ended) {
          const [only] = this.#pieces;
          resolve(this.#pieces.length === 1 && only !== undefined ? only : Buffer.concat(this.#pieces, this.#size));
          this.#pieces = [];
        }
      };
      this.#wake = look;
      look();
    });
  }

  stream(): ReadableStream<Uint8Array> {
    const give = (controller: ReadableStreamDefaultController<Uint8Array>): boolean => {
      const piece = this.#pieces.shift();
      if (piece !== undefined && piece.length > 0) {
        this.#size -= piece.length;
        if (!this.#ended) this.#took(piece.length);
        controller.enqueue(piece);
        if (this.#ended && this.#error === undefined && this.#pieces.length === 0) controller.close();
        return true;
      }
      if (this.#error !== undefined) controller.error(this.#error);
      else if (this.#ended && this.#pieces.length === 0) controller.close();
      else return piece !== undefined && give(controller);
      return true;
    };
    return new ReadableStream<Uint8Array>(
      {
        pull: (controller) => {
          if (give(controller)) return undefined;
          return new Promise<void>((resolve) => {
            this.#wake = () => {
              if (!give(controller)) return;
              this.#wake = undefined;
              resolve();
            };
          });
        },
        cancel: () => {
          this.#wake = undefined;
          this.#pieces = [];
          this.#ended = true;
        },
      },
      { highWaterMark: 0 },
    );
  }

  /** Counts bytes that were read, and requests as many when that is worth a call. */
  #took(bytes: number): void {
    this.#owed += bytes;
    if (this.#owed < ENOUGH || this.#ended) return;
    this.#worker.pull(this.#request, this.#owed);
    this.#owed = 0;
  }
}

/** The error of a body that is too large. */
export function tooLarge(): MillraceError {
  return new MillraceError('ERR_MILLRACE_BODY_TOO_LARGE', "the request's body is too large");
}

/** The error of a body whose rest will not arrive. */
export function aborted(why: string): MillraceError {
  return new MillraceError('ERR_MILLRACE_REQUEST_ABORTED', why);
}

/** Bytes that the native side sends before they are requested. It has the same number. */
export const FIRST_CREDIT = 64 * 1024;

/** The most bytes of a body that are in flight or wait here while it is being read. */
export const WINDOW = 256 * 1024;

/** The smallest number of bytes to request in one call. */
export const ENOUGH = 32 * 1024;
