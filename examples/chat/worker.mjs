// @ts-check
/**
 * The chat's worker: runs in each of Millrace's worker threads and answers what browsers send.
 *
 * A connection's whole state is its token, `{alias, room}` as JSON. A worker keeps nothing of its
 * own: when one dies, `handleClose` runs on another with the same token, and the room is told.
 */
import { MillraceError, send, setToken, subscribe, unsubscribe } from 'millrace';
import { problem, readRequest } from './protocol.mjs';
import { enter, history, leave, memberId, ROOM_SIZE, record, setPlace } from './rooms.mjs';

/** @typedef {{ alias: string, room: string }} Membership  who a connection is, and where */

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
  const request = readRequest(text);
  const membership = readToken(token);
  if (request.type === 'error') reply(socketId, request);
  else if (request.type === 'join') join(socketId, request, membership);
  else if (membership === undefined) reply(socketId, problem('not-joined', 'Join a room first.'));
  else if (request.type === 'message') say(socketId, request.body, membership);
  else broadcast(membership.room, { type: 'typing', from: memberId(socketId), alias: membership.alias }, socketId);
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
 * @param {number} socketId
 * @param {Membership} request
 * @param {Membership | undefined} membership where the connection was until now
 */
function join(socketId, { alias, room }, membership) {
  if (membership !== undefined) leaveRoom(socketId, membership);
  // The token goes first: whatever happens from here on, handleClose knows the room to tidy.
  if (!setMembership(socketId, JSON.stringify({ alias, room }))) return;
  // Subscribed before the list is read: what happens in between arrives twice, never not at all,
  // and the page knows the second by its version or id.
  subscribe(socketId, channelOf(room));
  const presence = enter(room, { id: memberId(socketId), alias });
  if (presence === undefined) {
    unsubscribe(socketId, channelOf(room));
    setMembership(socketId, NO_MEMBERSHIP);
    reply(socketId, problem('room-full', `This room has its ${ROOM_SIZE} members.`));
    return;
  }
  const { version, members } = presence;
  const [id, timestamp] = [memberId(socketId), Date.now()];
  reply(socketId, { type: 'joined', id, alias, room, members, version, history: history(room), timestamp });
  broadcast(room, { type: 'user-joined', id, alias, version, timestamp }, socketId);
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
 * @returns {boolean} false: the browser went away while its message waited here
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
const decoder = new TextDecoder();
