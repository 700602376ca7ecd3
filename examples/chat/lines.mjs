// @ts-check
/**
 * The chat as lines of plain text, for `nc`: parses the lines of a client, and formats a room's events as lines. Has
 * nothing to do with sockets; protocol.mjs checks the requests, as for all clients.
 */
import { readRequest } from './protocol.mjs';

export const GREETING = 'Welcome to the chat. What is your name?';

/** The room that a new client joins. */
const FIRST_ROOM = 'lobby';

/** Control characters and bidirectional marks. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/**
 * @param {string} line
 * @param {{ alias?: string | undefined }} membership nobody without a name has joined
 * @returns {import('./protocol.mjs').Request | import('./protocol.mjs').Problem | { type: 'quit' } | { type: 'nothing' }}
 */
export function readLine(line, { alias }) {
  const [, command, argument = ''] = /^\/(join|quit)\b\s*(.*)$/.exec(line) ?? [];
  if (command === 'quit') return { type: 'quit' };
  if (line.trim() === '') return { type: 'nothing' };
  if (alias === undefined) return asRequest({ type: 'join', alias: line, room: FIRST_ROOM });
  if (command === 'join') return asRequest({ type: 'join', alias, room: argument });
  return asRequest({ type: 'message', body: line });
}

/** @param {object} request */
function asRequest(request) {
  return readRequest(JSON.stringify(request));
}

/**
 * The line for a message that a page would get.
 * @param {any} event
 * @returns {string[]} no lines: nothing is shown
 */
export function linesOf(event) {
  switch (event.type) {
    case 'chat-message':
      return [printable(`<${event.alias}> ${event.body}`)];
    case 'user-joined':
      return [printable(`* ${event.alias} joined`)];
    case 'user-left':
      return [printable(`* ${event.alias} left`)];
    case 'joined':
      return welcome(event);
    case 'error':
      return [printable(`! ${event.message}`)];
    default:
      return [];
  }
}

/** @param {any} joined */
function welcome({ id, alias, room, members, history }) {
  const others = members.filter((/** @type {{ id: number }} */ member) => member.id !== id);
  const names = others.map((/** @type {{ alias: string }} */ member) => member.alias).join(', ');
  const said = history.flatMap((/** @type {object} */ message) => linesOf({ type: 'chat-message', ...message }));
  return [...said, printable(`* You are ${alias} in ${room}, ${names === '' ? 'alone' : `with ${names}`}.`)];
}

/**
 * A single line without control characters: line ends in it would become spaces anyway.
 * @param {string} text
 */
function printable(text) {
  return text.replace(/[\t\n]/g, ' ').replace(UNPRINTABLE, '\ufffd');
}
