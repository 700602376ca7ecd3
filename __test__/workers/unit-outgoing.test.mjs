// Streamed answers from the writer's side: when a writer must wait, and what happens if it does not. Without a network.
import { createRequire } from 'node:module';
import { mock } from 'node:test';
import test from 'ava';

const { Outgoing } = createRequire(import.meta.url)('../../js/dist/worker/outgoing.js');

const PIECE = new Uint8Array(2 ** 20);
const { now } = performance;
test.afterEach.always(() => {
  performance.now = now;
});

function made() {
  const calls = [];
  const told = [];
  const worker = Object.fromEntries(
    ['writeAnswer', 'wantRoom', 'endAnswer'].map((name) => [name, (...given) => calls.push([name, ...given])]),
  );
  const outcome = Object.fromEntries(
    ['ended', 'overrun', 'deserted'].map((name) => [name, () => void told.push(name)]),
  );
  const outgoing = new Outgoing(worker, 7, outcome);
  return { outgoing, calls, told, count: (name) => calls.filter(([called]) => called === name).length };
}

test.serial('a writer that waits for drained can write any amount, even to a slow client', async (t) => {
  const { outgoing, told, count } = made();
  let time = 1;
  performance.now = () => time;
  for (let piece = 0; piece < 100; piece += 1) {
    t.false(outgoing.write(PIECE));
    const drained = outgoing.drained();
    time += 60_000;
    outgoing.room();
    await drained;
  }
  t.is(count('writeAnswer'), 100);
  t.is(count('wantRoom'), 100);
  t.deepEqual(told, []);
});

test.serial('many pieces may be written at once', (t) => {
  const { outgoing, told, count } = made();
  for (let piece = 0; piece < 100; piece += 1) outgoing.write(PIECE);
  outgoing.end();
  t.is(count('writeAnswer'), 100);
  t.is(count('wantRoom'), 1);
  t.deepEqual(told, ['ended']);
});

test.serial('an answer ends if its writer does not wait for a client that does not read', async (t) => {
  const { outgoing, calls, told, count } = made();
  let time = 1;
  performance.now = () => time;
  for (let piece = 0; piece < 17; piece += 1) outgoing.write(PIECE);
  time += 9_000;
  t.false(outgoing.write(PIECE));
  const drained = outgoing.drained();
  time += 2_000;
  t.true(outgoing.write(PIECE));
  await drained;
  t.is(count('writeAnswer'), 18);
  t.deepEqual(calls.at(-1), ['endAnswer', 7, false]);
  t.deepEqual(told, ['overrun']);
  outgoing.write(PIECE);
  outgoing.end();
  t.is(count('writeAnswer'), 18);
  t.is(count('endAnswer'), 1);
});

test.serial('an answer continues if its client catches up from time to time', (t) => {
  const { outgoing, told } = made();
  let time = 1;
  performance.now = () => time;
  for (let round = 0; round < 5; round += 1) {
    for (let piece = 0; piece < 20; piece += 1) outgoing.write(PIECE);
    time += 9_000;
    outgoing.room();
  }
  t.deepEqual(told, []);
});

test.serial('the answer for a client that may have left continues as long as it is written', (t) => {
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  const { outgoing, calls, told } = made();
  outgoing.left();
  outgoing.left();
  for (let round = 0; round < 5; round += 1) {
    mock.timers.tick(29_000);
    outgoing.write(PIECE);
    outgoing.room();
  }
  t.deepEqual(told, []);
  mock.timers.tick(60_000);
  t.deepEqual(told, ['deserted']);
  t.deepEqual(calls.at(-1), ['endAnswer', 7, false]);
  mock.timers.tick(600_000);
  t.deepEqual(told, ['deserted']);
});

test.serial('an answer that has ended, or whose client has left, is no longer checked', (t) => {
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  const [ended, gone] = [made(), made()];
  for (const { outgoing } of [ended, gone]) outgoing.left();
  ended.outgoing.end();
  gone.outgoing.gone();
  gone.outgoing.left();
  mock.timers.tick(600_000);
  t.deepEqual(ended.told, ['ended']);
  t.deepEqual(gone.told, []);
});
