// Peer: the original implementation of Sockety, where it is installed, in one process.   --handler=sockety   --module=NAME
import { createServer as createPlainServer } from 'node:net';
import { option, ready } from '../peer.mjs';
import { bytesRead } from './bytes-read.mjs';
import { makeHandler } from './handler.mjs';

const api = await import(option('module'));
const { handler, countHeartbeat } = makeHandler(api, bytesRead);
const port = await freePort();
const server = api.createServer({}, (connection) => {
  // the original does not report heartbeats: count the bytes of its sockets instead
  connection.on('message', handler).on('heartbeat', countHeartbeat);
});
await server.listen(port, '127.0.0.1');
ready(port);

/** It cannot report the port that it got, so we choose one. */
function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createPlainServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
