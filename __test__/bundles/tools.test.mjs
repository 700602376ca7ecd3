// Bundlers, as docs/bundlers.md says: its commands on its program, from the packed packages; the result runs in a
// separate folder. The tests run one after the other, because they start other programs.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import test from 'ava';

import { pack } from '../../scripts/pack.mjs';
import { runtimePath } from '../../scripts/runtimes.mjs';
import { commandsUnder } from '../support/bundles.mjs';
import { project, runIn, serve, writeFiles } from '../support/installed.mjs';
import { fileOf, ROOT } from '../support/markdown.mjs';
import { connect as connectSockety, Draft } from '../support/millrace-sockety.mjs';
import { posixTests } from '../support/platforms.mjs';
import { remove, removeWith } from '../support/teardown.mjs';
import { connect } from '../support/ws-client.mjs';

const PAGE = 'docs/bundlers.md';
/** The page's commands go through a shell. */
const serial = posixTests(test.serial);

let folder;
let platform;
const out = mkdtempSync(path.join(os.tmpdir(), 'millrace-bundles-'));

test.before(async () => {
  const tarballs = pack({ out });
  [platform] = Object.keys(tarballs.platforms);
  // for all tests, and removed after them
  folder = project({ teardown: () => {} }, tarballs, { files: await programOf(PAGE) });
});

test.after.always(async () => {
  for (const made of [out, folder]) if (made !== undefined) await remove(made);
});

async function programOf(page) {
  const names = ['server.mjs', 'worker.mjs', 'webpack.config.mjs'];
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await fileOf(page, name)])));
}

/** Runs the page's command that bundles; `change` its text. Returns what it printed. */
async function bundle(t, tool, change = (command) => command) {
  rmSync(path.join(folder, 'dist'), { recursive: true, force: true });
  const [command] = await commandsUnder(PAGE, tool);
  const changed = change(command);
  const { status, output } = runIn(folder, ['sh', '-c', changed]);
  t.is(status, 0, `${changed}\n${output}`);
  return output;
}

/** The build result, alone in a folder. */
function moved(t, entry = 'dist') {
  const alone = removeWith(t, mkdtempSync(path.join(os.tmpdir(), 'millrace-bundled-')));
  renameSync(path.join(folder, entry), path.join(alone, entry));
  return alone;
}

/** The built server answers from its workers, and stops cleanly on a signal. */
async function works(t, alone, command) {
  const address = await serve(t, alone, command, { BIND: '127.0.0.1:0' });
  const [one, two] = [await connect(t, address), await connect(t, address)];
  one.send('hello');
  t.regex(await two.text(), /^\d+: hello$/);
}

/** As the page has it. */
const BANNER = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

const NODE = [process.execPath, 'dist/server.mjs'];

