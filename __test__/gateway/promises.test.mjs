// Promises that concern several files: safe defaults, reports, the published package, the documentation.
import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import test from 'ava';
import ts from 'typescript';

import { toolPath } from '../../scripts/optional-tools.mjs';
import { npm } from '../../scripts/process.mjs';
import { SOON, until } from '../support/deadline.mjs';
import { handshake } from '../support/http.mjs';
import { needing } from '../support/needing.mjs';
import { only } from '../support/platforms.mjs';
import { ask, member, open, ownServer, RUNTIME, worker } from '../support/server.mjs';
import { removeWith } from '../support/teardown.mjs';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', '..');
const commands = (more) => ({ workerPath: worker('commands'), threads: 1, ...more });

/** Keeps the member's worker busy, without a timer, until the key is set. */
const busyUntil = (ws, key) => ask(ws, { cmd: 'flood', who: [], count: 0, after: key });

test('by default a dead peer is gone within 35 s, and counted', async (t) => {
  const server = await ownServer(t, commands());
  const begun = performance.now();
  const ws = await member(t, server);
  ws.pause();
  await until(
    async () => (await server.call('getDebugState', 'sockets', ws.id)) === undefined,
    'the dead peer to be gone',
    120_000,
  );
  const took = performance.now() - begun;
  t.log(`gone after ${(took / 1000).toFixed(1)} s`);
  t.true(took > 30_000, `not before its time: ${Math.round(took)} ms`);
  // Timers have steps, and the machine may be busy. With another ping it would take twice as long.
  t.true(took < 58_000, `in time: ${Math.round(took)} ms`);
  t.is((await server.call('stats')).pingTimeouts, 1);
});

test('a connection that waits for room at its busy worker still receives', async (t) => {
  const limits = { workerQueueEvents: 16, workerTimeoutMs: 0, pingIntervalMs: 0 };
  const server = await ownServer(t, commands({ limits }));
  const [busy, waiting] = [await member(t, server), await member(t, server)];
  await server.call('subscribe', waiting.id, 'news');
  const only = async () => (await server.call('stats')).workers[0];
  const { events } = await only();
  const blocked = busyUntil(busy, 'go');
  // another connection's messages may overtake this one on their way to the worker, but not once it is taken
  await until(async () => {
    const now = await only();
    return now.events > events && now.queuedEvents === 0;
  }, 'the worker to be busy');
  const count = 200;
  for (let index = 0; index < count; index++) waiting.send(`waits ${index}`);
  await until(async () => (await only()).queuedEvents >= 16, 'the full queue');
  for (let index = 0; index < 20; index++) {
    t.is(await server.call('send', 'news', `news ${index}`), 1);
    t.is(await waiting.text(), `news ${index}`);
  }
  await server.call('setKey', 'go', '');
  await blocked;
  for (let index = 0; index < count; index++) t.is(await waiting.text(), `waits ${index}`);
});

test("a dead worker's connections are closed with a reason", async (t) => {
  const server = await ownServer(t, commands({ threads: 2 }));
  const [one, two] = [await member(t, server), await member(t, server)];
  one.send(JSON.stringify({ cmd: 'exit', n: 1 }));
  t.like(await one.closed(), { code: 1011, reason: 'Server worker is down' });
  t.is(await ask(two, { cmd: 'ping' }), 'pong');
});

test('texts sent without their user data are reported, at most once a second', async (t) => {
  const server = await ownServer(t, commands());
  const ws = await member(t, server);
  const virtual = await server.call('createVirtualSocket', ws.id, 7);
  const begun = performance.now();
  for (let index = 0; index < 200; index++) await server.call('send', virtual, 'no object');
  const reports = await until(async () => {
    const errors = (await server.errors()).filter(({ code }) => code === 'ERR_MILLRACE_NOT_AN_OBJECT');
    return errors.length > 0 && errors.length;
  }, 'the report');
  t.true(reports <= 1 + Math.ceil((performance.now() - begun) / 1000), `${reports} reports`);
  await until(async () => (await server.call('stats')).unannotated === 200, 'a count of all of them');
});

test('refusals are counted', async (t) => {
  const server = await ownServer(t, { workerPath: worker('admission'), threads: 1 });
  t.is((await handshake(server.addresses[0], { path: '/refuse' })).status, 403);
  t.is((await handshake(server.addresses[0], { path: '/throw' })).status, 500);
  await until(async () => (await server.call('stats')).refused === 2, 'two refusals');
  t.is((await server.call('stats')).opened, 0);
});

const onNode = only(test, RUNTIME === 'node', 'about Node.js');
onNode('while an inspector is open no worker is given up', async (t) => {
  const limits = { workerTimeoutMs: 500 };
  const server = await ownServer(t, commands({ limits }), { nodeArgs: ['--inspect=127.0.0.1:0'] });
  const ws = await member(t, server);
  t.true(await ask(ws, { cmd: 'block', ms: 2500 }));
  t.is((await member(t, server)).workerId, ws.workerId);
});

