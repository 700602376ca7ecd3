// A thread of threads-that-end.mjs.
import { parentPort } from 'node:worker_threads';

import { createGateway } from '../millrace.mjs';

let told = false;
const gateway = createGateway();
const handlers = {
  handleTextMessage(_text, socketId) {
    gateway.send(socketId, 'answered');
    if (!told) parentPort.postMessage('woken');
    told = true;
  },
};
const server = await gateway.start({ bind: '127.0.0.1:0', ioThreads: 1, handlers });
parentPort.on('message', async (end) => {
  if (end === 'exit') process.exit(0);
  await server.stop({ drain: 0 });
  // in Deno, it is the thread's own function
  if (parentPort.close === undefined) globalThis.close();
  else parentPort.close();
});
parentPort.postMessage(Number(server.addresses[0].split(':').at(-1)));
