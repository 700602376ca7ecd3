/** Calls handlers for messages by their actions. Owns the order of the handlers. */

import { DONE } from '../log/quiet.js';
import { Callable } from './callable.js';
import type { Message } from './sockety-connection.js';
import { SocketyError } from './sockety-errors.js';

/** The result of a handler. A number is sent as a fast reply if the message expects an answer and has none yet. */
type Result = unknown;

/**
 * See the module. Called with a message, it runs all matching handlers, one after the other: a match does not stop the
 * rest.
 */
export class MessageHandler extends Callable<(message: Message) => Promise<void>> {
  readonly #steps: Step[] = [];
  #optimized: ((message: Message) => Promise<void>) | undefined;

  /** Starts without any handlers. */
  constructor() {
    super((message: Message) => this.optimize()(message));
  }

  /** Adds a handler that is always called. `error` is the last error of an earlier handler, or null. */
  use(handler: (message: Message, error: unknown) => Result): this {
    return this.#add((message, failed) => handler(message, look(failed)));
  }

  /** Adds a handler for messages with this action. It is called if no earlier handler failed. */
  action(name: string, handler: (message: Message) => Result): this {
    return this.#add((message, failed) =>
      failed === undefined && message.action === name ? handler(message) : undefined,
    );
  }

  /** Adds a handler that is called if an earlier handler failed. */
  error(handler: (message: Message, error: unknown) => Result): this {
    return this.#add((message, failed) => (failed === undefined ? undefined : handler(message, look(failed))));
  }

  /** Returns the function that a call runs. It stays the same until a handler is added. */
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

/** An error of a handler, and whether a later handler has got it. */
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

/** Runs the handlers. It waits only for handlers that return a promise. */
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

/** Sends a fast reply. Returns the error for a number that is not a code. */
function answer(message: Message, code: number): Failure | undefined {
  if (!message.expectsResponse || message.responded) return undefined;
  const isCode = Number.isInteger(code) && code >= 0 && code <= MOST_CODE;
  if (!isCode) return { error: new SocketyError('ERR_SOCKETY_INVALID', 'Invalid short response code.'), isSeen: false };
  message.fastReply(code);
  return undefined;
}

function finish(message: Message, failed: Failure | undefined): void {
  message.settle();
  // a client that left is not an error of a handler
  if (failed?.isSeen === false && !message.connection.closed) {
    const { error } = failed;
    message.connection.failed(error instanceof Error ? error : new Error(String(error)));
  }
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as PromiseLike<unknown>).then === 'function';
}

/** The largest number in twelve bits. */
const MOST_CODE = 4095;