test.serial("bundlers find the name of every platform's package", (t) => {
  const code = readFileSync(path.join(ROOT, 'js/dist/addon/addon.js'), 'utf8');
  const named = [...code.matchAll(/require\(["']millrace-([\w-]+)["']\)/g)].map(([, name]) => name);
  t.deepEqual(named.sort(), readdirSync(path.join(ROOT, 'npm')).sort());
});

serial('esbuild: the bundle has the addon beside it, and needs nothing else', async (t) => {
  await bundle(t, 'esbuild');
  const alone = moved(t);
  t.is(readdirSync(path.join(alone, 'dist')).length, 3);
  await works(t, alone, NODE);
});

serial('esbuild: the bundle runs in Bun and Deno, too', async (t) => {
  await bundle(t, 'esbuild');
  const alone = moved(t);
  await works(t, alone, [runtimePath('bun'), 'dist/server.mjs']);
  await works(t, alone, [runtimePath('deno'), 'run', '-A', '--quiet', 'dist/server.mjs']);
});

for (const [how, change] of [
  ['the loader "file"', (command) => command.replace('=copy', '=file')],
  ['a banner that makes `require`', (command) => `${command} --banner:js="${BANNER}"`],
  ['--splitting and --minify', (command) => `${command} --splitting --minify`],
]) {
  serial(`esbuild: with ${how}`, async (t) => {
    await bundle(t, 'esbuild', change);
    await works(t, moved(t), NODE);
  });
}

/** A worker module without its own copy of the package. */
const ALONE = `
let gateway;
const handleStart = (_, own) => {
  gateway = own;
};
const handleTextMessage = (text, socketId) => gateway.send(socketId, text + '!');
`;

serial('esbuild: a worker module that does not import the package', async (t) => {
  const server = await fileOf(PAGE, 'server.mjs');
  writeFiles(folder, {
    'server-alone.mjs': server.replace('worker.mjs', 'worker-alone.mjs'),
    'worker-alone.mjs': `${ALONE}export { handleStart, handleTextMessage };`,
  });
  await bundle(t, 'esbuild', (command) =>
    command.replace('server.mjs worker.mjs', 'server-alone.mjs worker-alone.mjs'),
  );
  const alone = moved(t);
  for (const command of [[process.execPath], [runtimePath('bun')], [runtimePath('deno'), 'run', '-A', '--quiet']]) {
    const address = await serve(t, alone, [...command, 'dist/server-alone.mjs'], { BIND: '127.0.0.1:0' });
    const client = await connect(t, address);
    client.send('hello');
    t.is(await client.text(), 'hello!');
  }
});

serial('esbuild: the same as CommonJS', async (t) => {
  writeFiles(folder, {
    'server.cjs': `
const path = require('node:path');
const { start } = require('millrace');
start({ bind: '127.0.0.1:0', workerPath: path.join(__dirname, 'worker.cjs') }).then(({ addresses }) => {
  console.log('Listening on ws://' + addresses[0]);
});
`,
    'worker.cjs': `${ALONE}Object.assign(exports, { handleStart, handleTextMessage });`,
  });
  await bundle(t, 'esbuild', (command) =>
    command
      .replaceAll('.mjs', '.cjs')
      .replace('=esm', '=cjs')
      .replace('server.mjs worker.mjs', 'server.cjs worker.cjs'),
  );
  const address = await serve(t, moved(t), [process.execPath, 'dist/server.cjs']);
  const client = await connect(t, address);
  client.send('hello');
  t.is(await client.text(), 'hello!');
});

serial('esbuild: answers of Sockety, whose classes the worker module brings along', async (t) => {
  writeFiles(folder, {
    'sockety-server.mjs': `
import { start } from 'millrace';
const { addresses } = await start({
  bind: { address: '127.0.0.1:0', protocol: 'sockety' },
  workerPath: new URL('./sockety-worker.mjs', import.meta.url),
});
console.log('Listening on ' + addresses[0]);
`,
    'sockety-worker.mjs': `
import { ResponseDraft } from 'millrace/sockety';
const twice = new ResponseDraft().msgpack();
export async function handleSocketyMessage(message) {
  message.respond(twice({ data: 2 * (await message.msgpack()) }));
}
`,
  });
  await bundle(t, 'esbuild', (command) =>
    command.replace('server.mjs worker.mjs', 'sockety-server.mjs sockety-worker.mjs'),
  );
  const address = await serve(t, moved(t), [process.execPath, 'dist/sockety-server.mjs']);
  const client = await connectSockety(Number(address.split(':')[1]), '127.0.0.1').ready();
  t.teardown(() => client.close());
  const ask = Draft.for('twice').msgpack();
  const answer = await client.send(ask({ data: 21 })).response();
  t.is(await answer.msgpack(), 42);
});

serial('a bundle without the addon says what to do', async (t) => {
  await bundle(t, 'esbuild');
  const alone = moved(t);
  const names = readdirSync(path.join(alone, 'dist'));
  const addon = names.find((name) => name.endsWith('.node'));
  rmSync(path.join(alone, 'dist', addon));
  const { status, output } = runIn(alone, NODE);
  t.not(status, 0);
  t.true(output.includes('ERR_MILLRACE_BINDING_MISSING'), output);
  t.true(output.includes(`copy the package's file millrace.${platform}.node into the folder of the bundle`), output);
  t.true(output.includes('docs/bundlers.md'), output);
  // and that works
  const file = `millrace.${platform}.node`;
  cpSync(path.join(folder, 'node_modules', `millrace-${platform}`, file), path.join(alone, 'dist', file));
  await works(t, alone, NODE);
});

serial('webpack: the bundle needs the addon in node_modules, and nothing else', async (t) => {
  await bundle(t, 'webpack');
  const alone = moved(t);
  const addon = path.join('node_modules', `millrace-${platform}`);
  mkdirSync(path.join(alone, 'node_modules'));
  cpSync(path.join(folder, addon), path.join(alone, addon), { recursive: true });
  await works(t, alone, NODE);
});

serial('webpack: the bundle with the addon as an asset needs nothing', async (t) => {
  const config = await fileOf(PAGE, 'webpack.config.mjs');
  const rule = "module: { rules: [{ test: /\\.node$/, type: 'asset/resource' }], ";
  // minified above, which takes longest
  const quick = config.replace("mode: 'production'", "mode: 'none'");
  const changed = quick.replace('externals: [addons],', '').replace('module: { ', rule);
  t.true(changed.includes(rule) && !changed.includes('externals'));
  writeFiles(folder, { 'webpack.asset.mjs': changed });
  await bundle(t, 'webpack', (command) => command.replace('webpack.config.mjs', 'webpack.asset.mjs'));
  await works(t, moved(t), NODE);
});

serial('nft: what it traces is the addon, the entry of threads and the worker module', async (t) => {
  await bundle(t, '@vercel/nft');
  const alone = moved(t);
  const traced = readdirSync(path.join(alone, 'dist'), { recursive: true });
  t.true(traced.includes(path.join('node_modules', `millrace-${platform}`, `millrace.${platform}.node`)));
  t.true(traced.includes('node_modules/millrace/js/dist/worker/bootstrap.js'));
  t.false(traced.some((name) => name.includes('millrace/docs')));
  await works(t, alone, NODE);
});

serial('Bun: a compiled program has everything in it', async (t) => {
  await bundle(t, 'Bun', (command) => command.replace(/^bun /, `${runtimePath('bun')} `));
  await works(t, moved(t, 'chat'), ['./chat']);
});

serial('Bun: a compiled program, of TypeScript', async (t) => {
  writeFiles(folder, {
    'server.ts': (await fileOf(PAGE, 'server.mjs')).replace('worker.mjs', 'worker.ts'),
    'worker.ts': (await fileOf(PAGE, 'worker.mjs'))
      .replaceAll('socketId)', 'socketId: number)')
      .replace('(text,', '(text: string,'),
  });
  await bundle(t, 'Bun', () => `${runtimePath('bun')} build --compile server.ts worker.ts --outfile chat`);
  await works(t, moved(t, 'chat'), ['./chat']);
});
