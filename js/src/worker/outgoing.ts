/** The body of an answer that is sent in pieces. Owns the count of what waits; the native side holds the bytes. */

import type { NativeWorker } from '../addon/native-interface.js';
import type { AnswerStream } from './exchange.js';

/** What its exchange is told. */
export interface Outcome {
  /** It is complete, or was given up. */
  ended(): void;
  /** It was cut: its writer went far ahead of a client that does not read. */
  overrun(): void;
  /** It was cut: the client sends nothing more, and there was nothing for it for long. */
  deserted(): void;
}

/** See the module. */
export class Outgoing implements AnswerStream {
  readonly #worker: NativeWorker;
  readonly #request: number;
  readonly #outcome: Outcome;
  /** Bytes written since the native side last said that few were left. */
  #waiting = 0;
  /** When it was asked to say so again; 0: it was not. */
  #asked = 0;
  #over = false;
  /** Nothing was written since this was last looked at. */
  #isSilent = false;
  #silence: NodeJS.Timeout | undefined;
  #drained: Promise<void> | undefined;
  #resume: (() => void) | undefined;

  constructor(worker: NativeWorker, request: number, outcome: Outcome) {
    this.#worker = worker;
    this.#request = request;
    this.#outcome = outcome;
  }

  write(chunk: Uint8Array | string): boolean {
    if (this.#over) return true;
    if (this.#waiting > MOST && performance.now() - this.#asked > TIMEOUT_MS) {
      this.#cut();
      this.#outcome.overrun();
      return true;
    }
    this.#isSilent = false;
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

  /**
   * The client sends nothing more. Most have left then, but only writing shows it, and one that waits for its answer looks
   * the same: it is kept as long as there is something for it now and then.
   */
  left(): void {
    if (this.#over || this.#silence !== undefined) return;
    this.#silence = setInterval(() => {
      if (this.#isSilent && !this.#over) {
        this.#cut();
        this.#outcome.deserted();
      }
      this.#isSilent = true;
    }, SILENCE_MS);
    this.#silence.unref();
  }

  /** Nobody reads any more. */
  gone(): void {
    this.#over = true;
    clearInterval(this.#silence);
    this.#goOn();
  }

  #cut(): void {
    this.#worker.endAnswer(this.#request, false);
    this.gone();
  }

  #finish(whole: boolean): void {
    if (this.#over) return;
    this.#worker.endAnswer(this.#request, whole);
    this.gone();
    this.#outcome.ended();
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
const TIMEOUT_MS = 10_000;

/** How long there may be nothing for a client that may have left. */
const SILENCE_MS = 30_000;
