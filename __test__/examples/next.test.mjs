// The Next example, installed in a folder of its own and built: a page, its routes and its sockets on one port, in a real browser.
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, realpath, symlink } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';

import { messagesOf, say, shows, visit } from '../support/built-example.mjs';
import { until } from '../support/deadline.mjs';
import { browserTests, Example, ended, launchBrowser } from '../support/example.mjs';
import { ROOT } from '../support/markdown.mjs';
import { only } from '../support/platforms.mjs';
import { freePort } from '../support/ports.mjs';
import { RUNTIME } from '../support/server.mjs';
import { removeWith } from '../support/teardown.mjs';
import { connect, Refused } from '../support/ws-client.mjs';

const inNode = only(browserTests(test), RUNTIME === 'node', 'Next.js builds in Node.js');
/** No NODE_ENV for the server, which sets it itself. */
const env = { NODE_ENV: undefined, NEXT_TELEMETRY_DISABLED: '1' };

/** A copy of the example with its packages. Millrace is a copy, too: Next.js bundles what is linked from elsewhere. */
async function installed(t) {
  const temporary = await mkdtemp(path.join(os.tmpdir(), 'millrace-next-example-'));
  const folder = removeWith(t, await realpath(temporary));
  await cp(path.join(ROOT, 'examples/next'), folder, { recursive: true });
  const packages = path.join(folder, 'node_modules');
  for (const part of ['package.json', 'js/dist', 'js/native']) {
    await cp(path.join(ROOT, part), path.join(packages, 'millrace', part), { recursive: true });
  }
  const needed = await Promise.all([folder, ROOT].map(dependenciesOf));
  for (const name of needed.flat().filter((one) => one !== 'millrace')) {
    await mkdir(path.dirname(path.join(packages, name)), { recursive: true });
    await symlink(path.join(ROOT, 'node_modules', name), path.join(packages, name), 'junction');
  }
  return folder;
}

async function dependenciesOf(folder) {
  return Object.keys(JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8')).dependencies);
}

inNode('a route tells the sockets, and a page that was away has all announcements', async (t) => {
  t.timeout(300_000, 'the build takes its time');
  const folder = await installed(t);
  const command = path.join(folder, 'node_modules/next/dist/bin/next');
  const more = { cwd: folder, env: { ...process.env, ...env, NODE_ENV: 'production' }, timeout: 240_000 };
  await promisify(execFile)(process.execPath, [command, 'build'], more);
  const args = ['--port', String(await freePort())];
  let example = await Example.start(path.join(folder, 'server.mjs'), args, env);
  t.teardown(() => example.kill());
  const api = new URL('/api/announcements', example.url);
  const announce = (text) => {
    const body = new FormData();
    body.set('text', text);
    return fetch(api, { method: 'POST', body, headers: { connection: 'close' } });
  };
  t.is((await announce('before')).status, 201);
  t.is((await announce(' ')).status, 400);

  // the page has it from the server, before any script runs
  t.regex(await (await fetch(example.url, { headers: { connection: 'close' } })).text(), /<li>before<\/li>/);
  const browser = await launchBrowser();
  t.teardown(() => browser.close());
  const { page, sockets, complaints } = await visit(t, browser, example.url);
  const texts = () => messagesOf(page).allTextContents();
  await shows(page, 'open');
  t.is((await announce('by a route')).status, 201);
  await messagesOf(page).getByText('by a route').waitFor();
  const client = await connect(t, example.address, { path: '/socket' });
  t.deepEqual(await client.json(), ['before', 'by a route']);
  await say(page, 'by the page');
  t.deepEqual(await client.json(), ['before', 'by a route', 'by the page']);
  await until(async () => (await texts()).length === 3, 'the announcement of the page');

  const foreign = connect(t, example.address, { path: '/socket', headers: { Origin: 'http://evil.example' } });
  t.is((await t.throwsAsync(foreign, { instanceOf: Refused })).status, 403);
  // sockets open nowhere else
  t.not((await t.throwsAsync(connect(t, example.address), { instanceOf: Refused })).status, 101);

  t.is(await example.end(), ended());
  await shows(page, 'waiting');
  example = await Example.start(path.join(folder, 'server.mjs'), args, env);
  t.is((await announce('after')).status, 201);
  await until(async () => (await texts()).join() === 'after', 'what the new server has');
  t.is(sockets.filter((socket) => !socket.isClosed()).length, 1);
  t.deepEqual(complaints, []);
});
