// Saved files: how many at a time, when they pause the input, and their errors.
import { readdirSync, rmSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { folderFor } from '../support/files.mjs';
import { connectionOf, withFiles } from '../support/sockety-unit.mjs';

/** The operation that has a file saved, by its number. */
const SAVE = 8;

test('short files are created, written and named a few at a time', async (t) => {
  const folder = folderFor(t, {});
  const { connection, transfers, notes } = connectionOf();
  const count = 300;
  const message = withFiles(connection, Array(count).fill(3));
  let saved = 0;
  const all = message.files.map(async (file, index) => {
    await file.saveTo(path.join(folder, String(index)));
    saved += 1;
  });
  // the bytes and the end come apart
  for (let index = 0; index < count; index++) {
    transfers.find(100 + index).piece(Buffer.from('abc'), false);
    transfers.find(100 + index).piece(Buffer.alloc(0), true);
  }
  let most = 0;
  while (saved < count) {
    const parts = readdirSync(folder).filter((name) => name.endsWith('.part'));
    most = Math.max(most, parts.length);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(all);
  t.true(most <= 8, `${most} at a time`);
  t.is(String(await readFile(path.join(folder, '299'))), 'abc');
  t.is(readdirSync(folder).length, count);
  t.deepEqual(
    notes.filter(([name]) => name === 'tell'),
    [],
    'nobody else has anything of them',
  );
});

test('input waits while too many short files are being saved', async (t) => {
  t.timeout(120_000);
  const folder = folderFor(t, {});
  const { connection, transfers, notes } = connectionOf();
  const message = withFiles(connection, Array(5000).fill(1));
  const all = message.files.map((file, index) => file.saveTo(path.join(folder, String(index % 10))));
  const counted = () => notes.splice(0).filter(([name]) => name === 'hold' || name === 'release');
  for (let index = 0; index < 4000; index++) transfers.find(100 + index).piece(Buffer.alloc(1), true);
  t.deepEqual(counted(), []);
  for (let index = 4000; index < 4999; index++) transfers.find(100 + index).piece(Buffer.alloc(1), true);
  t.deepEqual(counted(), [['hold', 7, 2 ** 31, 0]]);
  connection.aborted(1);
  await t.throwsAsync(all.pop(), { code: 'ERR_SOCKETY_ABORTED' });
  await Promise.all(all);
  t.deepEqual(counted(), [['release', 7, 2 ** 31, 0]]);
});

test('files that are still coming hold nothing up, however many', async (t) => {
  const folder = folderFor(t, {});
  const { connection, transfers, notes } = connectionOf();
  const count = 5000;
  const message = withFiles(connection, Array(count).fill(2));
  const all = message.files.map((file, index) => file.saveTo(path.join(folder, String(index % 10))));
  const holds = () => notes.filter(([name]) => name === 'hold').length;
  for (let index = 0; index < count; index++) transfers.find(100 + index).piece(Buffer.alloc(1), false);
  const told = () => notes.filter(([name, , operation]) => name === 'tell' && operation === SAVE).length;
  await until(() => told() > 20, 'the first of them');
  t.is(holds(), 0, 'the rest of them could not come');
  connection.aborted(1);
  for (const one of all) await t.throwsAsync(one, { code: 'ERR_SOCKETY_ABORTED' });
  t.deepEqual(readdirSync(folder), []);
});

test('operations that the native side could not take are tried again', async (t) => {
  const folder = folderFor(t, {});
  const { connection, transfers, notes } = connectionOf();
  const message = withFiles(connection, [70_000]);
  const target = path.join(folder, 'a');
  const saved = message.files[0].saveTo(target);
  const told = () => notes.filter(([name, , operation]) => name === 'tell' && operation === SAVE);
  transfers.find(100).piece(Buffer.alloc(60_000), false);
  await until(() => told().length === 1, 'the first time');
  const [, , operation, fields] = told()[0];
  connection.untold(operation, fields);
  await until(() => told().length === 2, 'the second time');
  t.deepEqual(told()[1], told()[0]);
  const answer = Buffer.alloc(17);
  answer.writeUInt32LE(100, 0);
  answer.writeUInt32LE(10_000, 8);
  answer[16] = 1;
  connection.fileSaved(answer, '');
  await saved;
  t.is((await readFile(target)).length, 60_000, 'the rest is not written here');
  connection.untold(operation, fields);
});

test('if the native side removes a file, the error of its content says why', async (t) => {
  const folder = folderFor(t, {});
  for (const why of ['ERR_SOCKETY_ABORTED', 'ENOENT']) {
    const { connection, transfers, notes } = connectionOf();
    const message = withFiles(connection, [70_000, 1]);
    const [one, other] = message.files;
    const saved = one.saveTo(path.join(folder, 'a'));
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    saved.then(over, over);
    transfers.find(100).piece(Buffer.alloc(10), false);
    await until(() => notes.some(([name, , operation]) => name === 'tell' && operation === SAVE), 'it is told');
    const isWritten = (name) => name.endsWith('.part') && statSync(path.join(folder, name)).size === 10;
    await until(() => readdirSync(folder).some(isWritten), 'its beginning');
    for (const name of readdirSync(folder)) rmSync(path.join(folder, name));
    // far more is done for the other one than for what comes now
    transfers.find(100).piece(Buffer.alloc(10), false);
    transfers.find(101).piece(Buffer.alloc(1), true);
    await other.saveTo(path.join(folder, 'b'));
    if (why !== 'ENOENT') connection.aborted(1);
    // until it is opened again
    while (!isOver) {
      transfers.find(100)?.piece(Buffer.alloc(10), false);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await t.throwsAsync(saved, { code: why });
    t.deepEqual(readdirSync(folder), ['b']);
  }
});

test('saving or reading a file fails if its connection has ended', async (t) => {
  const { connection, transfers } = connectionOf();
  const message = withFiles(connection, [10, 10]);
  const [one, other] = message.files;
  transfers.find(100).piece(Buffer.alloc(1), false);
  connection.ended(undefined);
  await t.throwsAsync(one.saveTo('nowhere'), { code: 'ERR_SOCKETY_CLOSED' });
  await t.throwsAsync(other.saveTo('nowhere'), { code: 'ERR_SOCKETY_CLOSED' });
});
