// A release has a version, newer than the last one.
import test from 'ava';

import { checkNext } from './release.mjs';

test('the next version is newer', (t) => {
  for (const [current, next] of [
    ['0.1.0', '0.1.1'],
    ['0.9.0', '0.10.0'],
    ['0.1.0', '0.2.0-beta.1'],
    ['0.2.0-beta.9', '0.2.0-beta.10'],
    ['0.2.0-alpha.2', '0.2.0-beta.1'],
    ['0.2.0-beta.2', '0.2.0'],
  ]) {
    t.notThrows(() => checkNext(current, next), `${current} to ${next}`);
  }
  for (const [current, next] of [
    ['0.1.0', '0.1.0'],
    ['0.10.0', '0.9.0'],
    ['0.2.0', '0.2.0-beta.1'],
    ['0.2.0-beta.2', '0.2.0-beta.1'],
  ]) {
    t.throws(() => checkNext(current, next), { message: /is not newer/ }, `${current} to ${next}`);
  }
  for (const text of ['', 'v0.2.0', '0.2', '0.2.0-beta', '1.2.3.4']) {
    t.throws(() => checkNext('0.1.0', text), { message: /is no version/ }, text);
  }
});
