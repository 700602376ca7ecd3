// `millrace init` writes a project that runs, in JavaScript and in TypeScript, and overwrites nothing.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

import { npm } from '../../scripts/process.mjs';
import { folderWith, Millrace, millrace } from '../support/cli.mjs';
import { signalTests } from '../support/platforms.mjs';
import { needingRuntime } from '../support/runtimes.mjs';
import { connect } from '../support/ws-client.mjs';

const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', '..');

/** The files below a folder, without what is installed. */
function filesIn(folder) {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  return files.map((file) => path.relative(folder, file).split(path.sep).join('/')).sort();
}

/** As `npm install` leaves it, but that the packages are links to those here. */
function install(project) {
  const { dependencies, devDependencies = {} } = JSON.parse(readFileSync(path.join(project, 'package.json'), 'utf8'));
  const sources = { millrace: ROOT, 'undici-types': path.join(ROOT, 'node_modules/undici-types') };
  for (const name of Object.keys(devDependencies)) sources[name] = path.join(ROOT, 'node_modules', name);
  for (const [name, source] of Object.entries(sources)) {
    const place = path.join(project, 'node_modules', name);
    mkdirSync(path.dirname(place), { recursive: true });
    symlinkSync(source, place, 'junction');
  }
  return dependencies.millrace;
}

/** Runs the project's server, and asks it for all that its README says. */
async function tryOut(t, runtime, cwd, script) {
  const run = new Millrace(t, [], { runtime, cwd, program: path.join(cwd, script), env: { PORT: '0' } });
  const [, url] = await run.prints(/Listening on (http:\/\/\S+)\n/);
  const page = await fetch(url);
  t.is(page.headers.get('content-type'), 'text/html; charset=utf-8');
  t.regex(await page.text(), /new WebSocket\(url\)/);
  for (const probe of ['/health', '/ready']) t.is((await fetch(`${url}${probe}`)).status, 200);
  const { host } = new URL(url);
  const [one, two] = [await connect(t, host, { path: '/?name=Ann' }), await connect(t, host)];
  one.send('hello');
  for (const client of [one, two]) t.deepEqual(await client.json(), { from: 'Ann', text: 'hello' });
  two.send('hi');
  t.deepEqual(await one.json(), { from: 'guest', text: 'hi' });
  run.signal('SIGTERM');
  t.is(await run.exit(), 0, run.err);
  t.is(run.err, '');
}

for (const runtime of ['node', 'bun', 'deno']) {
  signalTests(needingRuntime(test, runtime))(`${runtime}: a project in JavaScript runs`, async (t) => {
    const cwd = folderWith(t, {});
    const { code, out, err } = await millrace(t, ['init', 'My Server'], { runtime, cwd });
    t.is(code, 0, err);
    const project = path.join(cwd, 'My Server');
    const files = ['.gitignore', 'README.md', 'package.json', 'public/index.html', 'server.js', 'worker.js'];
    t.deepEqual(filesIn(project), files);
    for (const file of files) t.true(out.includes(file), out);
    t.true(out.endsWith('Next:\n\n  cd "My Server"\n  npm install\n  npm start\n'), out);
    const { name, scripts } = JSON.parse(readFileSync(path.join(project, 'package.json'), 'utf8'));
    t.is(name, 'my-server');
    t.is(scripts.start, 'node server.js');
    t.is(install(project), 'file:../../..', 'a clone depends on itself');
    await tryOut(t, runtime, project, 'server.js');
  });

  signalTests(needingRuntime(test, runtime))(`${runtime}: a project in TypeScript compiles and runs`, async (t) => {
    const cwd = folderWith(t, {});
    const { code, err } = await millrace(t, ['init', '--typescript'], { runtime, cwd });
    t.is(code, 0, err);
    const sources = ['public/index.html', 'src/server.ts', 'src/worker.ts', 'tsconfig.json'];
    t.deepEqual(filesIn(cwd), ['.gitignore', 'README.md', 'package.json', ...sources]);
    install(cwd);
    const { start, build } = JSON.parse(readFileSync(path.join(cwd, 'package.json'), 'utf8')).scripts;
    t.is(start, `${build} && node dist/server.js`);
    const [program, ...args] = npm('run', 'build');
    const PATH = `${path.join(ROOT, 'node_modules/.bin')}${path.delimiter}${process.env.PATH}`;
    const { status, stdout } = spawnSync(program, args, { cwd, env: { ...process.env, PATH }, encoding: 'utf8' });
    t.is(status, 0, stdout);
    await tryOut(t, runtime, cwd, 'dist/server.js');
  });
}

test('a file that is there is not overwritten, and nothing is written beside it', async (t) => {
  for (const there of ['package.json', 'worker.js', 'public/index.html']) {
    const cwd = folderWith(t, { [`app/${there}`]: 'mine' });
    const { code, out, err } = await millrace(t, ['init', 'app'], { cwd });
    t.is(code, 2);
    t.is(out, '');
    t.is(err, `millrace: init: there is ${path.join('app', there)} already; nothing was written\n`);
    t.deepEqual(filesIn(cwd), [`app/${there}`]);
  }
  const twice = folderWith(t, {});
  t.is((await millrace(t, ['init'], { cwd: twice })).code, 0);
  writeFileSync(path.join(twice, 'server.js'), 'mine');
  t.is((await millrace(t, ['init'], { cwd: twice })).code, 2);
  t.is(readFileSync(path.join(twice, 'server.js'), 'utf8'), 'mine');
});

test('other files may be there', async (t) => {
  const cwd = folderWith(t, { 'notes.txt': 'mine' });
  t.is((await millrace(t, ['init', '.'], { cwd })).code, 0);
  t.true(existsSync(path.join(cwd, 'server.js')));
});

test('unknown arguments are wrong usage', async (t) => {
  const cwd = folderWith(t, {});
  for (const [args, says] of [
    [['init', 'a', 'b'], 'init: unexpected argument b'],
    [['init', '--javascript'], 'init: unknown option --javascript'],
    [['init', '--typescript=yes'], 'init: --typescript takes no value'],
  ]) {
    const { code, err } = await millrace(t, args, { cwd });
    t.is(code, 2);
    t.true(err.startsWith(`millrace: ${says}`), err);
  }
  t.deepEqual(filesIn(cwd), []);
  t.regex((await millrace(t, ['init', '--help'], { cwd })).out, /^Usage: millrace init \[directory\]/);
});
