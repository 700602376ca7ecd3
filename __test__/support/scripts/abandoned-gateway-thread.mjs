// A thread that starts a gateway and does not stop it. The server of its backplane does not exist, so a message remains
// unsent, for which the gateway waits briefly at its end.
import { parentPort } from 'node:worker_threads';

import { createGateway } from '../millrace.mjs';

const gateway = createGateway();
const handlers = { handleTextMessage() {} };
await gateway.start({ bind: '127.0.0.1:0', threads: 0, ioThreads: 8, handlers, backplane: 'redis://127.0.0.1:1' });
gateway.send('nobody is subscribed', 'here');
parentPort.postMessage('started');
