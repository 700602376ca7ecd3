/**
 * Turns `fetch` handlers into exchange handlers. The request, the answer and the globals are in files beside this one.
 */

import { ownWorkerData } from '../../addon/runtime.js';
import type { ExchangeHandler } from '../exchange.js';
import { type PlainAnswer, send } from './answer.js';
import { ExchangeInfo, LazyRequest, type RequestInfo } from './fetch-request.js';
import { takeOurs } from './globals.js';

/** Answers a request. */
export type FetchHandler = (
  request: Request,
  info: RequestInfo,
) => Response | PlainAnswer | Promise<Response | PlainAnswer>;

/** Makes an exchange handler that calls a `fetch` handler. */
export function exchangeHandler(fetch: FetchHandler): ExchangeHandler {
  return (exchange) => {
    const request = new LazyRequest(exchange) as unknown as Request;
    const answer: unknown = fetch(request, new ExchangeInfo(exchange));
    if (typeof (answer as PromiseLike<unknown> | undefined)?.then === 'function') {
      return Promise.resolve(answer).then((answer) => send(exchange, answer));
    }
    return send(exchange, answer);
  };
}

// globals are replaced only in threads that Millrace has started
if (ownWorkerData() !== undefined) takeOurs();
