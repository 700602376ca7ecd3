// @ts-check
/**
 * The Next example: `npm run build`, then `npm start`, and open the address it prints.
 *
 * --port 3010        where it listens (or PORT); 0 picks a free one
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { send, start, subscribe } from 'millrace';
import { nodeHandler } from 'millrace/node';
import { announcements } from './announcements.mjs';

const { values } = parseArgs({ options: { port: { type: 'string', default: process.env.PORT ?? '3010' } } });

// Next.js and React read NODE_ENV when they are loaded, so they are imported after it is set.
process.env.NODE_ENV = 'production';
const { default: next } = await import('next');
const app = next({ dir: fileURLToPath(new URL('.', import.meta.url)) });
await app.prepare();
const server = await start({
  bind: `127.0.0.1:${values.port}`,
  // Next.js answers requests on this thread, which also handles the sockets.
  handlers: {
    ...nodeHandler(app.getRequestHandler()),
    handleOpen(socketId) {
      subscribe(socketId, 'announcements');
      send(socketId, JSON.stringify(announcements()));
    },
  },
  websocketPath: '/socket',
  origins: 'same-host',
  stopOnSignals: true,
});
console.log(`Next example: http://${server.addresses[0]}`);

await server.stopped;
await app.close();
