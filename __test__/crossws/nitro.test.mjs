// An app of Nitro 3 with the files of docs/crossws.md, built by Nitro and run from a folder of its own, with the packed
// packages.
import { mkdirSync, mkdtempSync, renameSync, symlinkSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'ava';

import { pack } from '../../scripts/pack.mjs';
import { handshake } from '../support/http.mjs';
import { project, runIn, serve, writeFiles } from '../support/installed.mjs';
import { fileOf, ROOT } from '../support/markdown.mjs';
import { remove, removeWith } from '../support/teardown.mjs';
import { connect } from '../support/ws-client.mjs';

const PAGE = 'docs/crossws.md';
const ENTRY = 'millrace.entry.mjs';

const ROUTES = {
  'index.mjs': `
import { defineHandler } from 'nitro/deps/h3';
export default defineHandler((event) => 'a page, asked for by ' + event.req.headers.get('user-agent'));
`,
  '_ws.mjs': `
import { threadId } from 'node:worker_threads';
import { defineWebSocketHandler } from 'nitro/deps/h3';
export default defineWebSocketHandler({
  upgrade: (request) => (request.headers.get('cookie') === 'blocked' ? new Response('no', { status: 403 }) : undefined),
  open(peer) {
    peer.subscribe('room');
    peer.send(JSON.stringify({ threadId, namespace: peer.namespace }));
  },
  message: (peer, message) => peer.publish('room', message.text()),
});
`,
};

const out = mkdtempSync(path.join(os.tmpdir(), 'millrace-nitro-'));
test.after.always(() => remove(out));

/** Builds an app with this entry, and returns the folder of its output, which was moved away from all else. */
async function built(t, entry) {
  const files = { [ENTRY]: entry, 'nitro.config.mjs': await fileOf(PAGE, 'nitro.config.mjs') };
  const folder = project(t, pack({ out }), { files });
  symlinkSync(path.join(ROOT, 'node_modules/nitro'), path.join(folder, 'node_modules/nitro'), 'junction');
  mkdirSync(path.join(folder, 'routes'));
  writeFiles(path.join(folder, 'routes'), ROUTES);
  const cli = path.join(ROOT, 'node_modules/nitro/dist/cli/index.mjs');
  const { status, output } = runIn(folder, [process.execPath, cli, 'build']);
  t.is(status, 0, output);
  const alone = removeWith(t, mkdtempSync(path.join(os.tmpdir(), 'millrace-output-')));
  renameSync(path.join(folder, '.output'), path.join(alone, 'output'));
  return path.join(alone, 'output');
}

/** Returns the threads that greeted the clients. */
async function works(t, folder) {
  const address = await serve(t, folder, [process.execPath, 'server/index.mjs'], { BIND: '127.0.0.1:0' });
  const page = await fetch(`http://${address}/`, { headers: { 'user-agent': 'the test' } });
  t.is(await page.text(), 'a page, asked for by the test');
  t.is((await fetch(`http://${address}/missing`)).status, 404);
  const clients = await Promise.all(Array.from({ length: 4 }, () => connect(t, address, { path: '/_ws' })));
  const greetings = await Promise.all(clients.map((client) => client.json()));
  for (const { namespace } of greetings) t.is(namespace, '/_ws');
  const [one, ...others] = clients;
  one.send('hello');
  for (const client of others) t.is(await client.text(), 'hello');
  t.is((await handshake(address, { path: '/_ws', headers: { Cookie: 'blocked' } })).status, 403);
  t.is((await handshake(address, { path: '/missing' })).status, 404);
  return greetings.map(({ threadId }) => threadId);
}

test.serial('an app of Nitro in worker threads', async (t) => {
  const threads = await works(t, await built(t, await fileOf(PAGE, ENTRY)));
  t.true(new Set(threads).size > 1, String(threads));
  t.false(threads.includes(0));
});

test.serial('an app of Nitro on the main thread', async (t) => {
  const entry = (await fileOf(PAGE, ENTRY))
    .replace('export default isMainThread ? {} : millraceAdapter({ fetch: useNitroApp().fetch }).handlers;\n', '')
    .replace('workerPath: import.meta.url', 'handlers: millraceAdapter({ fetch: useNitroApp().fetch }).handlers');
  t.notRegex(entry, /workerPath|export/);
  const threads = await works(t, await built(t, entry));
  t.deepEqual([...new Set(threads)], [0]);
});
