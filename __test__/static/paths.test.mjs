// Static files: no path leads out of the directory, whatever it is made of.
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, symlinkSync, unlinkSync } from 'node:fs';
import path from 'node:path';
import test from 'ava';

import { toolPath } from '../../scripts/optional-tools.mjs';
import { within } from '../support/deadline.mjs';
import { folderFor, makeFolder, removeFolder, request, requestsTo, write } from '../support/files.mjs';
import { exchange } from '../support/http.mjs';
import { needing } from '../support/needing.mjs';
import { posixTests } from '../support/platforms.mjs';
import { ownServer, sharedServer, worker } from '../support/server.mjs';

const SECRET = 'secret';
const outside = makeFolder({
  'secret.txt': SECRET,
  'public/index.html': 'index',
  'public/a/b.txt': 'b',
  'public/%2e%2e/c.txt': 'literal',
  'public/.env': SECRET,
  'public/.git/config': SECRET,
  'public/a/.hidden/d.txt': SECRET,
  'public/.well-known/security.txt': 'contact',
  'public/.well-known/.private': SECRET,
  'public/evil.example/index.html': 'a folder with a name',
  'public2/secret.txt': SECRET,
});
const root = path.join(outside, 'public');
test.after.always(() => removeFolder(outside));

const server = sharedServer(test, { workerPath: worker('echo'), threads: 1, static: root });
const get = requestsTo(server);
const onUnix = posixTests(test);

/** A request whose target is sent byte by byte. */
const raw = (target) =>
  exchange(server.addresses[0], Buffer.from(`GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`, 'latin1'));

const ESCAPES = [
  '/../secret.txt',
  '/a/../../secret.txt',
  '/%2e%2e/secret.txt',
  '/%2E%2E/secret.txt',
  '/.%2e/secret.txt',
  '/..%2fsecret.txt',
  '/..%2Fsecret.txt',
  '/a/..%2f..%2fsecret.txt',
  '/..%5csecret.txt',
  '/..\\secret.txt',
  '/%2e%2e%5csecret.txt',
  '/%c0%ae%c0%ae/secret.txt',
  '/%c0%ae%c0%ae%c0%afsecret.txt',
  '/..%c0%afsecret.txt',
  '/%e0%80%ae%e0%80%ae/secret.txt',
  '/..;/secret.txt',
  '/../public2/secret.txt',
  '/..%00/secret.txt',
  '/index.html%00.txt',
  '/a/b.txt%00',
  '/%',
  '/%2',
  '/%zz',
  '/%ff',
  `${outside}/secret.txt`,
  `/${outside}/secret.txt`,
  '/C:/Windows/win.ini',
  '/c%3A/Windows/win.ini',
  '/file:///etc/passwd',
  '/etc/passwd',
  '/a/b.txt/../../../secret.txt',
  '*',
  'x',
];
for (const target of ESCAPES) {
  test(`nothing is served for ${target.replace(outside, '<outside>')}`, async (t) => {
    const { status, body } = await raw(target);
    t.true([400, 404].includes(status), `${status}`);
    t.false(body.includes(SECRET));
  });
}

test('paths that stay inside are normalised', async (t) => {
  for (const target of [
    '/a/b.txt',
    '//a//b.txt',
    '/./a/./b.txt',
    '/x/../a/b.txt',
    '/%61/b%2etxt',
    '/a/%2e%2e/a/b.txt',
  ]) {
    const { status, body } = await raw(target);
    t.deepEqual([status, body], [200, 'b'], target);
  }
  // decoded once: a folder may be called so
  const { status, body } = await raw('/%252e%252e/c.txt');
  t.deepEqual([status, body], [200, 'literal']);
});

test('a redirect never leads to another host', async (t) => {
  for (const target of [
    '//evil.example',
    '///evil.example',
    '/./evil.example',
    '/x/..//evil.example',
    '/%65vil.example',
  ]) {
    const { status, headers } = await raw(target);
    t.deepEqual([status, headers.location], [301, '/evil.example/'], target);
  }
  for (const target of ['/\\evil.example', '/%5cevil.example', '/%2fevil.example', '/%2f%2fevil.example']) {
    t.true([400, 404].includes((await raw(target)).status), target);
  }
});

test('names with a dot in front are not there, .well-known aside', async (t) => {
  for (const target of [
    '/.env',
    '/%2eenv',
    '/.git/config',
    '/a/.hidden/d.txt',
    '/.well-known/.private',
    '/.git',
    '/.git/',
  ]) {
    t.is((await get(target)).status, 404, target);
  }
  t.is((await get('/.well-known/security.txt')).text, 'contact');
});

