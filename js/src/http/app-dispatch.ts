/**
 * Takes one request through an app: middlewares, then the first route that matches and does not pass it on, then 404,
 * 405 or the answer to OPTIONS, and error handlers when something fails. Owns the order, and which promises are waited
 * for.
 */

import { MillraceError } from '../errors.js';
import { print, readable } from '../log/report.js';
import type { HttpExchange } from '../worker/exchange.js';
import type { Request } from './app-request.js';
import type { Progress, Response } from './response.js';
import type { ErrorHandler, Handler } from './router.js';
import { HttpError, statusOf, statusText } from './status.js';
import { answers, isErrorHandler, paramsOf, type Table, type Target } from './table.js';

/** See the module. */
export class Dispatch implements Progress {
  readonly #exchange: HttpExchange;
  readonly #table: Table;
  /** The path in the form in which patterns match it. */
  readonly #path: string;
  readonly #targets: readonly Target[];
  readonly #req: Request;
  readonly #res: Response;
  /** What comes next: a middleware, then a route, and within the current route a handler. */
  #middleware = 0;
  #target = 0;
  #handlers: (Handler | ErrorHandler)[] = NO_HANDLERS;
  #handler = 0;
  /** The next error handler. -1: nothing has failed. */
  #errorHandler = -1;
  /** Counts the calls of handlers. A `next` works once, and only until the following call. */
  #turn = 0;
  /** How many promises of handlers are pending. */
  #pending = 0;
  /** An error that no handler has handled, while it can still be thrown to the caller. */
  #failure: { error: unknown } | undefined;
  #begun = false;
  #resolve: (() => void) | undefined;
  #reject: ((error: unknown) => void) | undefined;

  constructor(exchange: HttpExchange, table: Table, path: string, req: Request, res: Response) {
    this.#exchange = exchange;
    this.#table = table;
    this.#path = path;
    this.#targets = table.candidates(path);
    this.#req = req;
    this.#res = res;
    req.tell(this);
    res.tell(this);
  }

  /**
   * Runs the handlers. The promise settles when the answer has begun and no handler's promise is pending.
   *
   * @param bodyBytes the size limit of the body, in bytes
   * @throws the error that a handler threw and no error handler handled; the answer has been sent
   */
  run(bodyBytes: number): void | Promise<void> {
    const waitsForBody = this.#exchange.hasBody && this.#isHandled() && this.#receive(bodyBytes);
    if (!waitsForBody) this.#advance();
    if (this.#failure !== undefined) throw this.#failure.error;
    this.#begun = true;
    if (this.#pending === 0 && this.#res.headersSent) return undefined;
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** The answer has begun. */
  sent(): void {
    if (this.#pending === 0) this.#finish();
  }

  /** Waits for work that the answer needs. If it fails, the request fails as if a handler had. */
  wait(work: Promise<unknown>): void {
    this.#await(work);
  }

  /** Handles an error of work that a handler began and that no code has caught. */
  failLater(error: unknown): void {
    this.#fail(error);
  }

  #finish(): void {
    this.#resolve?.();
    this.#reject = undefined;
  }

  /** Whether any handler may read the body. */
  #isHandled(): boolean {
    return this.#table.middlewares.length > 0 || this.#targets.length > 0;
  }

  /** Reads the body. Returns whether it has not arrived yet, so that the handlers wait for it. */
  #receive(bodyBytes: number): boolean {
    const bytes = this.#exchange.bodyNow();
    if (bytes === undefined) {
      this.#pending += 1;
      this.#exchange.body(bodyBytes).then(
        (whole) => {
          this.#req.receive(whole);
          this.#advance();
          this.#settled();
        },
        (error: unknown) => {
          this.#fail(isTooLarge(error) ? tooLarge(bodyBytes, error) : error);
          this.#settled();
        },
      );
      return true;
    }
    if (bytes.length > bodyBytes) {
      this.#fail(tooLarge(bodyBytes));
      return true;
    }
    this.#req.receive(bytes);
    return false;
  }

