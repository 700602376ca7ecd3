/**
 * Sends a message in parts while it is read from a source, as fast as its client reads. Owns the parts that are on their
 * way to the I/O thread.
 */

import { type ErrorCode, MillraceError } from '../errors.js';
import { readFlag, readObject } from '../options/fields.js';
import { type Chunks, Cutter, checkSource, chunksOf, type StreamSource } from './chunks.js';
import { type Questions, UNABLE, YES } from './questions.js';

/** Options of `sendStream`. */
export interface SendStreamOptions {
  /**
   * Whether the message is binary. Strings of a binary message are sent as UTF-8; bytes of a text must be UTF-8. Default:
   * it is a text if its first chunk is a string.
   */
  binary?: boolean;
}

/**
 * See the module function `sendStream`.
 *
 * @throws {TypeError} if an argument is wrong
 */
export function sendStream(
  questions: Questions,
  socketId: number,
  readable: StreamSource,
  options?: SendStreamOptions,
): Promise<number> {
  const binary = readOptions(options);
  checkSource(readable);
  const begun = questions.native.beginStream(socketId);
  if (begun === undefined) throw failure('ERR_MILLRACE_SOCKET_NOT_FOUND', socketId, 'there is no such socket');
  const [turn, end] = begun as [number, number];
  let chunks: Chunks;
  try {
    chunks = chunksOf(readable);
  } catch (error) {
    // a stream that is being read already
    questions.native.endStream(end, false, true);
    throw error;
  }
  return new Sending(questions, socketId, end, chunks, binary).run(turn);
}

class Sending {
  readonly #questions: Questions;
  readonly #socketId: number;
  /** The number of the message. */
  readonly #number: number;
  readonly #chunks: Chunks;
  readonly #cutter = new Cutter();
  #binary: boolean | undefined;
  #bytes = 0;
  /** Parts for which there was no room yet when they were sent. */
  #underway = 0;
  /** The answer to the question of the message's end. */
  #end: number | undefined;
  /** Called when something has changed that the message may wait for. */
  #changed: (() => void) | undefined;

  constructor(questions: Questions, socketId: number, number: number, chunks: Chunks, binary: boolean | undefined) {
    this.#questions = questions;
    this.#socketId = socketId;
    this.#number = number;
    this.#chunks = chunks;
    this.#binary = binary;
  }

  /** Resolves with the number of bytes. */
  async run(turn: number): Promise<number> {
    let hasTurn = false;
    this.#ask(turn, () => {
      hasTurn = true;
    });
    this.#ask(this.#number, (answer) => {
      this.#end = answer;
    });
    try {
      await this.#until(() => hasTurn);
      for (;;) {
        const next = await this.#read();
        if (next.done) break;
        await this.#send(next.value);
      }
      const rest = this.#cutter.rest();
      if (rest !== '') await this.#part(rest);
      this.#questions.native.endStream(this.#number, true, this.#binary ?? true);
      await this.#until(() => this.#end === YES);
      return this.#bytes;
    } catch (error) {
      this.#questions.native.endStream(this.#number, false, true);
      this.#chunks.cancel(error);
      throw error instanceof MillraceError ? error : this.#failed(error);
    }
  }

  #ask(question: number, answered: (answer: number) => void): void {
    this.#questions.await(question, (answer) => {
      answered(answer);
      this.#changed?.();
    });
  }

  /** Waits for a condition. @throws {MillraceError} if the socket is closed before */
  async #until(holds: () => boolean): Promise<void> {
    for (;;) {
      if (this.#end !== undefined && this.#end !== YES) throw this.#ended();
      if (holds()) return;
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }

  /** Reads a chunk. Does not wait for it if the socket is closed. */
  async #read(): Promise<IteratorResult<unknown>> {
    const reading = this.#chunks.next();
    if (!(reading instanceof Promise)) return reading;
    let settled = false;
    const settle = (): void => {
      settled = true;
      this.#changed?.();
    };
    reading.then(settle, settle);
    await this.#until(() => settled);
    return reading;
  }

  async #send(chunk: unknown): Promise<void> {
    this.#binary ??= typeof chunk !== 'string';
    for (const piece of this.#cutter.cut(chunk)) await this.#part(piece);
  }

  async #part(piece: string | Uint8Array): Promise<void> {
    const room = this.#questions.native.streamPart(this.#number, piece, this.#binary as boolean);
    this.#bytes += Buffer.byteLength(piece);
    this.#underway += 1;
    this.#ask(room, () => {
      this.#underway -= 1;
    });
    await this.#until(() => this.#underway < MOST_UNDERWAY);
  }

  #ended(): MillraceError {
    return this.#end === UNABLE
      ? failure('ERR_MILLRACE_NO_STREAMS', this.#socketId, 'it is not a WebSocket')
      : failure('ERR_MILLRACE_SOCKET_CLOSED', this.#socketId, 'the socket was closed');
  }

  #failed(cause: unknown): MillraceError {
    const message = cause instanceof Error ? cause.message : String(cause);
    return failure('ERR_MILLRACE_STREAM_FAILED', this.#socketId, message, cause);
  }
}

function failure(code: ErrorCode, socketId: number, why: string, cause?: unknown): MillraceError {
  const options = cause === undefined ? undefined : { cause };
  return new MillraceError(code, `the message to socket ${socketId} was not sent completely: ${why}`, options);
}

function readOptions(options: unknown): boolean | undefined {
  if (options === undefined) return undefined;
  const problems: string[] = [];
  const fields = readObject(options, 'options', ['binary'], problems);
  const binary = readFlag(fields['binary'], 'options.binary', problems);
  if (problems.length > 0) throw new TypeError(problems.join('; '));
  return binary;
}

/** So many parts may be on their way for which there was no room yet. */
const MOST_UNDERWAY = 2;
