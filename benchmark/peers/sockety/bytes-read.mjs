// Counts what all sockets that servers of this process accepted have read.
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

/** Bytes since the process began; null: it accepted none that Node knows of. */
export function bytesRead() {
  return !seen ? null : [...open].reduce((sum, socket) => sum + socket.bytesRead, closed);
}
