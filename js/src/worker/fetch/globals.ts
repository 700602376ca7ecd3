/**
 * Makes the platform's `Request` and `fetch` accept our requests. Replaces these two globals in workers that have a
 * `fetch` handler, and changes nothing else about them.
 */

import { LazyRequest } from './fetch-request.js';

/** Makes code work that passes its request on: `new Request(request, …)` and `fetch(request)`. */
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

/** Arguments in which a request of ours in the first place is replaced by the platform's. */
function real(given: unknown[]): unknown[] {
  const request = LazyRequest.platform(given[0]);
  return request === undefined ? given : [request, ...given.slice(1)];
}
