/** The hook `upgrade`: the request that it gets, and what its result means for Millrace. */

import type { Hooks, PeerContext } from 'crossws' with { 'resolution-mode': 'import' };
import type { OpenRequest, Rejection } from '../worker/open-request.js';
import type { CrosswsOptions } from './crossws-options.js';
import {
  after,
  type HeadersLike,
  type HookCalls,
  isPromise,
  type Maybe,
  type RequestWithContext,
} from './hook-calls.js';

/** A handshake that is accepted. */
export interface Upgrade {
  readonly isRefused: false;
  readonly context: PeerContext;
  readonly namespace: string;
  /** The hooks of the connection's own. */
  readonly hooks: Partial<Hooks> | undefined;
  readonly headers: Record<string, string | string[]>;
  readonly protocol: string | undefined;
  /** Whether messages to the connection may be compressed. */
  readonly compress: boolean;
}

/** A handshake that is refused. */
export interface Refusal {
  readonly isRefused: true;
  readonly answer: Rejection;
}

/** The request that hooks get. `context` is what the hooks and the peer share. */
export function requestOf(open: OpenRequest, ip: string): RequestWithContext {
  const { headers, url } = open;
  const isSecure = open.encrypted || headers['x-forwarded-proto'] === 'https';
  const scheme = isSecure ? 'https' : 'http';
  const host = headers['host'] ?? '';
  const isAuthority = host !== '' && !/[\s/?#@\\]/.test(host) && URL.canParse(`${scheme}://${host}/`);
  const request = new Request(`${scheme}://${isAuthority ? host : 'localhost'}${url}`, { headers });
  const whole = Object.assign(request, { context: {} });
  if (ip !== '') Object.defineProperty(whole, 'ip', { value: ip, enumerable: true });
  return whole;
}

/**
 * Calls the hook.
 *
 * @throws what the hook throws, unless that is a response, which refuses the handshake
 */
export function upgrade(
  calls: HookCalls,
  options: CrosswsOptions,
  request: RequestWithContext,
): Maybe<Upgrade | Refusal> {
  const caught = (error: unknown): Maybe<Refusal> => {
    const response = responseIn(error);
    if (response === undefined) throw error;
    return refusalOf(response);
  };
  let upgraded: Maybe<Upgrade | Refusal>;
  try {
    upgraded = after(calls.resolve(request), (hooks) =>
      after(
        calls.call('upgrade', hooks, request) as Maybe<unknown>,
        (result): Maybe<Upgrade | Refusal> =>
          isResponse(result) ? refusalOf(result) : acceptedBy(result, hooks, options, request),
      ),
    );
  } catch (error) {
    return caught(error);
  }
  return isPromise(upgraded) ? upgraded.then((settled) => settled, caught) : upgraded;
}

/** @throws {TypeError} if the result asks for something that there is not */
function acceptedBy(
  result: unknown,
  hooks: Partial<Hooks> | undefined,
  options: CrosswsOptions,
  request: RequestWithContext,
): Maybe<Upgrade> {
  const given = (typeof result === 'object' && result !== null ? result : {}) as Given;
  if (given.handled)
    throw new TypeError("upgrade: 'handled' is not available, because Millrace has no socket of Node.js");
  if (given.context !== undefined) Object.assign(request.context, given.context);
  const namespace = given.namespace || options.getNamespace?.(request) || new URL(request.url).pathname;
  const headers = new Headers(given.headers as HeadersLike | undefined);
  return after(protocolOf(given, headers, options, request), (protocol) => {
    headers.delete(PROTOCOL);
    const list = listOf(headers);
    const compress = given.perMessageDeflate !== false;
    return { isRefused: false, context: request.context, namespace, hooks, headers: list, protocol, compress };
  });
}

interface Given {
  handled?: unknown;
  context?: object;
  namespace?: string;
  headers?: unknown;
  protocol?: string;
  perMessageDeflate?: unknown;
}

/** The subprotocol that is agreed on: the hook's, that in its headers, or that of the option. */
function protocolOf(
  given: Given,
  headers: Headers,
  { handleProtocols }: CrosswsOptions,
  request: Request,
): Maybe<string | undefined> {
  const chosen = given.protocol || headers.get(PROTOCOL);
  if (chosen) return chosen;
  const offered = (request.headers.get(PROTOCOL) ?? '').split(',').map((name) => name.trim());
  const names = new Set(offered.filter((name) => name !== ''));
  if (handleProtocols === undefined || names.size === 0) return undefined;
  return after(handleProtocols(names, request), (name) => name || undefined);
}

async function refusalOf(response: Response): Promise<Refusal> {
  const { status } = response;
  if (status < 300) {
    throw new TypeError(`upgrade: a response refuses a handshake with a status from 300 to 599, not ${status}`);
  }
  const headers = listOf(response.headers);
  const body = await response.blob();
  // Bun has the type of a text there, and not among the headers
  if (body.type !== '') headers['content-type'] ??= body.type;
  return { isRefused: true, answer: { status, headers, body: await body.arrayBuffer() } };
}

/** Headers in Millrace's form. Cookies stay apart. */
function listOf(headers: Headers): Record<string, string | string[]> {
  const list: Record<string, string | string[]> = {};
  for (const [name, value] of headers) if (name !== 'set-cookie') list[name] = value;
  const cookies = headers.getSetCookie();
  if (cookies.length > 0) list['set-cookie'] = cookies;
  return list;
}

/** The response that was thrown, or that an error carries. */
function responseIn(error: unknown): Response | undefined {
  const carried = (error as { response?: unknown } | undefined | null)?.response || error;
  return isResponse(carried) ? carried : undefined;
}

/** Whether a value is a response, also one of another class, as frameworks have. */
export function isResponse(value: unknown): value is Response {
  if (value instanceof Response) return true;
  const like = value as Partial<Response> | undefined | null;
  return typeof like?.status === 'number' && typeof like.arrayBuffer === 'function' && like.headers instanceof Headers;
}

const PROTOCOL = 'sec-websocket-protocol';
