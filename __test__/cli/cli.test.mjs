// The command line without a server: help, version, and one line with exit code 2 for whatever is wrong.
import { readFileSync } from 'node:fs';
import test from 'ava';

import { folderWith, millrace, RUNTIMES } from '../support/cli.mjs';

const { version, bin } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

test('package.json names the program', (t) => {
  t.deepEqual(bin, { millrace: 'js/dist/cli/main.js' });
  const [first] = readFileSync(new URL(`../../${bin.millrace}`, import.meta.url), 'utf8').split('\n');
  t.is(first, '#!/usr/bin/env node');
});

for (const runtime of RUNTIMES) {
  test(`${runtime}: version, help and a mistake`, async (t) => {
    t.deepEqual(await millrace(t, ['--version'], { runtime }), { code: 0, out: `${version}\n`, err: '' });
    const help = await millrace(t, ['--help'], { runtime });
    t.is(help.code, 0);
    t.regex(help.out, /^Usage: millrace <command>/);
    t.deepEqual(await millrace(t, ['serve', '--nonsense'], { runtime }), {
      code: 2,
      out: '',
      err: 'millrace: serve: unknown option --nonsense (see millrace serve --help)\n',
    });
  });
}

test('each command has a help that names its options', async (t) => {
  for (const [args, options] of [
    [
      ['serve', '--help'],
      ['--bind', '--threads', '--origin', '--watch'],
    ],
    [['serve', 'x.js', '-h'], ['--bind']],
    [
      ['help', 'bench'],
      ['--mode', '--connections', '--seconds', '--size', '--json'],
    ],
  ]) {
    const { code, out } = await millrace(t, args);
    t.is(code, 0);
    for (const option of options) t.true(out.includes(option), `${args.join(' ')}: ${option}`);
  }
});

const WRONG = [
  [[], /a command is missing/],
  [['nonsense'], /unknown command nonsense/],
  [['--nonsense'], /unknown option --nonsense/],
  [['serve'], /a worker module is missing/],
  [['serve', 'nowhere.mjs'], /there is no file nowhere\.mjs/],
  [['serve', '.'], /\. is not a file/],
  [['serve', 'worker.mjs', 'other.mjs'], /unexpected argument other\.mjs/],
  [['serve', 'worker.mjs', '--bind'], /--bind needs a value/],
  [['serve', 'worker.mjs', '--bind', '--watch'], /--bind needs a value/],
  [['serve', 'worker.mjs', '--bind', '3000'], /--bind must be .*, not "3000"/],
  [['serve', 'worker.mjs', '--bind', ':70000'], /--bind must be .*, not ":70000"/],
  [['serve', 'worker.mjs', '--threads', 'many'], /--threads must be a whole number from 0 to 1024, not "many"/],
  [['serve', 'worker.mjs', '--threads', '1025'], /--threads must be a whole number/],
  [['serve', 'worker.mjs', '--threads=-1'], /--threads must be a whole number/],
  [['serve', 'worker.mjs', '--origin', 'example.org'], /--origin must be/],
  [['serve', 'worker.mjs', '--watch=yes'], /--watch takes no value/],
  [['serve', 'worker.mjs', '--watch', '--threads', '0'], /--watch needs workers/],
  [['serve', 'worker.mjs', '--static', 'nowhere'], /there is no folder nowhere/],
  [['serve', 'worker.mjs', '--static'], /--static needs a value/],
  [['bench'], /a URL is missing/],
  [['bench', 'localhost:3000'], /the URL must be such as ws:\/\/localhost:3000/],
  [['bench', 'http://localhost:3000'], /the URL must be/],
  [['bench', 'ws://localhost:1', 'ws://localhost:2'], /one URL is enough/],
  [['bench', 'ws://localhost:1', '--mode', 'chat'], /--mode must be echo or connect/],
  [['bench', 'ws://localhost:1', '--seconds', '0'], /--seconds must be a whole number from 1 to 3600/],
  [['bench', 'ws://localhost:1', '--connections', '1e3'], /--connections must be a whole number/],
  [['bench', 'ws://localhost:1', '--size', '0'], /--size must be a whole number/],
  [['bench', 'ws://localhost:1', '-n', '5'], /unknown option -n/],
];

for (const [args, message] of WRONG) {
  test(`wrong: millrace ${args.join(' ')}`, async (t) => {
    const cwd = folderWith(t, { 'worker.mjs': '' });
    const { code, out, err } = await millrace(t, args, { cwd });
    t.is(code, 2);
    t.is(out, '');
    t.regex(err, message);
    t.regex(err, /^millrace: [^\n]+\n$/, 'one line');
  });
}
