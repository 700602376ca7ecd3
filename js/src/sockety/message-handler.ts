/** What is done with messages, by their actions. Owns the order of its handlers. */

import { DONE } from '../log/quiet.js';
import { Callable } from './callable.js';
import type { Message } from './sockety-connection.js';
import { SocketyError } from './sockety-errors.js';

/** A handler: a number that it returns is sent as a fast reply, if the message expects an answer and has none yet. */
type Result = unknown;

/** See the module. Called with a message, it runs all handlers that fit, one after the other: a match does not stop the rest. */
export class MessageHandler extends Callable<(message: Message) => Promise<void>> {
  readonly #steps: Step[] = [];
  #optimized: ((message: Message) => Promise<void>) | undefined;

  /** It handles nothing yet. */
  constructor() {
    super((message: Message) => this.optimize()(message));
  }

  /** Always called; `error` is what an earlier handler threw last, or null. */
  use(handler: (message: Message, error: unknown) => Result): this {
    return this.#add((message, failed) => handler(message, look(failed)));
  }

  /** Called if the message has this action and nothing failed before. */
  action(name: string, handler: (message: Message) => Result): this {
    return this.#add((message, failed) =>
      failed === undefined && message.action === name ? handler(message) : undefined,
    );
  }

  /** Called if a handler failed before. */
  error(handler: (message: Message, error: unknown) => Result): this {
    return this.#add((message, failed) => (failed === undefined ? undefined : handler(message, look(failed))));
  }

  /** What a call does, prepared: the same function until a handler is added. */
  optimize(): (message: Message) => Promise<void> {
    if (this.#optimized === undefined) {
      const steps = [...this.#steps];
      this.#optimized = (message) => run(steps, message);
    }
    return this.#optimized;
  }

  #add(step: Step): this {
    this.#steps.push(step);
    this.#optimized = undefined;
    return this;
  }
}

/** What a handler threw, and whether another one was shown it. */
interface Failure {
  readonly error: unknown;
  isSeen: boolean;
}

type Step = (message: Message, failed: Failure | undefined) => Result;

function look(failed: Failure | undefined): unknown {
  if (failed === undefined) return null;
  failed.isSeen = true;
  return failed.error;
}

/** As long as no handler returns a promise, nothing waits. */
function run(steps: readonly Step[], message: Message): Promise<void> {
  message.handled = runFrom(steps, 0, message, undefined);
  return message.handled;
}

function runFrom(steps: readonly Step[], first: number, message: Message, before: Failure | undefined): Promise<void> {
  let failed = before;
  for (let index = first; index < steps.length; index++) {
    const step = steps[index] as Step;
    let result: Result;
    try {
      result = step(message, failed);
    } catch (error) {
      failed = { error, isSeen: false };
      continue;
    }
    if (typeof result === 'number') {
      failed = answer(message, result) ?? failed;
    } else if (isPromise(result)) {
      const soFar = failed;
      return Promise.resolve(result).then(
        (value) => {
          const wrong = typeof value === 'number' ? answer(message, value) : undefined;
          return runFrom(steps, index + 1, message, wrong ?? soFar);
        },
        (error: unknown) => runFrom(steps, index + 1, message, { error, isSeen: false }),
      );
    }
  }
  finish(message, failed);
  return DONE;
}

/** What is wrong with a number that is no code. */
function answer(message: Message, code: number): Failure | undefined {
  if (!message.expectsResponse || message.responded) return undefined;
  const isCode = Number.isInteger(code) && code >= 0 && code <= MOST_CODE;
  if (!isCode) return { error: new SocketyError('ERR_SOCKETY_INVALID', 'Invalid short response code.'), isSeen: false };
  message.fastReply(code);
  return undefined;
}

function finish(message: Message, failed: Failure | undefined): void {
  message.settle();
  // a client that left is nobody's failure
  if (failed?.isSeen === false && !message.connection.closed) {
    const { error } = failed;
    message.connection.failed(error instanceof Error ? error : new Error(String(error)));
  }
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as PromiseLike<unknown>).then === 'function';
}

/** What twelve bits can say. */
const MOST_CODE = 4095;
