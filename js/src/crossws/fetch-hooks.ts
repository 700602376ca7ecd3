/** Asks an app's `fetch` for the hooks of a WebSocket, as frameworks such as H3 pass them on. */

import type { Hooks } from 'crossws' with { 'resolution-mode': 'import' };
import type { FetchOfApp } from './crossws-options.js';
import type { HeadersLike, RequestWithContext } from './hook-calls.js';
import { isResponse } from './upgrade.js';

/**
 * The hooks are the property `crossws` of the result, or on the request. A response that is an error refuses the
 * handshake. The result may also be an object with hooks and headers for the answer to the handshake.
 */
export async function hooksByFetch(
  fetch: FetchOfApp,
  request: RequestWithContext,
): Promise<Partial<Hooks> | undefined> {
  const result = (await fetch(request)) as Result;
  const onRequest = hooksOn(request);
  if (isResponse(result)) {
    const hooks = (result as Result)?.crossws ?? onRequest;
    const isError = !result.ok && result.status !== SWITCHING && !(result.status === UPGRADE_REQUIRED && hooks);
    if (isError && (result as Result)?.crossws === undefined) return { upgrade: () => result };
    // nobody reads it
    result.body?.cancel().catch(() => undefined);
    return hooks;
  }
  const hooks = result?.crossws ?? onRequest;
  const headers = result?.headers;
  return headers === undefined ? hooks : withHeaders(hooks, headers);
}

/** What an app's `fetch` may return for a handshake. */
type Result = { crossws?: Partial<Hooks>; headers?: HeadersLike } | undefined | null;

/** Hooks that also add these headers to the answer. */
function withHeaders(hooks: Partial<Hooks> | undefined, headers: HeadersLike): Partial<Hooks> {
  return {
    ...hooks,
    async upgrade(request) {
      const result = await hooks?.upgrade?.(request);
      if (isResponse(result)) return result;
      const all = new Headers(headers);
      new Headers(result?.headers as HeadersLike | undefined).forEach((value, name) => {
        all.set(name, value);
      });
      return { ...result, headers: all };
    },
  };
}

function hooksOn(request: RequestWithContext): Partial<Hooks> | undefined {
  const ofRequest = (request as unknown as Record<symbol, unknown>)[ON_REQUEST];
  return (ofRequest ?? (request.context as Record<symbol, unknown>)[ON_REQUEST]) as Partial<Hooks> | undefined;
}

/** The symbol by which frameworks put hooks on a request. It is public. */
const ON_REQUEST = Symbol.for('crossws.hooks');

const SWITCHING = 101;
const UPGRADE_REQUIRED = 426;
