// `deno compile`, as docs/bundlers.md says. The runtime for the program, denort, comes from Deno's server; without it,
// the test checks the embedded files, but cannot run the program.
import { mkdtempSync, renameSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import test from 'ava';

import { pack } from '../../scripts/pack.mjs';
import { runtimePath } from '../../scripts/runtimes.mjs';
import { commandsUnder } from '../support/bundles.mjs';
import { project, runIn, serve } from '../support/installed.mjs';
import { fileOf } from '../support/markdown.mjs';
import { only } from '../support/platforms.mjs';
import { remove, removeWith } from '../support/teardown.mjs';
import { connect } from '../support/ws-client.mjs';

const PAGE = 'docs/bundlers.md';

let tarballs;

const out = mkdtempSync(path.join(os.tmpdir(), 'millrace-deno-'));

test.before(() => {
  tarballs = pack({ out });
});

test.after.always(() => remove(out));

/** Compiles the page's program into `folder`; returns what Deno printed. */
async function compile(t, denort) {
  const files = Object.fromEntries(
    await Promise.all(['server.mjs', 'worker.mjs'].map(async (name) => [name, await fileOf(PAGE, name)])),
  );
  const folder = project(t, tarballs, { files });
  const [command] = await commandsUnder(PAGE, 'Deno');
  const compiled = ['sh', '-c', command.replace(/^deno /, `${runtimePath('deno')} `)];
  const { status, output } = runIn(folder, compiled, { DENORT_BIN: denort, NO_COLOR: '1' });
  t.is(status, 0, output);
  return { folder, output };
}

only(
  test.serial,
  process.platform !== 'win32',
  'the page has commands of a shell',
)('what is compiled has the worker module and the packages in it', async (t) => {
  // any program will do for that
  const { output } = await compile(t, runtimePath('deno'));
  t.regex(output, /^.── worker\.mjs \(/m);
  const [, size] = /^.── node_modules\/\* \(([\d.]+)MB/m.exec(output) ?? [];
  t.true(Number(size) > 5, `the addon is not in it:\n${output}`);
});

only(
  test.serial,
  process.env.DENORT_BIN !== undefined,
  'DENORT_BIN names no runtime for compiled programs',
)('the compiled program runs, alone in a folder', async (t) => {
  const { folder } = await compile(t, process.env.DENORT_BIN);
  const alone = removeWith(t, mkdtempSync(path.join(os.tmpdir(), 'millrace-compiled-')));
  renameSync(path.join(folder, 'chat'), path.join(alone, 'chat'));
  const address = await serve(t, alone, ['./chat'], { BIND: '127.0.0.1:0' });
  const [one, two] = [await connect(t, address), await connect(t, address)];
  one.send('hello');
  t.regex(await two.text(), /^\d+: hello$/);
});
