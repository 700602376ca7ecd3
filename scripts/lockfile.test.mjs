import test from 'ava';

import { lockfileFindings } from './lockfile.mjs';

test('an optional platform package without an entry is found', (t) => {
  const packages = {
    '': { devDependencies: { a: '1.0.0' } },
    'node_modules/a': { optionalDependencies: { 'a-linux': '1.0.0', 'a-darwin': '1.0.0' } },
    'node_modules/a-linux': {},
  };
  const findings = lockfileFindings(packages);
  t.is(findings.length, 1);
  t.regex(findings[0], /node_modules\/a needs a-darwin/);
});

test('the address of a registry is found', (t) => {
  const findings = lockfileFindings({ 'node_modules/a': { resolved: 'https://registry.example/a.tgz' } });
  t.regex(findings[0], /names a registry/);
});

test('a complete lock file passes', (t) => {
  t.deepEqual(
    lockfileFindings({ 'node_modules/a': { dependencies: { b: '1' } }, 'node_modules/a/node_modules/b': {} }),
    [],
  );
});
