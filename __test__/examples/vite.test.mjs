// The Vite example, in production and while somebody develops it, in a real browser.
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { createServer } from 'vite';

import { builtByVite, copyOfExample, messagesOf, say, sayAndHear, shows, visit } from '../support/built-example.mjs';
import { browserTests, Example, ended, launchBrowser } from '../support/example.mjs';
import { ROOT } from '../support/markdown.mjs';
import { removeWith } from '../support/teardown.mjs';
import { connect, Refused } from '../support/ws-client.mjs';

const inBrowser = browserTests(test);
let browser;

test.after.always(() => browser?.close());

inBrowser('the build is served with its sockets', async (t) => {
  const folder = removeWith(t, await builtByVite('vite'));
  const example = await Example.start(`${folder}/server.mjs`, ['--port', '0']);
  t.teardown(() => example.kill());
  browser ??= await launchBrowser();
  const [one, two] = [await visit(t, browser, example.url), await visit(t, browser, example.url)];
  await shows(one.page, 'open');
  await shows(two.page, 'open');
  await sayAndHear(two.page);
  await say(one.page, 'hello <b>');
  await messagesOf(two.page).getByText('hello <b>').waitFor();
  t.deepEqual([...one.complaints, ...two.complaints], []);

  const [, script] = /src="(\/assets\/[^"]+)"/.exec(await (await fetch(example.url)).text());
  const answer = await fetch(new URL(script, example.url));
  t.is(answer.headers.get('cache-control'), 'public, max-age=31536000, immutable');
  t.is(await example.end(), ended());
});

inBrowser('while somebody develops, Vite has the page and hands its sockets on', async (t) => {
  const folder = removeWith(t, await copyOfExample('vite'));
  const example = await Example.start(`${folder}/server.mjs`, ['--port', '0']);
  t.teardown(() => example.kill());
  // read by vite.config.mjs
  process.env.PORT = example.port;
  const vite = await createServer({ root: folder, logLevel: 'error', server: { host: '127.0.0.1', port: 0 } });
  t.teardown(() => vite.close());
  await vite.listen();
  browser ??= await launchBrowser();
  const { page, complaints } = await visit(t, browser, vite.resolvedUrls.local[0]);
  await shows(page, 'open');
  const other = await connect(t, example.address, { path: '/channels' });
  const publish = (data) => other.send(JSON.stringify({ type: 'publish', channel: 'lobby', data }));
  other.send(JSON.stringify({ type: 'subscribe', channel: 'lobby' }));
  publish('subscribed');
  t.like(await other.json(), { data: 'subscribed' });
  await say(page, 'from the page');
  t.like(await other.json(), { channel: 'lobby', data: 'from the page' });
  publish('to the page');
  await messagesOf(page).getByText('to the page').waitFor();

  // Vite's own socket goes on working beside it
  const index = path.join(folder, 'index.html');
  await writeFile(index, (await readFile(index, 'utf8')).replace('<h1>lobby</h1>', '<h1>changed</h1>'));
  await page.getByRole('heading', { name: 'changed' }).waitFor();
  await shows(page, 'open');
  t.deepEqual(complaints, []);
});

test('what is no request ends the connection, and pages of other origins are refused', async (t) => {
  const example = await Example.start('examples/vite/server.mjs', ['--port', '0']);
  t.teardown(() => example.kill());
  const options = { path: '/channels' };
  const wrong = ['{', 'null', '1', '{"type":"subscribe"}', '{"type":"other","channel":"lobby"}'];
  for (const text of [...wrong, '{"type":"subscribe","channel":"secret"}']) {
    const client = await connect(t, example.address, options);
    client.send(text);
    t.is((await client.closed()).code, 1008, text);
  }
  const foreign = connect(t, example.address, { ...options, headers: { Origin: 'http://evil.example' } });
  t.is((await t.throwsAsync(foreign, { instanceOf: Refused })).status, 403);
});

test('what the examples for Vite and Vue have in common is the same in both', async (t) => {
  for (const file of ['src/channels.mjs', 'worker.mjs']) {
    const [vite, vue] = await Promise.all(
      ['vite', 'vue'].map((name) => readFile(path.join(ROOT, 'examples', name, file), 'utf8')),
    );
    t.is(vue, vite, file);
  }
});