test('names with a dot in front are there where that is asked for', async (t) => {
  const asked = await ownServer(t, {
    workerPath: worker('echo'),
    threads: 1,
    static: { directory: root, dotfiles: true },
  });
  for (const target of ['/.env', '/.git/config', '/.well-known/.private']) {
    t.is((await request(asked.addresses[0], target)).text, SECRET, target);
  }
  t.is((await request(asked.addresses[0], '/../secret.txt')).status, 404);
});

onUnix('links are followed inside, and lead nowhere else', async (t) => {
  const folder = folderFor(t, { 'public/a/file.txt': 'inside', 'secret.txt': SECRET, 'elsewhere/x.txt': SECRET });
  const files = path.join(folder, 'public');
  const link = (to, name) => symlinkSync(to, path.join(files, name));
  link('a/file.txt', 'relative.txt');
  link(path.join(files, 'a/file.txt'), 'absolute.txt');
  link('a', 'folder');
  link('relative.txt', 'twice.txt');
  link('../secret.txt', 'out.txt');
  link(path.join(folder, 'secret.txt'), 'out-absolute.txt');
  link('../elsewhere', 'out-folder');
  link('/etc', 'etc');
  link('/proc/self/root', 'magic');
  link('loop.txt', 'loop.txt');
  link('nothing', 'dangling.txt');
  link('a/../../secret.txt', 'winding.txt');
  const own = await ownServer(t, { workerPath: worker('echo'), threads: 1, static: files });
  const ask = requestsTo(own);
  for (const target of ['/relative.txt', '/absolute.txt', '/folder/file.txt', '/twice.txt']) {
    t.is((await ask(target)).text, 'inside', target);
  }
  for (const target of [
    '/out.txt',
    '/out-absolute.txt',
    '/out-folder/x.txt',
    '/etc/hostname',
    '/magic/etc/hostname',
    '/loop.txt',
    '/dangling.txt',
    '/winding.txt',
  ]) {
    const { status, text } = await ask(target);
    t.deepEqual([status, text], [404, 'Not found'], target);
  }
});

onUnix('a link that is exchanged all the time never leads out', async (t) => {
  const folder = folderFor(t, { 'public/a/file.txt': 'inside', 'elsewhere/file.txt': SECRET });
  const files = path.join(folder, 'public');
  const own = await ownServer(t, {
    workerPath: worker('echo'),
    threads: 1,
    static: files,
    limits: { staticCheckMs: 0 },
  });
  const swapped = path.join(files, 'swapped');
  const put = (to) => {
    symlinkSync(to, `${swapped}.new`);
    renameSync(`${swapped}.new`, swapped);
  };
  let turns = 0;
  const swap = setInterval(() => put(turns++ % 2 === 0 ? path.join(files, 'a') : '../elsewhere'), 1);
  t.teardown(() => clearInterval(swap));
  const seen = { 200: 0, 404: 0 };
  const ask = async () => {
    while (seen[200] < 50 || seen[404] < 50) {
      const { status, text } = await request(own.addresses[0], '/swapped/file.txt');
      t.is(text, status === 200 ? 'inside' : 'Not found');
      seen[status] += 1;
    }
  };
  await within(Promise.all([ask(), ask(), ask()]), () => `both answers: ${JSON.stringify(seen)}`);
  clearInterval(swap);
  put('a');
  t.is((await request(own.addresses[0], '/swapped/file.txt')).text, 'inside');
});

needing(onUnix, 'mkfifo')('devices and pipes are no files', async (t) => {
  const folder = folderFor(t, { 'a.txt': 'a' });
  execFileSync(toolPath('mkfifo'), [path.join(folder, 'pipe')]);
  const own = await ownServer(t, { workerPath: worker('echo'), threads: 1, static: folder });
  const ask = requestsTo(own);
  t.is((await ask('/pipe')).status, 404);
  t.is((await ask('/a.txt')).status, 200);
});

onUnix('a release may put another directory in the place of the root', async (t) => {
  const folder = folderFor(t, { 'one/a.txt': 'one', 'two/a.txt': 'two' });
  const current = path.join(folder, 'current');
  symlinkSync('one', current);
  const own = await ownServer(t, {
    workerPath: worker('echo'),
    threads: 1,
    static: current,
    limits: { staticCheckMs: 0 },
  });
  const ask = requestsTo(own);
  t.is((await ask('/a.txt')).text, 'one');
  symlinkSync('two', `${current}.new`);
  renameSync(`${current}.new`, current);
  t.is((await ask('/a.txt')).text, 'two');
  unlinkSync(current);
  t.is((await ask('/a.txt')).status, 404);
  mkdirSync(current);
  write(current, 'a.txt', 'three');
  t.is((await ask('/a.txt')).text, 'three');
});
