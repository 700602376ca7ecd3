// Servers of millrace/tcp for tests, and clients of node:net.
import net from 'node:net';

import { within } from './deadline.mjs';
import { createServer } from './millrace-tcp.mjs';
import { TcpClient } from './tcp.mjs';

/** A server with these callbacks on a free port, which is closed with the test; `join` connects to it. */
export async function serve(t, callbacks, options, port = 0) {
  const server = createServer(options);
  const errors = [];
  server.onError = (error, connection) => errors.push({ error, connection });
  Object.assign(server, callbacks);
  await server.listen(port, '127.0.0.1');
  t.teardown(() => server.close());
  const address = `127.0.0.1:${server.port}`;
  return { server, errors, address, join: (more) => TcpClient.connect(t, address, more) };
}

/** A socket that is paused at first. */
export async function stalled(t, { port }) {
  const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  t.teardown(() => socket.destroy());
  socket.on('error', () => {});
  await within(new Promise((resolve) => socket.once('connect', resolve)), 'a connection');
  socket.pause();
  return socket;
}

/** Resolves with all data until the end. */
export async function drained(socket) {
  const parts = [];
  socket.on('data', (bytes) => parts.push(bytes)).resume();
  const ended = new Promise((resolve) => socket.once('end', resolve).once('close', resolve));
  await within(ended, () => `the end, after ${parts.length} parts`);
  return Buffer.concat(parts);
}

/** Callbacks that echo. */
export const echo = {
  onData(connection) {
    connection.write(connection.buffer);
    connection.buffer = '';
  },
};

/** A function that writes as much of the remaining bytes as the connection accepts. */
export function writer(bytes) {
  let rest = bytes;
  return (connection) => {
    const taken = connection.write(rest);
    rest = rest.subarray(Math.max(0, taken));
    return taken;
  };
}
