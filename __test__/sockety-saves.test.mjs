// Files that are saved: how many at a time, what holds input up meanwhile, and what they fail with.
import test from 'ava';

import { connectionOf, withFiles } from './support/sockety-unit.mjs';

test('a file whose connection has ended says so where it is saved or read', async (t) => {
  const { connection, transfers } = connectionOf();
  const message = withFiles(connection, [10, 10]);
  const [one, other] = message.files;
  transfers.find(100).piece(Buffer.alloc(1), false);
  connection.ended(undefined);
  await t.throwsAsync(one.saveTo('nowhere'), { code: 'ERR_SOCKETY_CLOSED' });
  await t.throwsAsync(other.saveTo('nowhere'), { code: 'ERR_SOCKETY_CLOSED' });
});
