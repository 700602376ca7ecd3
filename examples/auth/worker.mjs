// @ts-check
/**
 * A notice board: users who are logged in can read it, and writers can post.
 *
 * A client sends a signed token in one of two ways: with the handshake, where `handleOpen` refuses an invalid one with
 * HTTP 401, or later in a message, if it connected as a guest. In both cases its claims become the connection's token,
 * which Millrace passes to every later handler. So the worker needs no table of sessions and no cleanup.
 *
 * @typedef {import('./tokens.mjs').Claims} Claims
 */
import { close, MillraceError, send, setToken, subscribe, unsubscribe } from 'millrace';
import { verify } from './tokens.mjs';

let secret = '';
let loginMs = 0;

/** @param {{ secret: string, loginMs: number }} workerArg the server's `workerArg` */
export function handleStart(workerArg) {
  ({ secret, loginMs } = workerArg);
}

/**
 * @param {number} socketId
 * @param {string} _ip
 * @param {Record<string, string>} headers
 * @param {import('millrace').OpenRequest} request
 */
export function handleOpen(socketId, _ip, headers, request) {
  const shown = shownToken(headers, request);
  if (shown === undefined) {
    endAfter(socketId, loginMs, 'login timeout');
    return true;
  }
  const claims = verify(shown, secret);
  if (claims === undefined) {
    return {
      status: 401,
      headers: { 'content-type': 'application/json', 'www-authenticate': 'Bearer' },
      body: JSON.stringify({ type: 'error', code: 'bad-token' }),
    };
  }
  admit(socketId, claims);
  // A client that offers subprotocols insists on one of them.
  return request.protocols.includes(PROTOCOL) ? { token: claims, protocol: PROTOCOL } : { token: claims };
}

/**
 * @param {string} text
 * @param {number} socketId
 * @param {Claims | null} [claims] the token; null: logged out
 */
export function handleTextMessage(text, socketId, claims) {
  const request = parse(text);
  if (request?.type === 'login') login(socketId, request.token);
  else if (!claims) reply(socketId, { type: 'error', code: 'not-logged-in' });
  else if (request?.type === 'whoami') reply(socketId, { type: 'you', ...claims });
  else if (request?.type === 'logout') logout(socketId);
  else if (request?.type === 'post') post(socketId, request.text, claims);
  else reply(socketId, { type: 'error', code: 'bad-request' });
}

/** @param {number} socketId */
export function handleClose(socketId) {
  clearTimeout(ends.get(socketId));
  ends.delete(socketId);
}

/**
 * @param {number} socketId
 * @param {unknown} shown
 */
function login(socketId, shown) {
  const claims = verify(shown, secret);
  if (claims === undefined) reply(socketId, { type: 'error', code: 'bad-token' });
  else if (attach(socketId, claims)) admit(socketId, claims);
}

/** @param {number} socketId */
function logout(socketId) {
  if (!attach(socketId, null)) return;
  unsubscribe(socketId, BOARD);
  endAfter(socketId, loginMs, 'login timeout');
  reply(socketId, { type: 'bye' });
}

/**
 * @param {number} socketId
 * @param {unknown} text
 * @param {Claims} claims
 */
function post(socketId, text, { user, roles }) {
  if (!roles.includes('writer')) reply(socketId, { type: 'error', code: 'forbidden' });
  else if (typeof text !== 'string' || text.trim() === '') reply(socketId, { type: 'error', code: 'bad-request' });
  else send(BOARD, JSON.stringify({ type: 'posted', user, text: text.trim(), timestamp: Date.now() }));
}

/**
 * @param {number} socketId
 * @param {Claims} claims
 */
function admit(socketId, claims) {
  // A second login must not subscribe twice: subscriptions are counted.
  unsubscribe(socketId, BOARD);
  subscribe(socketId, BOARD);
  // Also for clients that only listen: they get nothing after their token has expired.
  endAfter(socketId, claims.expires - Date.now(), 'token expired');
  reply(socketId, { type: 'you', ...claims });
}

/**
 * @param {number} socketId
 * @param {Claims | null} token
 * @returns {boolean} false: the client disconnected while its message waited here
 */
function attach(socketId, token) {
  try {
    setToken(socketId, token);
    return true;
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'ERR_MILLRACE_SOCKET_NOT_FOUND') return false;
    throw error;
  }
}

/** @type {Map<number, NodeJS.Timeout>} */
const ends = new Map();

/**
 * @param {number} socketId
 * @param {number} ms
 * @param {string} reason
 */
function endAfter(socketId, ms, reason) {
  clearTimeout(ends.get(socketId));
  ends.set(
    socketId,
    setTimeout(() => close(socketId, UNAUTHORIZED, reason), Math.min(ms, LONGEST_TIMER)),
  );
}

/**
 * Where a client can send a token: a program in a header; a browser, whose WebSocket cannot set headers, in a cookie
 * (best, because the page's scripts cannot read it) or beside the subprotocol. Not in the address, because addresses
 * end up in logs.
 * @param {Record<string, string>} headers
 * @param {import('millrace').OpenRequest} request
 * @returns {string | undefined}
 */
function shownToken(headers, request) {
  const bearer = /^Bearer (.+)$/i.exec(headers.authorization ?? '');
  const cookie = /(?:^|;\s*)session=([^;]*)/.exec(headers.cookie ?? '');
  const beside = request.protocols.find((protocol) => protocol.startsWith('token.'));
  return bearer?.[1] ?? beside?.slice('token.'.length) ?? cookie?.[1];
}

/**
 * @param {number} socketId
 * @param {object} message
 */
function reply(socketId, message) {
  send(socketId, JSON.stringify(message));
}

/** @param {string} text @returns {{ type?: unknown, token?: unknown, text?: unknown } | undefined} */
function parse(text) {
  try {
    return JSON.parse(text) ?? undefined;
  } catch {
    return undefined;
  }
}

const BOARD = 'board';
const PROTOCOL = 'board';
// 4000 to 4999 are the application's own close codes.
const UNAUTHORIZED = 4401;
// A timer set for longer fires at once.
const LONGEST_TIMER = 2 ** 31 - 1;
