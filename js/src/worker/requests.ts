/** The requests of a worker: each goes to the handler, and what is told of it later to its exchange. Reads no body. */

import type { NativeWorker } from '../binding.js';
import { MillraceError } from '../errors.js';
import { readable } from '../report.js';
import type { ExchangeHandler } from './exchange.js';
import { aborted, tooLarge } from './incoming.js';
import { TURN_ABORTED, TURN_BROKEN, TURN_LATE, TURN_LEFT, TURN_ROOM, TURN_TOO_LARGE } from './kinds.generated.js';
import { type Keeper, NativeExchange } from './native-exchange.js';
import type { RecordBuffer } from './record.js';

/** See the module. */
export class Requests {
  readonly #worker: NativeWorker;
  readonly #handler: ExchangeHandler;
  readonly #report: (error: MillraceError) => void;
  /** Those that are not over when their handler returns. */
  readonly #open = new Map<number, NativeExchange>();
  readonly #keeper: Keeper = {
    forget: (exchange) => this.#open.delete(exchange.id),
    overrun: (exchange) => {
      const message = `the answer to ${describe(exchange)} was cut: its handler writes without waiting for the client`;
      this.#report(new MillraceError('ERR_MILLRACE_HANDLER_FAILED', message));
      this.#gone(exchange, 'the answer was cut');
    },
    deserted: (exchange) => this.#gone(exchange, 'the client left'),
  };

  constructor(worker: NativeWorker, handler: ExchangeHandler, report: (error: MillraceError) => void) {
    this.#worker = worker;
    this.#handler = handler;
    this.#report = report;
  }

  /** A REQUEST record whose payload of `length` bytes starts at word `at`. */
  request(words: Uint32Array, buffer: RecordBuffer, at: number, length: number): void {
    const exchange = new NativeExchange(this.#worker, words, buffer, { at, length }, this.#keeper);
    const handler = this.#handler;
    let result: void | Promise<unknown>;
    try {
      result = handler(exchange);
    } catch (error) {
      this.#failed(exchange, error);
      return;
    }
    if (!exchange.over) this.#open.set(exchange.id, exchange);
    if (result !== undefined && typeof result?.then === 'function') {
      result.then(undefined, (error: unknown) => this.#failed(exchange, error));
    }
  }

  /** A piece of a request's body, for the caller to read; undefined: nobody wants it. */
  find(request: number): NativeExchange | undefined {
    return this.#open.get(request);
  }

  /** What became of a request. */
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
        exchange.room();
        break;
      case TURN_TOO_LARGE:
        exchange.broken(tooLarge());
        break;
      case TURN_BROKEN:
        exchange.broken(aborted('the client broke its body off'));
        break;
    }
  }

  /** Whoever waits for something is told that the worker ends. */
  end(): void {
    for (const exchange of [...this.#open.values()]) this.#gone(exchange, 'the worker ends');
  }

  #gone(exchange: NativeExchange, why: string): void {
    this.#open.delete(exchange.id);
    this.#try(exchange, () => exchange.gone(why));
  }

  /** Runs callbacks of a handler. */
  #try(exchange: NativeExchange, callbacks: () => void): void {
    try {
      callbacks();
    } catch (error) {
      this.#tell(exchange, error);
    }
  }

  #failed(exchange: NativeExchange, cause: unknown): void {
    const code = cause instanceof MillraceError ? cause.code : undefined;
    if (code === 'ERR_MILLRACE_BODY_TOO_LARGE') {
      exchange.giveUp(413, "The request's body is too large");
    } else {
      // that a client left is nobody's failure
      if (code !== 'ERR_MILLRACE_REQUEST_ABORTED' && !(exchange.hasLeft && isAbort(cause))) this.#tell(exchange, cause);
      exchange.giveUp(500, 'Internal server error');
    }
  }

  #tell(exchange: NativeExchange, cause: unknown): void {
    const message = `the handler of ${describe(exchange)} failed: ${readable(cause)}`;
    this.#report(new MillraceError('ERR_MILLRACE_HANDLER_FAILED', message, { cause }));
  }
}

/** Whether something was given up because a signal, such as that of the request, said so. */
function isAbort(cause: unknown): boolean {
  return (cause as { name?: unknown } | null | undefined)?.name === 'AbortError';
}

function describe(exchange: NativeExchange): string {
  return `${exchange.method} ${exchange.target}`;
}
