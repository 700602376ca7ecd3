// @ts-check
/**
 * The React example: `npx vite build examples/react`, then `node examples/react/server.mjs`, and open the address it prints.
 *
 * --port 3008        where it listens (or PORT); 0 picks a free one
 */
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { start } from 'millrace';

const { values } = parseArgs({ options: { port: { type: 'string', default: process.env.PORT ?? '3008' } } });
const built = new URL('./dist/', import.meta.url);

const server = await start({
  bind: `127.0.0.1:${values.port}`,
  // The pages do everything by the terms of the channels.
  handlers: {},
  channels: {
    'room:*': { history: { messages: 100, ageMs: 3_600_000 }, clients: { subscribe: true, publish: true } },
  },
  websocketPath: '/channels',
  // During development, the pages come from Vite.
  ...(existsSync(built) && { static: { directory: built, fallback: 'index.html' } }),
  origins: 'same-host',
  limits: { messageBytes: 4096, messagesPerSecond: 20 },
  stopOnSignals: true,
});
console.log(`React example: http://${server.addresses[0]}`);
