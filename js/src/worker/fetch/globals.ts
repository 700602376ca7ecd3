/**
 * The platform's `Request` and `fetch`, made to take our requests as they take their own. Owns these two globals of a
 * worker whose `fetch` handler gets such requests, and changes nothing else about them.
 */

import { LazyRequest } from './fetch-request.js';

/** Makes programs work that pass on what they got: `new Request(request, …)`, `fetch(request)`. */
export function takeOurs(): void {
  replace(
    'Request',
    new Proxy(globalThis.Request, {
      construct: (target, given, made) => Reflect.construct(target, real(given), made),
    }),
  );
  if (typeof globalThis.fetch !== 'function') return;
  replace(
    'fetch',
    new Proxy(globalThis.fetch, { apply: (target, self, given) => Reflect.apply(target, self, real(given)) }),
  );
}

function replace(name: 'Request' | 'fetch', value: unknown): void {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
}

/** Arguments of which the first may be a request of ours. */
function real(given: unknown[]): unknown[] {
  const request = LazyRequest.platform(given[0]);
  return request === undefined ? given : [request, ...given.slice(1)];
}
