// @ts-check
/**
 * The shared document: `npx vite build examples/shared-document`, then `node examples/shared-document/server.mjs`, and open
 * the address it prints in two windows.
 *
 * --port 3018        where it listens (or PORT); 0 picks a free one
 * --history 500      how many updates of a document are kept for pages that come back
 */
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { start } from 'millrace';
import { STATE_BYTES } from './documents.mjs';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: process.env.PORT ?? '3018' },
    history: { type: 'string', default: '500' },
  },
});
const built = new URL('./dist/', import.meta.url);
const HEADERS = {
  'content-security-policy':
    "default-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
};

const server = await start({
  bind: `127.0.0.1:${values.port}`,
  workerPath: new URL('./worker.mjs', import.meta.url),
  channels: {
    // Updates are publications, and a page's cursor is what it says of itself as a member.
    'document:*': {
      history: { messages: Number(values.history), ageMs: 60 * 60 * 1000 },
      presence: true,
      clients: { subscribe: true, publish: true, info: true },
    },
  },
  websocketPath: '/channels',
  // During development, the pages come from Vite.
  ...(existsSync(built) && { static: { directory: built, headers: HEADERS } }),
  origins: 'same-host',
  // A page that brings a whole document back sends it in one message, with a header.
  limits: { messageBytes: STATE_BYTES + 8 * 1024, messagesPerSecond: 50 },
  stopOnSignals: true,
  onError: (error) => console.error(error),
});
console.log(`Shared document: http://${server.addresses[0]}`);
