// Real runs of ava in a project of their own: what is run once more, and what is not.
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

import test from 'ava';

import { testWithAva, unsteadyFiles } from './ava.mjs';
import { ROOT } from './process.mjs';

/** Notes a run in `runs`, and says how many there were before. */
const COUNTED = `
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import test from 'ava';
const before = existsSync('runs') ? readFileSync('runs', 'utf8').length : 0;
appendFileSync('runs', 'x');
`;

const ALWAYS = "import test from 'ava'; test('passes', (t) => t.pass());";

/** A project with these test files, in a folder of its own. They run in processes, which a test may kill. */
async function project(t, files) {
  const cwd = await mkdtemp(path.join(os.tmpdir(), 'millrace-ava-'));
  t.teardown(() => rm(cwd, { recursive: true, force: true }));
  await symlink(path.join(ROOT, 'node_modules'), path.join(cwd, 'node_modules'), 'junction');
  await writeFile(
    path.join(cwd, 'package.json'),
    '{"type":"module","ava":{"files":["**/*.test.mjs"],"cache":false,"workerThreads":false}}',
  );
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(cwd, name)), { recursive: true });
    await writeFile(path.join(cwd, name), text);
  }
  let shown = '';
  const show = (text) => {
    shown += text;
  };
  return {
    run: () => testWithAva({ cwd, show }),
    runs: async () => (await readFile(path.join(cwd, 'runs'), 'utf8')).length,
    shown: () => shown,
  };
}

test('a file whose test fails only beside others passes, and is named', async (t) => {
  const { run, runs, shown } = await project(t, {
    'one/unsteady.test.mjs': `${COUNTED} test('first › only', (t) => t.is(before, 1));`,
    'other/steady.test.mjs': ALWAYS,
  });
  t.deepEqual(await run(), ['one/unsteady.test.mjs']);
  t.is(await runs(), 2);
  t.regex(shown(), /[✘×] \[fail\]: one › unsteady › first › only/);
  t.regex(shown(), /one\/unsteady\.test\.mjs runs once more/);
});

test('a test that fails twice is a failure', async (t) => {
  const { run, runs } = await project(t, {
    'one/fails.test.mjs': `${COUNTED} test('always', (t) => t.fail());`,
    'other/steady.test.mjs': ALWAYS,
  });
  await t.throwsAsync(run(), { message: /one\/fails\.test\.mjs failed twice: ava ended with 1/ });
  t.is(await runs(), 2);
});

for (const [what, more] of [
  ['a crash', 'test("dies", () => process.kill(process.pid, "SIGKILL"));'],
  [
    'an exception that nobody catches',
    'setTimeout(() => { throw new Error("late") }, 5); test("waits", (t) => new Promise((done) => setTimeout(done, 50)).then(t.pass));',
  ],
  ['a failed hook', 'test.after(() => { throw new Error("after") }); test("passes", (t) => t.pass());'],
]) {
  test(`nothing runs once more because of ${what}, or beside it`, async (t) => {
    const { run, runs } = await project(t, {
      'one/unsteady.test.mjs': `${COUNTED} test('first only', (t) => t.is(before, 1));`,
      'other/worse.test.mjs': `import test from 'ava'; ${more}`,
    });
    await t.throwsAsync(run(), { message: /^ava ended with 1$/ });
    t.is(await runs(), 1);
  });
}

test('nothing runs once more if many files fail', async (t) => {
  const text = `${COUNTED} test('first only', (t) => t.true(before >= 4));`;
  const files = ['one/a', 'one/b', 'other/c', 'other/d'].map((name) => [`${name}.test.mjs`, text]);
  const { run, runs } = await project(t, Object.fromEntries(files));
  await t.throwsAsync(run(), { message: /^ava ended with 1$/ });
  t.is(await runs(), 4);
});

test('a file is run once more if one file alone can be meant, and tests alone have failed', (t) => {
  const output = (line, more = '3 tests skipped') => `  ${line}\n  ─\n\n  text\n\n  ─\n\n  1 test failed\n  ${more}\n`;
  const found = (...args) => unsteadyFiles(output(...args), ROOT);
  t.deepEqual(found('✘ [fail]: scripts › ava › a title'), ['scripts/ava.test.mjs']);
  t.deepEqual(found('× [fail]: scripts › ava › a title'), ['scripts/ava.test.mjs']);
  t.deepEqual(found('✘ [fail]: scripts › nowhere › a title'), []);
  t.deepEqual(found('✘ [unexpected pass]: scripts › ava › a title'), []);
  for (const more of ['1 uncaught exception', '2 unhandled rejections', '1 test remained pending after a timeout']) {
    t.deepEqual(found('✘ [fail]: scripts › ava › a title', more), [], more);
  }
});