const withTar = needing(test, 'tar');
withTar('the package as npm packs it works beside its platform package, for ESM and CommonJS', async (t) => {
  const native = path.join(root, 'js', 'native');
  const addon = readdirSync(native).find((name) => name.endsWith('.node'));
  const platform = addon.split('.')[1];
  const folder = removeWith(t, mkdtempSync(path.join(tmpdir(), 'millrace-packed-')));
  const [program, ...args] = npm('pack', '--json', '--ignore-scripts', '--pack-destination', folder);
  const { stdout } = await promisify(execFile)(program, args, { cwd: root, maxBuffer: 2 ** 24 });
  const [{ filename, files }] = JSON.parse(stdout);
  const names = files.map((file) => file.path);
  for (const name of ['README.md', 'LICENSE', 'CHANGELOG.md', 'js/dist/index.d.ts', 'js/dist/index.d.mts'])
    t.true(names.includes(name), name);
  t.deepEqual(
    names.filter((name) => /\.node$|(^|\/)\.|^(crates|__test__|scripts|target)\//.test(name)),
    [],
  );
  const modules = path.join(folder, 'node_modules');
  mkdirSync(path.join(modules, 'millrace'), { recursive: true });
  await promisify(execFile)(
    toolPath('tar'),
    ['xzf', filename, '--strip-components=1', '-C', path.join(modules, 'millrace')],
    {
      cwd: folder,
    },
  );
  const beside = path.join(modules, `millrace-${platform}`);
  mkdirSync(beside);
  copyFileSync(path.join(root, 'npm', platform, 'package.json'), path.join(beside, 'package.json'));
  copyFileSync(path.join(native, addon), path.join(beside, addon));
  writeFileSync(
    path.join(folder, 'worker.cjs'),
    "exports.handleStart = () => require('millrace').setKey('worker', 'ran');",
  );
  writeFileSync(
    path.join(folder, 'main.mjs'),
    `import { createRequire } from 'node:module';
    import * as esm from 'millrace';
    const cjs = createRequire(import.meta.url)('millrace');
    const server = await esm.start({ bind: '127.0.0.1:0', workerPath: './worker.cjs', threads: 1 });
    console.log(String(cjs.getKey('worker')), cjs.MillraceError === esm.MillraceError);
    await server.stop();`,
  );
  const run = await promisify(execFile)(process.execPath, ['main.mjs'], { cwd: folder, timeout: 2 * SOON });
  t.is(run.stdout.trim(), 'ran true');
});

test('all exported types and their members are documented', (t) => {
  const entry = path.join(root, 'js', 'src', 'index.ts');
  const { options } = ts.getParsedCommandLineOfConfigFile(path.join(root, 'tsconfig.build.json'), {}, ts.sys);
  const program = ts.createProgram([entry], options);
  const checker = program.getTypeChecker();
  const documented = (symbol) =>
    symbol.getDocumentationComment(checker).length > 0 || symbol.getJsDocTags(checker).length > 0;
  const missing = [];
  for (const exported of checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(entry)))) {
    const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
    if (!documented(symbol)) missing.push(symbol.name);
    const type = checker.getDeclaredTypeOfSymbol(symbol);
    for (const part of type.isUnion() ? type.types : [type]) {
      for (const member of part.isClassOrInterface() || part.symbol?.name === '__type' ? part.getProperties() : []) {
        const [declaration] = member.declarations ?? [];
        const ours = declaration?.getSourceFile().fileName.includes('/js/src/');
        if (ours && !ts.isPrivateIdentifier(declaration.name) && !documented(member))
          missing.push(`${symbol.name}.${member.name}`);
      }
    }
  }
  t.deepEqual(missing, []);
});

test('links and paths in the documentation lead somewhere', (t) => {
  const pages = [
    '.',
    'docs',
    'docs/decisions',
    'benchmark',
    'examples/chat',
    'examples/auth',
    'examples/rest-api',
  ].flatMap((folder) =>
    readdirSync(path.join(root, folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => path.join(folder, name)),
  );
  const dead = [];
  for (const page of pages) {
    const text = readFileSync(path.join(root, page), 'utf8');
    const links = [...text.matchAll(/\]\(([^)\s]+)\)|src="([^"]+)"/g)].map(([, link, source]) => link ?? source);
    for (const link of links.filter((name) => !/^(https?:|#)/.test(name)))
      if (!existsSync(path.join(root, path.dirname(page), link.split('#')[0]))) dead.push(`${page}: ${link}`);
    for (const [, name] of text.matchAll(/`((?:crates|js\/src|scripts|examples|__test__|fuzz)\/[\w./-]+)`/g))
      if (!existsSync(path.join(root, name))) dead.push(`${page}: ${name}`);
  }
  t.deepEqual(dead, []);
  t.true(pages.length > 15);
});

test('an open connection that answers pings outlives every default timeout', async (t) => {
  const server = await ownServer(t, commands());
  const ws = await open(t, server);
  await ws.when(() => ws.pings.length >= 1, 'the first ping', { ms: 120_000 });
  ws.send('still here');
  t.is(await ws.text(), 'still here');
  t.is((await server.call('stats')).pingTimeouts, 0);
});
