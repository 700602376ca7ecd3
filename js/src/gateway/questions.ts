/**
 * What this thread asks the I/O threads about sockets, to be answered later. Owns the promises that wait. Does not know
 * what is asked.
 */

import type { NativeGateway } from '../addon/native-interface.js';
import { type ErrorCode, MillraceError } from '../errors.js';

/** The socket does not exist, or was closed before the answer. */
export const CLOSED = 0;
/** The answer is yes. */
export const YES = 1;
/** The socket's protocol has no such thing. */
export const UNABLE = 2;
/** The result of a call is there to be taken. */
export const SAID = 3;
/** The error of a call is. */
export const FAILED = 4;

/** See the module. */
export class Questions {
  readonly native: NativeGateway;
  readonly #waiting = new Map<number, (answer: number) => void>();

  constructor(native: NativeGateway) {
    this.native = native;
    // the native side keeps the function for as long as the thread lives
    const own = new WeakRef(this);
    native.openAnswers(() => own.deref()?.take());
  }

  /** Calls `answered` with the answer to a question, by its number. */
  await(question: number, answered: (answer: number) => void): void {
    this.#waiting.set(question, answered);
    AWAITED.add(this);
  }

  /** Takes a question back. */
  forget(question: number): void {
    this.#waiting.delete(question);
    if (this.#waiting.size === 0) AWAITED.delete(this);
    this.native.forgetAnswer(question);
  }

  /** Takes the answers that have arrived. */
  take(): void {
    const answers = this.native.takeAnswers();
    for (let at = 0; at < answers.length; at += 2) {
      const question = answers[at] as number;
      const answered = this.#waiting.get(question);
      this.#waiting.delete(question);
      answered?.(answers[at + 1] as number);
    }
    if (this.#waiting.size === 0) AWAITED.delete(this);
  }
}

/**
 * Resolves when the server of other nodes has answered a question. @throws {MillraceError} if it could not do what it was asked
 * for, or by `ended` if the gateway was stopped
 */
export function answered(questions: Questions, question: number, ended: () => MillraceError): Promise<void> {
  return new Promise((resolve, reject) => {
    questions.await(question, (answer) => {
      if (answer === CLOSED) return reject(ended());
      if (answer !== FAILED) return resolve();
      const [code, reason] = questions.native.takeResult(question) as string[];
      reject(new MillraceError(code as ErrorCode, reason ?? ''));
    });
  });
}

/** Kept while something waits for their answers, even if the application has dropped the gateway. */
const AWAITED = new Set<Questions>();
