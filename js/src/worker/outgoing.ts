/** The body of an answer that is sent in pieces. Owns the count of what waits; the native side holds the bytes. */

import type { NativeWorker } from '../binding.js';
import type { AnswerStream } from './exchange.js';

/** See the module. */
export class Outgoing implements AnswerStream {
  readonly #worker: NativeWorker;
  readonly #request: number;
  readonly #ended: () => void;
  /** Bytes written since the native side last said that few were left. */
  #waiting = 0;
  #over = false;
  #drained: Promise<void> | undefined;
  #resume: (() => void) | undefined;

  constructor(worker: NativeWorker, request: number, ended: () => void) {
    this.#worker = worker;
    this.#request = request;
    this.#ended = ended;
  }

  write(chunk: Uint8Array | string): boolean {
    if (this.#over) return true;
    this.#worker.writeAnswer(this.#request, chunk);
    this.#waiting += chunk.length;
    return this.#waiting < HIGH_WATER;
  }

  drained(): Promise<void> {
    if (this.#over || this.#waiting < HIGH_WATER) return Promise.resolve();
    if (this.#drained === undefined) {
      this.#drained = new Promise((resolve) => {
        this.#resume = resolve;
      });
      this.#worker.wantRoom(this.#request);
    }
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
