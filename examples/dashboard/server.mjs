// @ts-check
/**
 * The dashboard example: `node examples/dashboard/server.mjs`, then open the address it prints. A page watches five
 * servers over one connection, and can restart each of them.
 *
 * --port 3004        where the page is served (or PORT); 0 picks a free one
 * --splice-port 3005 where the page connects; 0 picks a free one
 * --every 500        milliseconds between two figures of a source
 * --away 3000        milliseconds that a source is away when it is restarted
 */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { start } from 'millrace';
import { startSources } from './sources.mjs';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: process.env.PORT ?? '3004' },
    'splice-port': { type: 'string', default: '3005' },
    every: { type: 'string', default: '500' },
    away: { type: 'string', default: '3000' },
  },
});

const sources = await startSources(Number(values.every));
// a single file that a browser can load directly
const client = await readFile(new URL(import.meta.resolve('millrace/splice-client')));

/** The address for sessions; known once the listener is open. */
let splicePort = '';

/** @type {import('millrace').WorkerModule} */
const handlers = {
  handleOpen(_socketId, _ip, _headers, { transport, path }) {
    // sessions, and the WebSocket that they open within this gateway
    return transport === 'splice' || path === '/restart';
  },

  /** The targets of a page: five names whose addresses only this program knows, and the socket for restarts. */
  handleSpliceConnect(url) {
    if (url === 'millrace:/restart') return true;
    return sources.find(({ name }) => url === `ws://sources/${name}`)?.url ?? false;
  },

  /** A page asks for a restart of a source. */
  handleTextMessage(name) {
    const source = sources.find((one) => one.name === name && one.url !== undefined);
    source?.stop();
    if (source !== undefined) setTimeout(() => stopping || source.start(), Number(values.away)).unref();
  },

  fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === '/splice-client.mjs') {
      return new Response(client, { headers: { 'Content-Type': 'text/javascript; charset=utf-8' } });
    }
    if (pathname === '/dashboard.json') {
      return Response.json({ port: splicePort, sources: sources.map(({ name, unit }) => ({ name, unit })) });
    }
    return new Response('not found', { status: 404 });
  },
};

const page = await start({
  bind: { address: `127.0.0.1:${values.port}`, static: fileURLToPath(new URL('public', import.meta.url)), origins: [] },
  handlers,
  stopOnSignals: true,
  onError: (error) => console.error(error),
});
const port = page.addresses[0]?.split(':')[1];
const splice = await start({
  bind: {
    address: `127.0.0.1:${values['splice-port']}`,
    protocol: 'splice',
    // the origin of the page, which is on another port
    origins: [`http://localhost:${port}`, `http://127.0.0.1:${port}`],
    // handleSpliceConnect decides about targets, and these sources are on this machine
    privateTargets: true,
    localTargets: true,
  },
  handlers,
  stopOnSignals: true,
});
splicePort = splice.addresses[0]?.split(':')[1] ?? '';
console.log(`Dashboard example: http://localhost:${port}`);

let stopping = false;
page.stopped.then(() => {
  stopping = true;
  for (const source of sources) source.stop();
});
