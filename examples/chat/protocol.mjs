// @ts-check
/**
 * What clients may send, and the form of messages. This file checks input from the network. It has nothing to do with
 * sockets, and throws nothing but errors that the client may see.
 *
 * A room is a channel, `room:<name>`. What is published there is a line that a terminal can show as it is: the name in
 * angle brackets, a tab, and what was said. A name has no tab.
 *
 * @typedef {{ type: 'join', name: string, room: string } | { type: 'message', body: string }} Request  of a console
 */
import { CallError } from 'millrace';

/** Longest display name, in UTF-16 units. */
export const NAME_LENGTH = 24;
/** Longest room name, in UTF-16 units. */
export const ROOM_LENGTH = 32;
/** Longest message, in UTF-16 units. */
export const BODY_LENGTH = 2000;
/** Longest request: fits the longest message, with space for JSON's escapes. */
export const REQUEST_BYTES = 16 * 1024;

const PREFIX = 'room:';

/** @param {string} room */
export function channelOf(room) {
  return PREFIX + room;
}

/**
 * The room of a channel to which a page wants to subscribe.
 * @param {import('millrace').Name} channel bytes, if it is not UTF-8
 */
export function roomOf(channel) {
  const name = typeof channel === 'string' ? channel.slice(PREFIX.length) : undefined;
  const room = readRoom(name);
  // One room has one name: the page writes it in the same way.
  if (room !== name) throw new CallError('bad-room', BAD_ROOM);
  return room;
}

/**
 * @param {string} name
 * @param {string} body
 * @returns {string} what is published
 */
export function lineOf(name, body) {
  return `<${name}>\t${body}`;
}

/** @param {string | Uint8Array} text what a client sent @returns {any} */
export function readJson(text) {
  try {
    return JSON.parse(String(text));
  } catch {
    throw new CallError('bad-json', 'That was not JSON.');
  }
}

/** @param {string} text what a console sent @returns {Request} */
export function readRequest(text) {
  const value = readJson(text);
  switch (value?.type) {
    case 'join':
      return { type: 'join', name: readName(value.name), room: readRoom(value.room) };
    case 'message':
      return { type: 'message', body: readBody(value.body) };
    default:
      throw new CallError('bad-type', 'The type must be "join" or "message".');
  }
}

/**
 * A name is shown beside other users' messages: it must have no line breaks, and no marks that reverse the direction of
 * the text after it.
 * @param {unknown} value
 */
export function readName(value) {
  const name = String(typeof value === 'string' ? value : '')
    .replace(DIRECTION_MARKS, '')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .normalize('NFC');
  if (name !== '' && name.length <= NAME_LENGTH) return name;
  throw new CallError('bad-name', `A name has 1 to ${NAME_LENGTH} characters.`);
}

/** @param {unknown} value */
export function readRoom(value) {
  const room = typeof value === 'string' ? value.trim().normalize('NFC').toLowerCase() : '';
  if (ROOM.test(room) && room.length <= ROOM_LENGTH) return room;
  throw new CallError('bad-room', BAD_ROOM);
}

/**
 * Nothing in a message can control a terminal that shows it.
 * @param {unknown} value
 */
export function readBody(value) {
  const text = typeof value === 'string' ? value : '';
  const body = text
    .replace(/[\u2028\u2029]/g, '\n')
    .replace(DIRECTION_MARKS, '')
    .replace(CONTROLS, '')
    .trim();
  if (body !== '' && body.length <= BODY_LENGTH) return body;
  throw new CallError('bad-body', `A message has 1 to ${BODY_LENGTH} characters.`);
}

const BAD_ROOM = `A room has 1 to ${ROOM_LENGTH} letters, digits, "-" or "_".`;
const ROOM = /^[\p{L}\p{N}][\p{L}\p{M}\p{N}_-]*$/u;
const DIRECTION_MARKS = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
// Line breaks and tabs stay: a message may have several lines.
const CONTROLS = /(?![\n\t])\p{Cc}/gu;
