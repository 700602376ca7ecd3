// @ts-check
/**
 * The chat's worker: runs in each of Millrace's worker threads and answers what browsers and consoles send.
 *
 * A connection's whole state is its token, `{alias, room}` as JSON. A worker keeps nothing of its
 * own: when one dies, `handleClose` runs on another with the same token, and the room is told.
 */
import { MillraceError, send, setToken, subscribe, unsubscribe } from 'millrace';
import { FastReply, ResponseDraft } from 'millrace/sockety';
import { problem, REQUEST_BYTES, readRequest } from './protocol.mjs';
import { enter, history, leave, memberId, ROOM_SIZE, record, setPlace } from './rooms.mjs';

/**
 * @typedef {{ alias: string, room: string }} Membership  who a connection is, and where
 * @typedef {{ membership?: Membership | undefined, problem?: import('./protocol.mjs').Problem }} Outcome
 *   where it is after a request, and why the request was refused
 */

/** @param {{ node: number, nodes: number }} place which node of how many this is */
export function handleStart(place) {
  setPlace(place);
}

/**
 * @param {string} text
 * @param {number} socketId
 * @param {Uint8Array} [token]
 */
export function handleTextMessage(text, socketId, token) {
  const { problem } = perform(readRequest(text), socketId, readToken(token));
  if (problem !== undefined) reply(socketId, problem);
}

/**
 * A console's request: a message with the action `chat`, and as its data the text that a browser would send. Its answer is
 * `FastReply.Accept`, or a response with the problem; what happens in the room comes as publications, as it does to browsers.
 *
 * The next message of a connection may come before the data of one is complete, with the token of that time. So each waits
 * for the one before it, and is told by it where the connection is.
 * @param {import('millrace/sockety').Message} message
 * @param {number} socketId
 */
export async function handleSocketyMessage(message, socketId) {
  const { action, connection, dataSize } = message;
  if (action !== 'chat') return message.fastReply(FastReply.NotImplemented);
  if (dataSize > REQUEST_BYTES) {
    message.respond(refusal({ data: JSON.stringify(problem('too-long', `Send at most ${REQUEST_BYTES} bytes.`)) }));
    return;
  }
  const before = consoles.get(connection) ?? Promise.resolve(undefined);
  const outcome = Promise.all([message.dataBuffer(), before]).then(([data, membership]) =>
    perform(readRequest(data.toString()), socketId, membership),
  );
  // Without all of its data nothing was asked.
  consoles.set(
    connection,
    outcome.then(
      ({ membership }) => membership,
      () => before,
    ),
  );
  const { problem: refused } = await outcome;
  if (refused === undefined) message.accept();
  else message.respond(refusal({ data: JSON.stringify(refused) }));
}

/**
 * @param {Uint8Array} _data
 * @param {number} socketId
 */
export function handleBinaryMessage(_data, socketId) {
  reply(socketId, problem('bad-json', 'Send text.'));
}

/**
 * @param {number} socketId already gone: nothing can be sent to it
 * @param {Uint8Array} [token]
 */
export function handleClose(socketId, token) {
  const membership = readToken(token);
  if (membership !== undefined) leaveRoom(socketId, membership);
}

/**
 * Does what a browser or a console asks for.
 * @param {import('./protocol.mjs').Request | import('./protocol.mjs').Problem} request
 * @param {number} socketId
 * @param {Membership | undefined} membership
 * @returns {Outcome}
 */
function perform(request, socketId, membership) {
  if (request.type === 'error') return { membership, problem: request };
  if (request.type === 'join') return join(socketId, request, membership);
  if (membership === undefined) return { problem: problem('not-joined', 'Join a room first.') };
  if (request.type === 'message') say(socketId, request.body, membership);
  else broadcast(membership.room, { type: 'typing', from: memberId(socketId), alias: membership.alias }, socketId);
  return { membership };
}

/**
 * @param {number} socketId
 * @param {Membership} request
 * @param {Membership | undefined} membership where the connection was until now
 * @returns {Outcome}
 */
function join(socketId, { alias, room }, membership) {
  if (membership !== undefined) leaveRoom(socketId, membership);
  // The token goes first: whatever happens from here on, handleClose knows the room to tidy.
  if (!setMembership(socketId, JSON.stringify({ alias, room }))) return {};
  // Subscribed before the list is read: what happens in between arrives twice, never not at all,
  // and the page knows the second by its version or id.
  subscribe(socketId, channelOf(room));
  const presence = enter(room, { id: memberId(socketId), alias });
  if (presence === undefined) {
    unsubscribe(socketId, channelOf(room));
    setMembership(socketId, NO_MEMBERSHIP);
    return { problem: problem('room-full', `This room has its ${ROOM_SIZE} members.`) };
  }
  const { version, members } = presence;
  const [id, timestamp] = [memberId(socketId), Date.now()];
  reply(socketId, { type: 'joined', id, alias, room, members, version, history: history(room), timestamp });
  broadcast(room, { type: 'user-joined', id, alias, version, timestamp }, socketId);
  return { membership: { alias, room } };
}

/**
 * @param {number} socketId
 * @param {string} body
 * @param {Membership} membership
 */
function say(socketId, body, { alias, room }) {
  broadcast(room, { type: 'chat-message', ...record(room, { from: memberId(socketId), alias, body }) });
}

/**
 * @param {number} socketId
 * @param {Membership} membership
 */
function leaveRoom(socketId, { alias, room }) {
  unsubscribe(socketId, channelOf(room));
  const id = memberId(socketId);
  const version = leave(room, id);
  if (version === undefined) return;
  broadcast(room, { type: 'user-left', id, alias, version, timestamp: Date.now() });
}

/**
 * @param {number} socketId
 * @param {string} token
 * @returns {boolean} false: the client went away while its message waited here
 */
function setMembership(socketId, token) {
  try {
    setToken(socketId, token);
    return true;
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'ERR_MILLRACE_SOCKET_NOT_FOUND') return false;
    throw error;
  }
}

/**
 * @param {number} socketId
 * @param {object} message
 */
function reply(socketId, message) {
  send(socketId, JSON.stringify(message));
}

/**
 * @param {string} room
 * @param {object} message
 * @param {number} [except]
 */
function broadcast(room, message, except) {
  send(channelOf(room), JSON.stringify({ ...message, room }), except === undefined ? undefined : { except });
}

/** @param {string} room */
function channelOf(room) {
  return `chat/${room}`;
}

/** @param {Uint8Array} [token] @returns {Membership | undefined} */
function readToken(token) {
  return token?.length ? JSON.parse(decoder.decode(token)) : undefined;
}

const NO_MEMBERSHIP = '';
const refusal = new ResponseDraft().data();
/**
 * Where each console is once its last request is done. A connection never changes its worker.
 * @type {WeakMap<import('millrace/sockety').Connection, Promise<Membership | undefined>>}
 */
const consoles = new WeakMap();
const decoder = new TextDecoder();
