// The strict inflater of the tests, beside zlib: it reads what zlib writes, and refuses what zlib lets pass.
import zlib from 'node:zlib';

import test from 'ava';

import { deflate } from '../support/deflate.mjs';
import { inflateStrictly } from '../support/strict-inflate.mjs';
import { KINDS } from '../support/volume.mjs';

const TAIL = Buffer.from([0, 0, 0xff, 0xff]);
const whole = (data, options) => Buffer.concat([deflate(data, options), TAIL]);

test('it reads what zlib writes, with every window and level, with text before it and without', (t) => {
  for (const { source } of Object.values(KINDS)) {
    for (const windowBits of [9, 10, 12, 15]) {
      for (const level of [0, 1, 6, 9]) {
        for (const size of [0, 1, 300, 70_000]) {
          const [dictionary, data] = [Buffer.from(source.message(5000, 0)), Buffer.from(source.message(size, 1))];
          const window = 2 ** windowBits;
          t.true(inflateStrictly(whole(data, { level, windowBits }), { window }).data.equals(data));
          const after = inflateStrictly(whole(data, { level, windowBits, dictionary }), { dictionary, window });
          t.true(after.data.equals(data));
          t.true(after.farthest <= window);
        }
      }
    }
  }
});

test('it refuses a match that leaves the window, which zlib reads', (t) => {
  const noise = Buffer.from(Array.from({ length: 1000 }, (_, index) => Math.imul(index, 2654435761) >>> 19));
  const bytes = whole(Buffer.concat([noise, noise]));
  t.is(inflateStrictly(bytes, { window: 1024 }).farthest, 1000);
  t.throws(() => inflateStrictly(bytes, { window: 999 }), { message: /a match 1000 bytes back/ });
  t.is(zlib.inflateRawSync(bytes, { windowBits: 9, finishFlush: zlib.constants.Z_SYNC_FLUSH }).length, 2000);
});

test('it refuses final blocks, and messages that end within a block', (t) => {
  t.throws(() => inflateStrictly(Buffer.concat([zlib.deflateRawSync('Hello'), TAIL])), { message: 'a final block' });
  const bytes = whole('Hello, hello, hello');
  for (let end = 1; end < bytes.length - 5; end++) t.throws(() => inflateStrictly(bytes.subarray(0, end)));
});
