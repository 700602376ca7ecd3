/** The requests of a worker. Gives each to the handler, and later events of it to its exchange. Reads no body. */

import type { NativeWorker } from '../addon/native-interface.js';
import { MillraceError } from '../errors.js';
import { readable } from '../log/report.js';
import type { ExchangeHandler, MessageAnswerer } from './exchange.js';
import { aborted, tooLarge } from './incoming.js';
import { TURN_ABORTED, TURN_BROKEN, TURN_LATE, TURN_LEFT, TURN_ROOM, TURN_TOO_LARGE } from './kinds.generated.js';
import { type Keeper, NativeExchange } from './native-exchange.js';
import { type MessageKeeper, NativeMessage } from './native-message.js';
import type { RecordBuffer } from './record.js';

/** The handler of requests: one of the two. */
export interface Answerers {
  exchange?: ExchangeHandler;
  message?: MessageAnswerer;
}

type Open = NativeExchange | NativeMessage;

/** See the module. */
export class Requests {
  readonly #worker: NativeWorker;
  readonly #handlers: Answerers;
  readonly #report: (error: MillraceError) => void;
  /** Exchanges that were not over when their handler returned. */
  readonly #open = new Map<number, Open>();
  readonly #keeper: Keeper = {
    forget: (exchange) => this.#forget(exchange),
    overrun: (exchange) => {
      const message = `the answer to ${describe(exchange)} was cut: its handler writes without waiting for the client`;
      this.#report(new MillraceError('ERR_MILLRACE_HANDLER_FAILED', message));
      this.#gone(exchange, 'the answer was cut');
    },
    deserted: (exchange) => this.#gone(exchange, 'the client left'),
  };

  readonly #messageKeeper: MessageKeeper = {
    forget: (exchange) => this.#forget(exchange),
    failed: (exchange, error) => this.#failed(exchange, error),
  };

  constructor(worker: NativeWorker, handlers: Answerers, report: (error: MillraceError) => void) {
    this.#worker = worker;
    this.#handlers = handlers;
    this.#report = report;
  }

  /** Reads a REQUEST record whose payload of `length` bytes starts at word `at`, and calls the handler. */
  request(words: Uint32Array, buffer: RecordBuffer, at: number, length: number): void {
    const { message, exchange: handler } = this.#handlers;
    const place = { at, length };
    let exchange: Open;
    let result: void | Promise<unknown>;
    if (message !== undefined) {
      exchange = new NativeMessage(this.#worker, words, buffer, place, this.#messageKeeper);
      result = this.#answered(exchange, message.handle);
    } else if (handler !== undefined) {
      exchange = new NativeExchange(this.#worker, words, buffer, place, this.#keeper);
      result = this.#answered(exchange, handler);
    } else {
      return;
    }
    if (!exchange.over) this.#open.set(exchange.id, exchange);
    if (result !== undefined && typeof result?.then === 'function') {
      result.then(undefined, (error: unknown) => this.#failed(exchange, error));
    }
  }

  #answered<E extends Open>(exchange: E, handler: (exchange: E) => void | Promise<unknown>): void | Promise<unknown> {
    try {
      return handler(exchange);
    } catch (error) {
      this.#failed(exchange, error);
      return undefined;
    }
  }

  /** The exchange that a piece of a body belongs to. Undefined: the body is not wanted any more. */
  find(request: number): Open | undefined {
    return this.#open.get(request);
  }

  #forget(exchange: Open): void {
    // most are over before they are listed
    if (this.#open.size > 0) this.#open.delete(exchange.id);
  }

  /** Handles a report about a request: one of the `TURN_` constants. */
  turn(request: number, turn: number): void {
    const exchange = this.#open.get(request);
    if (exchange === undefined) return;
    switch (turn) {
      case TURN_ABORTED:
        this.#gone(exchange, 'the client left');
        break;
      case TURN_LATE:
        this.#report(
          new MillraceError('ERR_MILLRACE_HANDLER_TIMEOUT', `${describe(exchange)} was not answered in time`),
        );
        this.#gone(exchange, 'it was not answered in time');
        break;
      case TURN_LEFT:
        this.#try(exchange, () => exchange.left());
        break;
      case TURN_ROOM:
        this.#try(exchange, () => exchange.room());
        break;
      case TURN_TOO_LARGE:
        this.#try(exchange, () => exchange.broken(tooLarge()));
        break;
      case TURN_BROKEN:
        this.#try(exchange, () => exchange.broken(aborted('the client broke its body off')));
        break;
    }
  }

  /** Tells all exchanges that the worker ends. */
  end(): void {
    for (const exchange of [...this.#open.values()]) this.#gone(exchange, 'the worker ends');
  }

  #gone(exchange: Open, why: string): void {
    this.#open.delete(exchange.id);
    this.#try(exchange, () => exchange.gone(why));
  }

  /** Runs callbacks of a handler and reports their errors. */
  #try(exchange: Open, callbacks: () => void): void {
    try {
      callbacks();
    } catch (error) {
      this.#tell(exchange, error);
    }
  }

  #failed(exchange: Open, cause: unknown): void {
    const code = cause instanceof MillraceError ? cause.code : undefined;
    if (code === 'ERR_MILLRACE_BODY_TOO_LARGE') {
      exchange.giveUp(413, "The request's body is too large");
    } else {
      // a client that left is not an error of the handler
      if (code !== 'ERR_MILLRACE_REQUEST_ABORTED' && !(exchange.hasLeft && isAbort(cause))) this.#tell(exchange, cause);
      exchange.giveUp(500, 'Internal server error');
    }
  }

  #tell(exchange: Open, cause: unknown): void {
    const message = `the handler of ${describe(exchange)} failed: ${readable(cause)}`;
    this.#report(new MillraceError('ERR_MILLRACE_HANDLER_FAILED', message, { cause }));
  }
}

/** Whether an operation was cancelled by a signal, such as that of the request. */
function isAbort(cause: unknown): boolean {
  return (cause as { name?: unknown } | null | undefined)?.name === 'AbortError';
}

function describe(exchange: Open): string {
  return `${exchange.method} ${exchange.target}`;
}
