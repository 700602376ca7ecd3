// The manifests of the platforms' packages agree with what @napi-rs/cli knows of their targets.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { parseTriple } from '@napi-rs/cli';
import test from 'ava';

import { whichFrom } from './pack.mjs';
import { ROOT } from './process.mjs';

const read = (file) => JSON.parse(readFileSync(path.join(ROOT, file), 'utf8'));

test('every target has a package with its system, processor and C library', (t) => {
  const targets = read('package.json').napi.targets.map((triple) => parseTriple(triple));
  t.deepEqual(readdirSync(path.join(ROOT, 'npm')).sort(), targets.map((target) => target.platformArchABI).sort());
  for (const { platformArchABI: name, platform, arch, abi } of targets) {
    const manifest = read(`npm/${name}/package.json`);
    t.is(manifest.name, `millrace-${name}`);
    t.is(manifest.main, `millrace.${name}.node`);
    t.deepEqual(manifest.files, [manifest.main]);
    t.deepEqual(manifest.os, [platform], name);
    t.deepEqual(manifest.cpu, [arch], name);
    const libc = platform === 'linux' ? [abi === 'musl' ? 'musl' : 'glibc'] : undefined;
    t.deepEqual(manifest.libc, libc, name);
  }
});

test('the command line chooses the addons', (t) => {
  t.is(whichFrom([]), 'here');
  t.is(whichFrom(['--all']), 'all');
  t.throws(() => whichFrom(['--al']), { message: /unknown argument --al/ });
  t.throws(() => whichFrom(['--all', 'more']), { message: /unknown argument more/ });
});
