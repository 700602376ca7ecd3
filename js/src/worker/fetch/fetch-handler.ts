/** `fetch` handlers as exchange handlers. Owns nothing: the request, the answer and the globals are beside. */

import { ownWorkerData } from '../../addon/runtime.js';
import type { ExchangeHandler } from '../exchange.js';
import { type PlainAnswer, send } from './answer.js';
import { ExchangeInfo, LazyRequest, type RequestInfo } from './fetch-request.js';
import { takeOurs } from './globals.js';

/** Answers requests. */
export type FetchHandler = (
  request: Request,
  info: RequestInfo,
) => Response | PlainAnswer | Promise<Response | PlainAnswer>;

/** The exchange handler that asks a `fetch` handler. */
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

// the globals of a thread that is not ours are not, either
if (ownWorkerData() !== undefined) takeOurs();
