import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import test from 'ava';

import { ROOT } from './process.mjs';
import { hashOf } from './stamp.mjs';

test('the hash follows names, contents and the rest, and nothing else', (t) => {
  const made = path.join(ROOT, 'target');
  mkdirSync(made, { recursive: true });
  const folder = mkdtempSync(path.join(made, 'stamp-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const at = path.relative(ROOT, folder).split(path.sep).join('/');
  const write = (name, text) => writeFileSync(path.join(folder, name), text);

  write('a.txt', 'one');
  const first = hashOf([at]);
  write('a.txt', 'one');
  t.is(hashOf([at]), first, 'written again with the same content');
  t.is(hashOf([at, `${at}/missing`]), first, 'a file that does not exist adds nothing');
  t.not(hashOf([at], 'release'), first, 'another profile');
  write('a.txt', 'two');
  t.not(hashOf([at]), first, 'another content');
  write('a.txt', 'one');
  write('b.txt', '');
  t.not(hashOf([at]), first, 'another file');
});
