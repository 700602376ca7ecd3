// Peer: WarpSocket, one worker, as many I/O threads as it chooses. It runs where the user has installed
// the package so that it can be resolved from here. It cannot report its port, so this program chooses one.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { start } from 'warpsocket';
import { handlerName, ready } from '../peer.mjs';

const probe = createServer().listen(0, '127.0.0.1');
await once(probe, 'listening');
const { port } = probe.address();
probe.close();
await once(probe, 'close');

await start({
  bind: `127.0.0.1:${port}`,
  workerPath: fileURLToPath(new URL('./worker.mjs', import.meta.url)),
  workerArg: { handler: handlerName },
  threads: 1,
});
ready(port);
