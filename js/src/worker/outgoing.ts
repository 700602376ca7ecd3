/** The body of an answer that is sent in pieces. Owns the count of what waits; the native side holds the bytes. */

import type { NativeWorker } from '../binding.js';
import type { AnswerStream } from './exchange.js';

/** See the module. */
export class Outgoing implements AnswerStream {
  readonly #worker: NativeWorker;
  readonly #request: number;
  readonly #ended: () => void;
  readonly #overrun: () => void;
  /** Bytes written since the native side last said that few were left. */
  #waiting = 0;
  /** When it was asked to say so again; 0: it was not. */
  #asked = 0;
  #over = false;
  #drained: Promise<void> | undefined;
  #resume: (() => void) | undefined;

  /**
   * @param ended called when the answer is complete or given up
   * @param overrun called instead when it is cut because its writer went far ahead of the client
   */
  constructor(worker: NativeWorker, request: number, ended: () => void, overrun: () => void) {
    this.#worker = worker;
    this.#request = request;
    this.#ended = ended;
    this.#overrun = overrun;
  }

  write(chunk: Uint8Array | string): boolean {
    if (this.#over) return true;
    if (this.#waiting > MOST && performance.now() - this.#asked > PATIENCE_MS) {
      this.#worker.endAnswer(this.#request, false);
      this.gone();
      this.#overrun();
      return true;
    }
    this.#worker.writeAnswer(this.#request, chunk);
    this.#waiting += chunk.length;
    if (this.#waiting < HIGH_WATER) return true;
    if (this.#asked === 0) {
      this.#asked = performance.now();
      this.#worker.wantRoom(this.#request);
    }
    return false;
  }

  drained(): Promise<void> {
    if (this.#over || this.#waiting < HIGH_WATER) return Promise.resolve();
    this.#drained ??= new Promise((resolve) => {
      this.#resume = resolve;
    });
    return this.#drained;
  }

  end(): void {
    this.#finish(true);
  }

  abort(): void {
    this.#finish(false);
  }

  /** Few bytes are left to be written. */
  room(): void {
    this.#waiting = 0;
    this.#asked = 0;
    this.#goOn();
  }

  /** Nobody reads any more. */
  gone(): void {
    this.#over = true;
    this.#goOn();
  }

  #finish(whole: boolean): void {
    if (this.#over) return;
    this.#over = true;
    this.#worker.endAnswer(this.#request, whole);
    this.#ended();
    this.#goOn();
  }

  #goOn(): void {
    this.#drained = undefined;
    this.#resume?.();
    this.#resume = undefined;
  }
}

/** The body of an answer that has none, whatever is written: to HEAD, 204, 304, or when the client has left. */
export const NOWHERE: AnswerStream = {
  write: () => true,
  drained: () => Promise.resolve(),
  end: () => {},
  abort: () => {},
};

/** Bytes waiting at which a writer should wait. */
const HIGH_WATER = 256 * 1024;

/** Bytes waiting, and how long the client has let more than a few wait, at which a writer that does not is stopped. */
const MOST = 16 * 1024 * 1024;
const PATIENCE_MS = 10_000;
