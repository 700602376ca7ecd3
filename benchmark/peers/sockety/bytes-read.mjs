// Counts the bytes that have been read from all sockets that servers of this process accepted.
import { subscribe } from 'node:diagnostics_channel';

const open = new Set();
let closed = 0;
let seen = false;
subscribe('net.server.socket', ({ socket }) => {
  seen = true;
  open.add(socket);
  socket.once('close', () => {
    open.delete(socket);
    closed += socket.bytesRead;
  });
});

/** The bytes since the process began, or null if Node has not accepted any socket. */
export function bytesRead() {
  return !seen ? null : [...open].reduce((sum, socket) => sum + socket.bytesRead, closed);
}
