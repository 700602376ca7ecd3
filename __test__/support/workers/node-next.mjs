// A built app of Next.js as a worker module, unchanged, and the same handler on `node:http`, whose address is the
// answer to `/reference`.
import { createServer } from 'node:http';

import next from 'next';

import { nodeHandler } from '../millrace-node.mjs';

let handle;
let plain;

/** `folder` is that of the app. */
export async function handleStart(folder) {
  const app = next({ dev: false, dir: folder });
  await app.prepare();
  handle = app.getRequestHandler();
  plain = createServer((req, res) => handle(req, res)).listen(0, '127.0.0.1');
  plain.unref();
}

export default nodeHandler((req, res) => {
  if (req.url === '/reference') return void res.end(`127.0.0.1:${plain.address().port}`);
  return handle(req, res);
});

/** Closes the server of `node:http`, which Millrace does not know. */
export function handleStop() {
  plain.closeAllConnections();
  plain.close();
}
