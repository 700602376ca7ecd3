// @ts-check
/**
 * Who a connection is: its token. Pages are told by the gateway who comes and goes; terminals do not speak its protocol,
 * so they are told here, in a channel of their own beside that of the room.
 *
 * @typedef {{ name?: string, room?: string, tab?: string, lines?: boolean }} Membership
 *   `tab` is a page's, the same after a lost connection; `lines`: it reads lines, as `nc` does
 */
import { MillraceError, send, setToken } from 'millrace';

/** @param {string} room */
export function noticesOf(room) {
  return `notices:${room}`;
}

/**
 * @param {number} socketId
 * @param {Membership | undefined} before
 * @param {Membership} now
 * @returns {boolean} false: the client went away while its request waited here
 */
export function become(socketId, before, now) {
  try {
    setToken(socketId, now);
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'ERR_MILLRACE_SOCKET_NOT_FOUND') return false;
    throw error;
  }
  // A page that is back after a lost connection has another socket, which joins.
  if (before?.room === now.room && before?.name === now.name) return true;
  depart(before);
  if (now.room !== undefined) send(noticesOf(now.room), `* ${now.name} joined`, { except: socketId });
  return true;
}

/** @param {Membership | undefined} membership of a connection that is gone, or is in another room now */
export function depart(membership) {
  if (membership?.room !== undefined) send(noticesOf(membership.room), `* ${membership.name} left`);
}
