// Static files: which file a path names, the headers of its answer, and missing files.
import { utimesSync } from 'node:fs';
import path from 'node:path';
import test from 'ava';

import { folderWith, Millrace, PACKAGE } from '../support/cli.mjs';
import { folderFor, makeFolder, removeFolder, request, requestsTo } from '../support/files.mjs';
import { handshake } from '../support/http.mjs';
import { open, ownServer, sharedServer, worker } from '../support/server.mjs';

const PNG = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
const folder = makeFolder({
  'index.html': '<h1>home</h1>',
  'app.js': 'export {};',
  'style.css': 'a {}',
  'picture.png': PNG,
  noextension: 'x',
  'empty.txt': '',
  'sp ace/ü.txt': 'umlaut',
  'docs/index.html': 'docs',
  'docs/a.txt': 'a',
  'bare/b.txt': 'b',
  'large.bin': Buffer.alloc(300_000, 'large'),
});
const THEN = new Date('2020-02-03T04:05:06.789Z');
utimesSync(path.join(folder, 'app.js'), THEN, THEN);
test.after.always(() => removeFolder(folder));

const server = sharedServer(test, { workerPath: worker('echo'), threads: 1, static: folder });
const get = requestsTo(server);

test('a file is sent with its type, its length and headers for caches', async (t) => {
  const { status, headers, text } = await get('/app.js?v=1');
  t.is(status, 200);
  t.is(text, 'export {};');
  t.like(headers, {
    'content-type': 'text/javascript; charset=utf-8',
    'content-length': '10',
    'accept-ranges': 'bytes',
    'cache-control': 'no-cache',
    'last-modified': 'Mon, 03 Feb 2020 04:05:06 GMT',
    'x-content-type-options': 'nosniff',
  });
  t.regex(headers.etag, /^"[0-9a-f-]+"$/);
  t.is(headers.vary, undefined);
  t.true(Math.abs(Date.parse(headers.date) - Date.now()) < 60_000);
});

test('bytes arrive as they are, from memory and from the disk', async (t) => {
  t.deepEqual((await get('/picture.png')).bytes, PNG);
  const { headers, bytes } = await get('/large.bin');
  t.is(headers['content-length'], '300000');
  t.deepEqual(bytes, Buffer.alloc(300_000, 'large'));
  t.is((await get('/empty.txt')).headers['content-length'], '0');
});

for (const [target, type] of [
  ['/', 'text/html; charset=utf-8'],
  ['/style.css', 'text/css; charset=utf-8'],
  ['/picture.png', 'image/png'],
  ['/noextension', 'application/octet-stream'],
]) {
  test(`the type of ${target} is ${type}`, async (t) => {
    t.is((await get(target)).headers['content-type'], type);
  });
}

test('HEAD gets the same headers without the body', async (t) => {
  for (const target of ['/app.js', '/large.bin', '/docs/']) {
    const whole = await get(target);
    const head = await get(target, { method: 'HEAD' });
    t.is(head.status, 200);
    t.is(head.bytes.length, 0);
    const { date: _one, ...expected } = whole.headers;
    const { date: _two, ...said } = head.headers;
    t.deepEqual(said, expected, target);
  }
});

test('a directory is its index.html, at a path with a slash at its end', async (t) => {
  t.is((await get('/')).text, '<h1>home</h1>');
  t.is((await get('/docs/')).text, 'docs');
  const redirect = await get('/docs?a=1&b=%2f');
  t.is(redirect.status, 301);
  t.is(redirect.headers.location, '/docs/?a=1&b=%2f');
  t.is((await get('/bare')).status, 404);
  t.is((await get('/bare/')).status, 404);
});

test('escapes are decoded', async (t) => {
  t.is((await get('/sp%20ace/%C3%BC.txt')).text, 'umlaut');
  t.is((await get('/%61pp.js')).text, 'export {};');
});

test('a missing file is 404, and an existing one allows only GET and HEAD', async (t) => {
  for (const target of ['/nothing', '/app.js/', '/app.js/x', '/docs/nothing']) {
    const { status, text } = await get(target);
    t.deepEqual([status, text], [404, 'Not found'], target);
  }
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
    const there = await get('/app.js', { method });
    t.is(there.status, 405, method);
    t.is(there.headers.allow, 'GET, HEAD');
    t.is((await get('/nothing', { method })).status, 404, method);
  }
});

test('a WebSocket opens beside the files, at any path', async (t) => {
  for (const target of ['/', '/app.js', '/nothing']) {
    const client = await open(t, server, { path: target });
    client.send('hello');
    t.is(await client.text(), 'hello');
  }
  t.is((await handshake(server.addresses[0], { headers: { 'Sec-WebSocket-Key': 'short' } })).status, 400);
});

test('several directories: the first that has the file answers', async (t) => {
  const own = folderFor(t, { 'a.txt': 'own', 'index.html': 'index' });
  const two = await ownServer(t, {
    workerPath: worker('echo'),
    threads: 1,
    static: [{ directory: own, path: '/assets' }, { directory: own, path: '/deep/er/' }, { directory: folder }],
  });
  const ask = requestsTo(two);
  t.is((await ask('/assets/a.txt')).text, 'own');
  t.is((await ask('/assets/')).text, 'index');
  t.is((await ask('/assets')).headers.location, '/assets/');
  t.is((await ask('/deep/er/a.txt')).text, 'own');
  t.is((await ask('/app.js')).text, 'export {};');
  for (const target of ['/assetsa.txt', '/a.txt', '/deep/a.txt', '/assets/app.js']) {
    t.is((await ask(target)).status, 404, target);
  }
});

test('each listener may have its own', async (t) => {
  const own = folderFor(t, { 'a.txt': 'own' });
  const two = await ownServer(t, {
    bind: ['127.0.0.1:0', { address: '127.0.0.1:0', static: own }, { address: '127.0.0.1:0', static: [] }],
    workerPath: worker('echo'),
    threads: 1,
    static: folder,
  });
  const statuses = async (target) =>
    Promise.all(two.addresses.map(async (address) => (await request(address, target)).status));
  t.deepEqual(await statuses('/a.txt'), [404, 200, 426]);
  t.deepEqual(await statuses('/app.js'), [200, 404, 426]);
});

test('files come before fetch, which gets missing files and other methods', async (t) => {
  const own = folderFor(t, { about: 'file', 'index.html': 'page', 'docs/index.html': 'docs', '404.html': 'never' });
  const both = await ownServer(t, {
    workerPath: worker('fetch'),
    threads: 1,
    static: { directory: own, fallback: 'index.html', notFound: '404.html' },
  });
  const ask = requestsTo(both);
  t.is((await ask('/about')).text, 'file');
  t.is((await ask('/docs')).status, 301);
  t.is((await ask('/hello', { headers: { Accept: 'text/html' } })).text, 'page');
  t.is((await ask('/hello')).text, 'hello');
  t.is((await ask('/hello', { method: 'PUT' })).text, 'hello');
  for (const method of ['POST', 'DELETE']) {
    t.is(JSON.parse((await ask('/about', { method })).text).method, method);
  }
});

test('millrace serve --static serves a folder', async (t) => {
  const cwd = folderWith(t, {
    'worker.mjs': `import { send } from '${PACKAGE}'; export function handleTextMessage(text, id) { send(id, text); }`,
    'public/index.html': 'page',
  });
  const args = ['serve', 'worker.mjs', '--bind', '127.0.0.1:0', '--threads', '1', '--static', 'public'];
  const run = new Millrace(t, args, { cwd });
  const { status, text } = await request(await run.address(), '/');
  t.deepEqual([status, text], [200, 'page']);
});
