// @ts-check
/**
 * A notice board: users who are signed in can read it, and writers can post. Its HTTP routes and its sockets use the
 * same session, a JWT in a cookie or after `Authorization: Bearer`.
 *
 * @typedef {import('./sessions.mjs').Session} Session
 */
import { close, send, subscribe, unsubscribe } from 'millrace';
import express from 'millrace/http';
import { Sessions } from './sessions.mjs';
import { findUser } from './users.mjs';

/** @type {Sessions} */
let sessions;
let maxAge = 0;

/** @param {{ secret: string, seconds: number }} workerArg the server's `workerArg` */
export function handleStart({ secret, seconds }) {
  sessions = new Sessions(secret, seconds);
  maxAge = seconds * 1000;
}

const app = express();
app.set('body limit', 1024);
app.use((_req, res, next) => {
  res.setNoCache();
  next();
});

// For pages: a cookie that scripts cannot read, that other sites' pages cannot send, and that is sent only over TLS.
// (Browsers make an exception for localhost.)
app.post('/sign-in', async (req, res) => {
  const found = await findUserOf(req);
  if (found === undefined) return res.json(WRONG, 401);
  res.cookie(COOKIE, await sessions.begin(found.user, found.roles), { ...COOKIE_OPTIONS, maxAge });
  return res.json(found);
});

// For programs, which send it as a header.
app.post('/token', async (req, res) => {
  const found = await findUserOf(req);
  if (found === undefined) return res.json(WRONG, 401);
  return res.json({ token: await sessions.begin(found.user, found.roles) });
});

app.get('/me', async (req, res) => {
  const session = await sessions.find(shownToken(req.headers));
  if (session === undefined) res.json({ error: 'sign in first' }, 401);
  else res.json({ user: session.user, roles: session.roles });
});

app.post('/sign-out', async (req, res) => {
  const session = await sessions.find(shownToken(req.headers));
  if (session !== undefined) {
    sessions.end(session.user);
    // The channel's members, whichever workers they belong to, are all the sockets of this user.
    const channel = channelOf(session.user);
    for (const socketId of unsubscribe(channel, channel)) close(socketId, UNAUTHORIZED, 'signed out');
  }
  res.clearCookie(COOKIE, COOKIE_OPTIONS).status(204).end();
});

export default app;

/**
 * @param {number} socketId
 * @param {string} _ip
 * @param {Record<string, string>} headers
 */
export async function handleOpen(socketId, _ip, headers) {
  const session = await sessions.find(shownToken(headers));
  if (session === undefined) return REFUSED;
  // Subscribe first, then check again: a sign-out at this moment either finds this socket, or has already ended the
  // session.
  subscribe(socketId, channelOf(session.user));
  if (!sessions.isOpen(session)) return REFUSED;
  subscribe(socketId, BOARD);
  ends.set(socketId, setTimeout(expire, Math.min(session.expires - Date.now(), LONGEST_TIMER), socketId));
  return { token: session };
}

/**
 * @param {string} text
 * @param {number} socketId
 * @param {Session} session the token that `handleOpen` attached
 */
export function handleTextMessage(text, socketId, { user, roles }) {
  const notice = text.trim();
  if (!roles.includes('writer')) send(socketId, JSON.stringify({ error: 'only writers may post' }));
  else if (notice === '') send(socketId, JSON.stringify({ error: 'a notice needs a text' }));
  else send(BOARD, JSON.stringify({ user, notice }));
}

/** @param {number} socketId */
export function handleClose(socketId) {
  clearTimeout(ends.get(socketId));
  ends.delete(socketId);
}

/** @param {number} socketId */
function expire(socketId) {
  ends.delete(socketId);
  close(socketId, UNAUTHORIZED, 'session expired');
}

/** The timers of this worker's sockets, by socket id. @type {Map<number, NodeJS.Timeout>} */
const ends = new Map();

/** @param {import('millrace/http').Request} req */
function findUserOf(req) {
  const { user, password } = /** @type {Record<string, unknown>} */ (Object(req.json));
  return findUser(user, password);
}

/** @param {Record<string, string>} headers */
function shownToken({ authorization = '', cookie = '' }) {
  const bearer = /^Bearer (.+)$/i.exec(authorization);
  return (bearer ?? /(?:^|;\s*)session=([^;]*)/.exec(cookie))?.[1];
}

/** @param {string} user */
const channelOf = (user) => `user ${user}`;

const BOARD = 'board';
const COOKIE = 'session';
const COOKIE_OPTIONS = /** @type {const} */ ({ httpOnly: true, secure: true, sameSite: 'strict' });
// 4000 to 4999 are the application's own close codes.
const UNAUTHORIZED = 4401;
// A timer set for longer fires at once.
const LONGEST_TIMER = 2 ** 31 - 1;
const WRONG = { error: 'wrong name or password' };
const REFUSED = { status: 401, headers: { 'www-authenticate': 'Bearer' }, body: 'sign in first' };