  /** Calls the next handler. */
  #advance(): void {
    const { middlewares } = this.#table;
    while (this.#middleware < middlewares.length) {
      const step = middlewares[this.#middleware++];
      const params = step && paramsOf(step.pattern, this.#path);
      if (params !== undefined) {
        this.#req.params = params;
        this.#call(step?.handler as Handler);
        return;
      }
    }
    for (;;) {
      while (this.#handler < this.#handlers.length) {
        const handler = this.#handlers[this.#handler++] as Handler | ErrorHandler;
        if (isErrorHandler(handler)) continue;
        this.#call(handler);
        return;
      }
      const target = this.#targets[this.#target++];
      if (target === undefined) {
        this.#nobody();
        return;
      }
      const params = answers(target, this.#req.method) ? target.pattern.match(this.#path) : undefined;
      if (params === undefined) continue;
      this.#req.params = params;
      this.#handlers = target.handlers;
      this.#handler = 0;
    }
  }

  #call(handler: Handler): void {
    const turn = ++this.#turn;
    const next = (error?: unknown): void => this.#next(turn, error);
    try {
      this.#await(handler(this.#req, this.#res, next));
    } catch (error) {
      this.#fail(error);
    }
  }

  #next(turn: number, error: unknown): void {
    if (turn !== this.#turn) return;
    this.#turn += 1;
    if (this.#res.headersSent) return;
    if (error === undefined || error === null || error === 'route') {
      if (error === 'route') this.#handler = this.#handlers.length;
      this.#advance();
    } else {
      this.#fail(error);
    }
  }

  #await(result: unknown): void {
    if (typeof (result as PromiseLike<unknown> | undefined)?.then !== 'function') return;
    this.#pending += 1;
    (result as PromiseLike<unknown>).then(
      () => this.#settled(),
      (error: unknown) => {
        this.#fail(error);
        this.#settled();
      },
    );
  }

  #settled(): void {
    this.#pending -= 1;
    if (this.#pending === 0 && this.#res.headersSent) this.#finish();
  }

  /** Handles an error: by the route's own error handlers, then by the app's, then with an answer of that status. */
  #fail(error: unknown): void {
    // calls of `next` by earlier handlers have no effect any more
    this.#turn += 1;
    if (!this.#res.headersSent) {
      const handler = this.#nextErrorHandler();
      if (handler !== undefined) {
        this.#handle(handler, error);
        return;
      }
    }
    const status = statusOf(error);
    // before the answer, which resolves the promise that the caller waits for
    if ((status >= 500 || this.#res.headersSent) && !this.#hasLeft(error)) this.#report(error);
    this.#res.fail(status, statusText(status));
  }

  #nextErrorHandler(): ErrorHandler | undefined {
    if (this.#errorHandler < 0) {
      while (this.#handler < this.#handlers.length) {
        const handler = this.#handlers[this.#handler++] as Handler | ErrorHandler;
        if (isErrorHandler(handler)) return handler;
      }
      this.#errorHandler = 0;
    }
    const { errorHandlers } = this.#table;
    while (this.#errorHandler < errorHandlers.length) {
      const step = errorHandlers[this.#errorHandler++];
      if (step !== undefined && paramsOf(step.pattern, this.#path) !== undefined) return step.handler;
    }
    return undefined;
  }

  #handle(handler: ErrorHandler, error: unknown): void {
    const turn = ++this.#turn;
    const next = (again?: unknown): void => {
      if (turn !== this.#turn) return;
      this.#turn += 1;
      if (this.#res.headersSent) return;
      if (again === undefined || again === null) this.#nobody();
      else this.#fail(again);
    };
    try {
      this.#await(handler(error, this.#req, this.#res, next));
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  /** Whether the error is a consequence of the client's leaving. */
  #hasLeft(error: unknown): boolean {
    const { name, code } = Object(error) as { name?: unknown; code?: unknown };
    return this.#exchange.hasLeft && (name === 'AbortError' || code === 'ERR_MILLRACE_REQUEST_ABORTED');
  }

  /** Reports an error to the caller, which reports it to the application. */
  #report(error: unknown): void {
    if (!this.#begun) {
      this.#failure ??= { error };
    } else if (this.#reject !== undefined) {
      this.#reject(error);
      this.#reject = undefined;
    } else {
      const message = `a handler of an app failed after its answer: ${readable(error)}`;
      print(new MillraceError('ERR_MILLRACE_HANDLER_FAILED', message, { cause: error }));
    }
  }

  /** Answers a request that no handler has answered. */
  #nobody(): void {
    const { method } = this.#req;
    const methods = this.#table.methodsOf(this.#path);
    // a matching route has passed the request on
    const isPassedOn = methods.has('*') || methods.has(method) || (method === 'HEAD' && methods.has('GET'));
    if (this.#path !== '*' && (methods.size === 0 || isPassedOn)) {
      this.#res.status(404).text(statusText(404));
    } else {
      this.#res.set('Allow', allowed(methods));
      if (method === 'OPTIONS') this.#res.status(204).end();
      else this.#res.status(405).text(statusText(405));
    }
  }
}

function isTooLarge(error: unknown): boolean {
  return (error as { code?: unknown } | undefined)?.code === 'ERR_MILLRACE_BODY_TOO_LARGE';
}

function tooLarge(bytes: number, cause?: unknown): HttpError {
  return new HttpError(413, `the body has more than ${bytes} bytes`, { cause });
}

/** The value of the `Allow` header. */
function allowed(methods: Set<string>): string {
  const all = new Set(methods);
  if (all.delete('*')) for (const method of COMMON) all.add(method);
  if (all.has('GET')) all.add('HEAD');
  all.add('OPTIONS');
  return [...all].sort().join(', ');
}

const COMMON = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH'];
const NO_HANDLERS: (Handler | ErrorHandler)[] = [];
