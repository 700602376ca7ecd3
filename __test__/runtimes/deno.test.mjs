// Deno's permissions: the flags in docs/runtimes.md are sufficient, and all of them are necessary.
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';

import test from 'ava';

import { runtimePath } from '../../scripts/runtimes.mjs';
import { SOON, within } from '../support/deadline.mjs';
import { needingRuntime, project } from '../support/runtimes.mjs';
import { endWith } from '../support/teardown.mjs';
import { connect } from '../support/ws-client.mjs';

const here = needingRuntime(test.serial, 'deno');

/** `deno run` with only the permissions in `flags`, whose paths are relative to the project. */
function deno(t, folder, flags) {
  const args = ['run', '--no-prompt', '--quiet', ...flags, 'server.mjs'];
  const child = spawn(runtimePath('deno'), args, { cwd: folder, stdio: 'pipe' });
  const run = { child, output: '', exited: endWith(t, child) };
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      run.output += chunk;
    });
  }
  run.listening = new Promise((resolve, reject) => {
    child.stdout.once('data', (chunk) => resolve(String(chunk).trim()));
    run.exited.then((code) => reject(new Error(`it ended with ${code}:\n${run.output}`)));
  });
  run.listening.catch(() => {});
  return run;
}

const ADDON = /node_modules.millrace.js.native.[\w.-]+$/;

here('the documented permissions are enough', async (t) => {
  const { folder, addon } = await project(t);
  const guide = await readFile(new URL('../../docs/runtimes.md', import.meta.url), 'utf8');
  const [, ffi, read] = /deno run (--allow-ffi=\S+) (--allow-read=\S+) server\.mjs/.exec(guide);
  t.is(read, '--allow-read=worker.mjs');
  t.is(ffi, '--allow-ffi=node_modules');
  t.regex(addon, ADDON);
  const { child, listening, exited } = deno(t, folder, [ffi, read]);
  const address = await within(listening, 'the address', 2 * SOON);
  const ws = await connect(t, address);
  ws.send('hello');
  t.is(await ws.text(), 'hello');
  child.stdin.end();
  t.is((await ws.closed()).code, 1001);
  t.is(await within(exited, 'the end'), 0);
});

here('the addon’s own file is enough for --allow-ffi', async (t) => {
  const { folder, addon } = await project(t);
  const { child, listening } = deno(t, folder, [
    `--allow-ffi=${path.relative(folder, addon)}`,
    '--allow-read=worker.mjs',
  ]);
  const ws = await connect(t, await within(listening, 'the address', 2 * SOON));
  ws.send('hello');
  t.is(await ws.text(), 'hello');
  child.stdin.end();
});

here('without --allow-ffi there is no addon, without --allow-read no worker', async (t) => {
  const { folder } = await project(t);
  const noAddon = deno(t, folder, ['--allow-read=worker.mjs']);
  t.is(await within(noAddon.exited, 'the end', 2 * SOON), 1);
  t.regex(noAddon.output, /Deno must be allowed to load it: deno run --allow-ffi=\S+\.node/);
  t.notRegex(noAddon.output, /npm (install|run)/, 'the error does not suggest installing or building anything');
  const noWorker = deno(t, folder, ['--allow-ffi=node_modules']);
  t.is(await within(noWorker.exited, 'the end', 2 * SOON), 1);
  t.regex(noWorker.output, /worker\.mjs.*--allow-read/);
});
