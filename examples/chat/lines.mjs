// @ts-check
/** The chat as lines of plain text, for `nc`: parses the lines of a client. Has nothing to do with sockets. */
import { readBody, readName, readRoom } from './protocol.mjs';

export const GREETING = 'Welcome to the chat. What is your name?';

/** The room that a new client joins. */
const FIRST_ROOM = 'lobby';

/**
 * @param {string} line
 * @param {{ name?: string | undefined }} membership nobody without a name has joined
 * @returns {import('./protocol.mjs').Request | { type: 'quit' } | { type: 'nothing' }}
 */
export function readLine(line, { name }) {
  const [, command, argument = ''] = /^\/(join|quit)\b\s*(.*)$/.exec(line) ?? [];
  if (command === 'quit') return { type: 'quit' };
  if (line.trim() === '') return { type: 'nothing' };
  if (name === undefined) return { type: 'join', name: readName(line), room: FIRST_ROOM };
  if (command === 'join') return { type: 'join', name, room: readRoom(argument) };
  return { type: 'message', body: readBody(line) };
}
