// @ts-check
/**
 * The SharedWorker example: `node examples/shared-worker/server.mjs`, then open the address it prints, in several tabs.
 *
 * --port 3017        where it listens (or PORT); 0 picks a free one
 */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { start } from 'millrace';

const { values } = parseArgs({ options: { port: { type: 'string', default: process.env.PORT ?? '3017' } } });

// a single file that a browser can load directly
const client = await readFile(new URL(import.meta.resolve('millrace/client')));

/** @type {import('millrace').WorkerModule} */
const handlers = {
  fetch(request) {
    if (new URL(request.url).pathname !== '/client.mjs') return new Response('not found', { status: 404 });
    return new Response(client, { headers: { 'Content-Type': 'text/javascript; charset=utf-8' } });
  },
};

const server = await start({
  bind: `127.0.0.1:${values.port}`,
  handlers,
  // what pages may do; no handler sees their messages
  channels: {
    notes: { history: { messages: 50, ageMs: 3_600_000 }, clients: { subscribe: true, publish: true } },
  },
  websocketPath: '/channels',
  static: fileURLToPath(new URL('public', import.meta.url)),
  origins: 'same-host',
  limits: { messageBytes: 4096, messagesPerSecond: 20 },
  stopOnSignals: true,
});
console.log(`SharedWorker example: http://${server.addresses[0]}`);
