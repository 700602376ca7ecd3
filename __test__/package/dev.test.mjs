// `npm run dev`: a program is started again when a source changes, after a build; a build that fails is tried again.
// The build is the test's own here: the real one takes a compiler's time and changes what other tests run.
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import test from 'ava';

import { develop } from '../../scripts/dev.mjs';
import { Failure } from '../../scripts/process.mjs';
import { folderWith } from '../support/cli.mjs';
import { until, within } from '../support/deadline.mjs';
import { signalTests } from '../support/platforms.mjs';
import { exitOf } from '../support/teardown.mjs';

/** Notes its beginning and its end in a file, and runs until it is told to end. */
const program = (name) => `
import { appendFileSync } from 'node:fs';
const note = (text) => appendFileSync(new URL('./notes.txt', import.meta.url), text + '\\n');
process.on('SIGTERM', () => { note('end ${name}'); process.exit(0); });
setInterval(() => {}, 1000);
note('begin ${name} ' + process.argv[2]);
`;

signalTests(test)('builds, runs, and does both again with each change', async (t) => {
  const folder = folderWith(t, { 'server.mjs': program('one'), 'src/lib.rs': '', 'notes.txt': '' });
  const told = [];
  let builds = 0;
  let broken = false;
  const stop = develop({
    program: path.join(folder, 'server.mjs'),
    args: ['argument'],
    folders: [folder],
    build: async () => {
      builds += 1;
      if (broken) throw new Failure('error: expected one of a hundred tokens');
    },
    tell: (text) => told.push(text),
  });
  t.teardown(stop);
  const notes = () => readFileSync(path.join(folder, 'notes.txt'), 'utf8');
  const noted = (text) =>
    until(
      async () => notes() === text,
      () => `${text}, not\n${notes()}\n${told.join('\n')}`,
    );
  const change = (file, text) => writeFileSync(path.join(folder, file), text);

  await noted('begin one argument\n');
  t.is(builds, 1);
  change('server.mjs', program('two'));
  await noted('begin one argument\nend one\nbegin two argument\n');
  t.true(builds >= 2);
  t.regex(told[0], /server\.mjs changed$/);

  broken = true;
  change('src/lib.rs', 'fn main() {');
  await until(async () => told.includes('Waiting for a change'), 'the failed build');
  t.true(told.includes('error: expected one of a hundred tokens'), 'in a line, without a stack');
  await noted('begin one argument\nend one\nbegin two argument\nend two\n');

  broken = false;
  change('src/lib.rs', 'fn main() {}');
  await noted('begin one argument\nend one\nbegin two argument\nend two\nbegin two argument\n');
  await stop();
  t.regex(notes(), /begin two argument\nend two\n$/, 'ended with it');
});

test('a program that ends by itself is reported, and started with the next change', async (t) => {
  const folder = folderWith(t, { 'server.mjs': 'process.exit(3);' });
  const told = [];
  const stop = develop({
    program: path.join(folder, 'server.mjs'),
    args: [],
    folders: [folder],
    build: async () => {},
    tell: (text) => told.push(text),
  });
  t.teardown(stop);
  const ends = () => told.map((text) => /exit code (\d); waiting for a change$/.exec(text)?.[1]).filter(Boolean);
  await until(async () => ends().length === 1, 'the first end');
  writeFileSync(path.join(folder, 'server.mjs'), 'process.exit(4);');
  await until(async () => ends().includes('4'), 'the second end');
  t.is(ends()[0], '3');
});

signalTests(test)('Ctrl-C, which reaches the program too, is the only signal that it gets', async (t) => {
  const noting = `
import { appendFileSync, existsSync } from 'node:fs';
const note = (text) => appendFileSync(new URL('./notes.txt', import.meta.url), text + '\\n');
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    note(signal);
    // what was sent to it by then is noted first
    setInterval(() => existsSync(new URL('./heeded', import.meta.url)) && setImmediate(() => process.exit(0)), 5);
  });
}
setInterval(() => {}, 1000);
note('begin');
`;
  const developing = `
import { writeFileSync } from 'node:fs';
import { develop, stopOnSignal } from '${new URL('../../scripts/dev.mjs', import.meta.url).href}';
const program = process.argv[2];
const stop = develop({ program, args: [], folders: [], build: async () => {}, tell: console.log });
stopOnSignal((told) => {
  const stopped = stop(told);
  writeFileSync(new URL('./heeded', import.meta.url), '');
  return stopped;
});
`;
  const folder = folderWith(t, { 'server.mjs': noting, 'dev.mjs': developing, 'notes.txt': '' });
  const notes = () => readFileSync(path.join(folder, 'notes.txt'), 'utf8');
  // a group of its own, as a terminal makes for each command
  const args = [path.join(folder, 'dev.mjs'), path.join(folder, 'server.mjs')];
  const child = spawn(process.execPath, args, { detached: true, stdio: 'ignore' });
  const exited = exitOf(child);
  t.teardown(async () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid, 'SIGKILL');
    await exited;
  });
  await until(async () => notes() === 'begin\n', 'the program');
  process.kill(-child.pid, 'SIGINT');
  t.is(await within(exited, 'the end'), 0);
  t.is(notes(), 'begin\nSIGINT\n');
});
