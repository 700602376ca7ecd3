// @ts-check
/**
 * The chat's worker: runs in each of Millrace's worker threads and answers what browsers, consoles and `nc` send.
 *
 * A connection's whole state is its token, `{alias, room, lines}`. A worker keeps no state of its own: when one dies,
 * `handleClose` runs on another with the same token, and the room is notified.
 */
import { close, MillraceError, send, setToken, subscribe, unsubscribe } from 'millrace';
import { FastReply, ResponseDraft } from 'millrace/sockety';
import { GREETING, linesOf, readLine } from './lines.mjs';
import { problem, REQUEST_BYTES, readRequest } from './protocol.mjs';
import { enter, history, leave, memberId, ROOM_SIZE, record, setPlace } from './rooms.mjs';

/**
 * @typedef {{ alias?: string | undefined, room?: string | undefined, lines?: boolean | undefined }} Membership
 *   the name and room of a connection that has joined, and whether it reads lines instead of JSON
 * @typedef {Membership & { alias: string, room: string }} Member  one that has joined
 * @typedef {{ membership?: Membership | undefined, problem?: import('./protocol.mjs').Problem }} Outcome
 *   the room after a request, and why the request was refused
 */

/** @param {{ node: number, nodes: number }} place which node of how many this is */
export function handleStart(place) {
  setPlace(place);
}

/**
 * A client of raw TCP is a terminal.
 * @param {number} socketId
 * @param {string} _ip
 * @param {Record<string, string>} _headers
 * @param {import('millrace').OpenRequest} request
 */
export function handleOpen(socketId, _ip, _headers, { transport }) {
  if (transport !== 'tcp') return true;
  send(socketId, GREETING);
  return { token: { lines: true } };
}

/**
 * @param {string} text
 * @param {number} socketId
 * @param {Membership} [membership] the token
 */
export function handleTextMessage(text, socketId, membership) {
  const request = membership?.lines ? readLine(text, membership) : readRequest(text);
  if (request.type === 'nothing') return;
  if (request.type === 'quit') {
    close(socketId);
    return;
  }
  const { problem } = perform(request, socketId, membership);
  if (problem !== undefined) reply(socketId, problem, membership);
}

/**
 * A console's request: a message with the action `chat`, and as its data the text that a browser would send. Its answer
 * is `FastReply.Accept`, or a response with the problem; events in the room arrive as publications, as in browsers.
 *
 * The next message of a connection may arrive before the data of the previous one is complete, with the token of that
 * time. So each message waits for the previous one, which tells it the room of the connection.
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
  // A message whose data is incomplete is not a request.
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
 * @param {Membership} [membership] the token
 */
export function handleBinaryMessage(_data, socketId, membership) {
  reply(socketId, problem('bad-json', 'Send text.'), membership);
}

/**
 * @param {number} socketId already gone: nothing can be sent to it
 * @param {Membership} [membership] the token
 */
export function handleClose(socketId, membership) {
  if (hasJoined(membership)) leaveRoom(socketId, membership);
}

/**
 * Handles a request of a browser or a console.
 * @param {import('./protocol.mjs').Request | import('./protocol.mjs').Problem} request
 * @param {number} socketId
 * @param {Membership | undefined} membership
 * @returns {Outcome}
 */
function perform(request, socketId, membership) {
  if (request.type === 'error') return { membership, problem: request };
  if (request.type === 'join') return join(socketId, request, membership);
  if (!hasJoined(membership)) return { membership, problem: problem('not-joined', 'Join a room first.') };
  if (request.type === 'message') say(socketId, request.body, membership);
  else broadcast(membership.room, { type: 'typing', from: memberId(socketId), alias: membership.alias }, socketId);
  return { membership };
}

/**
 * @param {number} socketId
 * @param {{ alias: string, room: string }} request
 * @param {Membership | undefined} before where the connection was until now
 * @returns {Outcome}
 */
function join(socketId, { alias, room }, before) {
  if (hasJoined(before)) leaveRoom(socketId, before);
  const membership = { alias, room, lines: before?.lines };
  // Set the token first: whatever happens next, handleClose knows the room to leave.
  if (!setMembership(socketId, membership)) return {};
  // Subscribe before reading the list: events in between arrive twice and never get lost, and the page detects
  // duplicates by their version or id.
  subscribe(socketId, channelOf(room, membership));
  const presence = enter(room, { id: memberId(socketId), alias });
  if (presence === undefined) {
    unsubscribe(socketId, channelOf(room, membership));
    const nowhere = { lines: membership.lines };
    setMembership(socketId, nowhere);
    return { membership: nowhere, problem: problem('room-full', `This room has its ${ROOM_SIZE} members.`) };
  }
  const { version, members } = presence;
  const [id, timestamp] = [memberId(socketId), Date.now()];
  const joined = { type: 'joined', id, alias, room, members, version, history: history(room), timestamp };
  reply(socketId, joined, membership);
  broadcast(room, { type: 'user-joined', id, alias, version, timestamp }, socketId);
  return { membership };
}

/**
 * @param {number} socketId
 * @param {string} body
 * @param {Member} member
 */
function say(socketId, body, { alias, room, lines }) {
  const message = { type: 'chat-message', ...record(room, { from: memberId(socketId), alias, body }) };
  // A page shows its own messages when they come back; a terminal already shows the typed line.
  broadcast(room, message, undefined, lines ? socketId : undefined);
}

/**
 * @param {number} socketId
 * @param {Member} member
 */
function leaveRoom(socketId, member) {
  const { alias, room } = member;
  unsubscribe(socketId, channelOf(room, member));
  const id = memberId(socketId);
  const version = leave(room, id);
  if (version === undefined) return;
  broadcast(room, { type: 'user-left', id, alias, version, timestamp: Date.now() });
}

/**
 * @param {number} socketId
 * @param {Membership} membership
 * @returns {boolean} false: the client went away while its message waited here
 */
function setMembership(socketId, membership) {
  try {
    setToken(socketId, membership);
    return true;
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'ERR_MILLRACE_SOCKET_NOT_FOUND') return false;
    throw error;
  }
}

/**
 * @param {number} socketId
 * @param {object} message
 * @param {Membership | undefined} membership
 */
function reply(socketId, message, membership) {
  if (membership?.lines) for (const line of linesOf(message)) send(socketId, line);
  else send(socketId, JSON.stringify(message));
}

/**
 * Each room has two channels, one for each form of its messages: JSON and lines.
 * @param {string} room
 * @param {object} message
 * @param {number} [except]
 * @param {number} [exceptOfLines]
 */
function broadcast(room, message, except, exceptOfLines = except) {
  send(channelOf(room), JSON.stringify({ ...message, room }), except === undefined ? undefined : { except });
  const options = exceptOfLines === undefined ? undefined : { except: exceptOfLines };
  for (const line of linesOf(message)) send(channelOf(room, { lines: true }), line, options);
}

/**
 * @param {string} room
 * @param {Membership} [membership] for whom it is
 */
function channelOf(room, membership) {
  return `${membership?.lines ? 'chat-lines' : 'chat'}/${room}`;
}

/** @param {Membership | undefined} membership @returns {membership is Member} */
function hasJoined(membership) {
  return membership?.alias !== undefined;
}

const refusal = new ResponseDraft().data();
/**
 * The room of each console after its last request. A connection never changes its worker.
 * @type {WeakMap<import('millrace/sockety').Connection, Promise<Membership | undefined>>}
 */
const consoles = new WeakMap();
