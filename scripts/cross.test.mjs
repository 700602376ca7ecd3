// Finds the newest glibc among a program's symbol versions, comparing them as versions.
import test from 'ava';

import { newestGlibc } from './cross.mjs';

test('the newest glibc version counts, number by number', (t) => {
  const names = (...versions) => Buffer.from(versions.map((version) => `GLIBC_${version}\0`).join('memcpy\0'));
  t.is(newestGlibc(names('2.2.5', '2.17', '2.3.4')), '2.17');
  t.is(newestGlibc(names('2.9', '2.34', '2.17')), '2.34');
  t.is(newestGlibc(names('2.17', '2.17.1')), '2.17.1');
  t.is(newestGlibc(Buffer.from('GLIBC_PRIVATE\0GLIBC_2.x\0')), '0', 'no version is named');
});
