/**
 * A large message while it arrives, for `handleMessageStream`. It is requested only as fast as it is read. Owns the pieces
 * that wait to be read.
 */

import type { NativeWorker } from '../addon/native-interface.js';
import { MillraceError } from '../errors.js';
import { ENOUGH, FIRST_CREDIT, WINDOW } from './incoming.js';
import type { TransferEnd, Transfers } from './transfers.js';

/**
 * A message that is read while it arrives: strings if it is a text, bytes if not. Pieces of a text are whole characters.
 * It can be read once. A loop that is left early discards the rest.
 */
export interface MessageStream extends AsyncIterable<string | Uint8Array> {
  /** Whether the message is binary. */
  readonly binary: boolean;
  /** Discards what was not read, and what is still to come. */
  cancel(): void;
}

/** See the module. */
export class ArrivingMessage implements MessageStream, TransferEnd {
  readonly binary: boolean;
  readonly #worker: NativeWorker;
  readonly #transfers: Transfers;
  readonly #transfer: number;
  #pieces: Buffer[] = [];
  /** Bytes that were read and not requested again yet. */
  #owed = WINDOW - FIRST_CREDIT;
  /** How often something was read, and how often when `isIdle` was called last. */
  #reads = 0;
  #readsBefore = 0;
  #isAwaited = false;
  #isCancelled = false;
  #isTaken = false;
  #isComplete = false;
  #error: MillraceError | undefined;
  /** Called when a piece, the end or an error has arrived. */
  #arrived: (() => void) | undefined;
  #ended: (() => void) | undefined;

  constructor(worker: NativeWorker, transfers: Transfers, transfer: number, binary: boolean) {
    this.#worker = worker;
    this.#transfers = transfers;
    this.#transfer = transfer;
    this.binary = binary;
    transfers.add(transfer, this);
  }

  piece(piece: Buffer, last: boolean): void {
    if (last) this.#close();
    if (this.#isCancelled) this.#took(piece.length);
    else if (piece.length > 0) this.#pieces.push(piece);
    this.#arrived?.();
  }

  /** The rest will not arrive: the message is invalid, or its connection has ended. */
  turn(): void {
    this.#error ??= new MillraceError('ERR_MILLRACE_MESSAGE_BROKEN', 'the rest of the message will not arrive');
    this.#close();
    this.#arrived?.();
  }

  cancel(): void {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    const bytes = this.#pieces.reduce((sum, piece) => sum + piece.length, 0);
    this.#pieces = [];
    this.#took(bytes);
    this.#arrived?.();
  }

  /** Whether its reader has done nothing since the last call although there was something to do. */
  isIdle(): boolean {
    const isIdle = !this.#isAwaited && this.#reads === this.#readsBefore;
    this.#readsBefore = this.#reads;
    return isIdle;
  }

  /**
   * Resolves when the message is handled: when the promise of its handler is settled, or else when the message is read. What
   * was not read then is discarded. That the message broke off is no failure of a handler that did not catch the error.
   *
   * @throws what else the handler's promise is rejected with
   */
  async handled(result: unknown): Promise<void> {
    const isPromise = typeof (result as PromiseLike<unknown> | undefined)?.then === 'function';
    try {
      if (isPromise) await result;
      else if (this.#isTaken) await this.#read();
    } catch (error) {
      if (this.#error === undefined || error !== this.#error) throw error;
    } finally {
      this.cancel();
    }
  }

  [Symbol.asyncIterator](): AsyncIterator<string | Uint8Array> {
    if (this.#isTaken) throw new TypeError('a message can be read only once');
    this.#isTaken = true;
    return {
      next: () => this.#next(),
      return: async () => {
        this.cancel();
        return { done: true, value: undefined };
      },
    };
  }

  async #next(): Promise<IteratorResult<string | Uint8Array, undefined>> {
    for (;;) {
      const piece = this.#pieces.shift();
      if (piece !== undefined) {
        this.#reads += 1;
        this.#took(piece.length);
        return { done: false, value: this.binary ? piece : piece.toString('utf8') };
      }
      if (this.#error !== undefined) throw this.#error;
      if (this.#isComplete || this.#isCancelled) {
        this.#ended?.();
        return { done: true, value: undefined };
      }
      this.#isAwaited = true;
      await new Promise<void>((resolve) => {
        this.#arrived = resolve;
      });
      this.#isAwaited = false;
      this.#arrived = undefined;
    }
  }

  /** Resolves when a reader that the handler does not wait for has read everything, or given up. */
  #read(): Promise<void> {
    return new Promise((resolve) => {
      this.#ended = resolve;
      if (this.#isCancelled || this.#error !== undefined) resolve();
    });
  }

  #close(): void {
    this.#isComplete = true;
    this.#transfers.delete(this.#transfer);
    if (this.#error !== undefined) this.#ended?.();
  }

  /** Counts bytes that were read, and requests as many when that is worth a call. */
  #took(bytes: number): void {
    this.#owed += bytes;
    if (this.#owed < ENOUGH || this.#isComplete) return;
    this.#worker.pull(this.#transfer, this.#owed);
    this.#owed = 0;
  }
}
