/** The body of an answer that is written in pieces. Owns the count of queued bytes; the native side holds the bytes. */

import type { NativeWorker } from '../addon/native-interface.js';
import type { AnswerStream } from './exchange.js';

/** What the exchange of an answer is told. */
export interface Outcome {
  /** The answer is complete, or was given up. */
  ended(): void;
  /** The answer was cut because its writer queued too much for a client that does not read. */
  overrun(): void;
  /** The answer was cut because the client sends nothing more and nothing was written for a long time. */
  deserted(): void;
}

/** See the module. */
export class Outgoing implements AnswerStream {
  readonly #worker: NativeWorker;
  readonly #request: number;
  readonly #outcome: Outcome;
  /** Bytes written since the native side last reported that few were left. */
  #waiting = 0;
  /** When that report was requested again. 0: it was not requested. */
  #asked = 0;
  #over = false;
  /** Whether nothing was written since the last check. */
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

  /** The native side reports that few bytes are left to be written. */
  room(): void {
    this.#waiting = 0;
    this.#asked = 0;
    this.#goOn();
  }

  /**
   * The client sends nothing more. Most such clients have left, but only a write shows that, and a client that waits
   * for its answer looks the same. The answer is kept as long as something is written now and then.
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

  /** The answer cannot be delivered any more. */
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

/**
 * The body of an answer that must have none, whatever the handler writes: to HEAD, with 204 or 304, or after the client
 * has left.
 */
export const NOWHERE: AnswerStream = {
  write: () => true,
  drained: () => Promise.resolve(),
  end: () => {},
  abort: () => {},
};

/** Queued bytes at which a writer should wait. */
const HIGH_WATER = 256 * 1024;

/**
 * Queued bytes, and the time in which the client read almost nothing of them, at which the answer of a writer that does
 * not wait is cut.
 */
const MOST = 16 * 1024 * 1024;
const TIMEOUT_MS = 10_000;

/** How long nothing may be written for a client that may have left. */
const SILENCE_MS = 30_000;
