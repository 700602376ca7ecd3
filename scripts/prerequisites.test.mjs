import test from 'ava';

import { olderThan } from './prerequisites.mjs';

test('versions are compared number by number', (t) => {
  for (const [version, floor, expected] of [
    ['20.16.9', '20.17.0', true],
    ['20.17.0', '20.17.0', false],
    ['1.9.0', '1.88.0', true],
    ['24.0.0-nightly', '20.17.0', false],
    ['1.88', '1.88.0', false],
  ]) {
    t.is(olderThan(version, floor), expected, `${version} against ${floor}`);
  }
});
