// Peer: WarpSocket, one worker, as many I/O threads as it chooses. It runs where the user has installed
// the package so that it can be resolved from here, or with --package=FOLDER. It cannot tell which port it got: one is
// chosen.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { handlerName, option, ready } from '../peer.mjs';
import { load } from './load.mjs';

const probe = createServer().listen(0, '127.0.0.1');
await once(probe, 'listening');
const { port } = probe.address();
probe.close();
await once(probe, 'close');

const { start } = await load(option('package'));
await start({
  bind: `127.0.0.1:${port}`,
  workerPath: fileURLToPath(new URL('./worker.mjs', import.meta.url)),
  workerArg: { handler: handlerName, folder: option('package') },
  threads: 1,
});
ready(port);
