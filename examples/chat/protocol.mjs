// @ts-check
/**
 * The chat's own protocol: JSON texts, over WebSocket or as the data of Sockety's messages. This file checks the
 * requests of clients. It has nothing to do with sockets or rooms, and never throws.
 *
 * From a client:  {type: 'join', alias, room}   {type: 'message', body}   {type: 'typing'}
 * To a client:    joined, user-joined, user-left, chat-message, typing, error
 *
 * @typedef {{ id: number, alias: string }} Member  the id is the member's socket id
 * @typedef {{ id: number, from: number, alias: string, body: string, timestamp: number }} Message
 * @typedef {{ type: 'join', alias: string, room: string }
 *   | { type: 'message', body: string }
 *   | { type: 'typing' }} Request
 * @typedef {{ type: 'error', code: string, message: string }} Problem
 */

/** Longest display name, in UTF-16 units. */
export const ALIAS_LENGTH = 24;
/** Longest room name, in UTF-16 units. */
export const ROOM_LENGTH = 32;
/** Longest message, in UTF-16 units. */
export const BODY_LENGTH = 2000;
/** Longest request: fits the longest message, with space for JSON's escapes. */
export const REQUEST_BYTES = 16 * 1024;

/**
 * @param {string} text what the client sent
 * @returns {Request | Problem}
 */
export function readRequest(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    return problem('bad-json', 'That was not JSON.');
  }
  switch (value?.type) {
    case 'join':
      return readJoin(value);
    case 'message':
      return readMessage(value);
    case 'typing':
      return { type: 'typing' };
    default:
      return problem('bad-type', 'The type must be "join", "message" or "typing".');
  }
}

/**
 * @param {string} code what a program can act on
 * @param {string} message what a person can read
 * @returns {Problem}
 */
export function problem(code, message) {
  return { type: 'error', code, message };
}

/** @param {{ alias?: unknown, room?: unknown }} value @returns {Request | Problem} */
function readJoin(value) {
  const alias = typeof value.alias === 'string' ? oneLine(value.alias) : '';
  if (alias === '' || alias.length > ALIAS_LENGTH) {
    return problem('bad-alias', `A name has 1 to ${ALIAS_LENGTH} characters.`);
  }
  const room = typeof value.room === 'string' ? value.room.trim().normalize('NFC').toLowerCase() : '';
  if (!ROOM.test(room) || room.length > ROOM_LENGTH) {
    return problem('bad-room', `A room has 1 to ${ROOM_LENGTH} letters, digits, "-" or "_".`);
  }
  return { type: 'join', alias, room };
}

/** @param {{ body?: unknown }} value @returns {Request | Problem} */
function readMessage(value) {
  const body = typeof value.body === 'string' ? value.body.replace(CONTROLS, '').trim() : '';
  if (body === '' || body.length > BODY_LENGTH) {
    return problem('bad-body', `A message has 1 to ${BODY_LENGTH} characters.`);
  }
  return { type: 'message', body };
}

/**
 * A name is shown beside other users' messages: it must have no line breaks, and no marks that reverse the direction of
 * the text after it.
 * @param {string} text
 */
function oneLine(text) {
  return text
    .replace(DIRECTION_MARKS, '')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .normalize('NFC');
}

const ROOM = /^[\p{L}\p{N}][\p{L}\p{M}\p{N}_-]*$/u;
const DIRECTION_MARKS = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
// Line breaks and tabs stay: a message may have several lines.
const CONTROLS = /(?![\n\t])\p{Cc}/gu;
