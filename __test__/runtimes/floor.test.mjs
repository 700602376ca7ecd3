// A Node.js that is too old says so, whatever part of the package a program imports first.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import test from 'ava';

import { ROOT } from '../support/markdown.mjs';

const { bin, exports } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
const files = Object.values(exports).flatMap((entry) => entry.require?.default ?? []);

// browsers load the clients, too: they need nothing of Node.js
for (const file of [...files.filter((name) => !/client\.js$/.test(name)), bin.millrace]) {
  test(`${file} names the versions that it needs`, (t) => {
    const script = `process.getBuiltinModule = undefined; require(${JSON.stringify(path.join(ROOT, file))})`;
    const { status, stderr } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
    t.is(status, 1);
    t.regex(stderr, new RegExp(`Error: Millrace needs Node\\.js 20\\.17 or newer.*; this is ${process.version}\n`));
  });
}
