// Servers and clients of millrace/sockety in several threads of a process, in each runtime: they share one gateway, from the
// first use in any thread to the last end.
import { once } from 'node:events';
import test from 'ava';

import { until, within } from '../support/deadline.mjs';
import { connect } from '../support/millrace-sockety.mjs';
import { linuxTests } from '../support/platforms.mjs';
import { refusing } from '../support/ports.mjs';
import { inEach } from '../support/runtimes.mjs';

const THREADS = 4;
const MAIN = -1;
const CYCLES = 50;
const all = Array.from({ length: THREADS }, (_, index) => index);

/** A process with so many threads, what tells one of them something, and what waits for the end of the process. */
async function threaded(t, launch, count) {
  const process = await launch();
  const run = (...args) => process.run('sockety-threads', ...args);
  // a thread that is left would keep the process
  let hasEnded = false;
  t.teardown(() => hasEnded || run('abandon'));
  const end = () => {
    hasEnded = true;
    return process.end();
  };
  if (count > 0) await run('start', count);
  return { process, run, end };
}

/** The I/O threads are those of one gateway: each has a number of its own, once it has begun. */
async function ofOneGateway(t, process) {
  const names = await until(async () => {
    const all = await process.run('io-threads');
    return all.includes('millrace-io-0') && all;
  }, 'the first I/O thread');
  t.deepEqual([...new Set(names)], names);
}

/** The gateway has ended; the thread that says so last may be there for a moment. */
const noneLeft = (process) =>
  until(async () => (await process.run('io-threads')).length === 0, 'the end of the I/O threads');

inEach(linuxTests(test), 'servers and clients of many threads share one gateway', async (t, { launch }) => {
  const { process, run, end } = await threaded(t, launch, THREADS);
  // first uses at once
  const ports = await Promise.all(all.map((index) => run('open', index, `thread ${index}`)));
  await ofOneGateway(t, process);
  for (const index of all) {
    const heard = await Promise.all(ports.map((port, other) => (other === index ? '' : run('ask', index, port))));
    t.deepEqual(
      heard,
      all.map((other) => (other === index ? '' : `thread ${other}`)),
    );
  }
  await ofOneGateway(t, process);
  // who dials where nobody listens hears of it, and no other thread
  const free = await run('open', MAIN, 'main');
  await run('close', MAIN);
  await refusing(free);
  t.deepEqual(await Promise.all(all.map((index) => run('fail', index, free))), Array(THREADS).fill('ECONNREFUSED'));
  for (const index of all) {
    await run('close', index);
    await within(run('leave', index), 'the end of the thread');
  }
  await noneLeft(process);
  await end();
});

inEach(linuxTests(test), 'the thread that began may end first, in order or not', async (t, { launch }) => {
  const { process, run, end } = await threaded(t, launch, 3);
  const first = await run('open', 0, 'first');
  const second = await run('open', 1, 'second');
  const third = await run('open', 2, 'third');
  t.is(await run('ask', 0, third), 'third');
  t.is(await run('ask', 2, second), 'second');
  t.is(await run('ask', 2, first), 'first');
  // in order
  await run('close', 0);
  await run('lost', 2, first);
  await within(run('leave', 0), 'the end of the thread');
  await refusing(first);
  t.is(await run('ask', 2, second), 'second', 'on the connection that was there');
  t.is(await run('ask', 1, third), 'third');
  // not in order
  const client = await connect({ port: second, host: '127.0.0.1' }).ready();
  client.on('error', () => undefined);
  const closed = once(client, 'close');
  await run('end', 1);
  await within(closed, 'the end of its connections');
  await within(run('lost', 2, second), 'the end of its connections within the process');
  await refusing(second);
  await ofOneGateway(t, process);
  t.is(await run('open', MAIN, 'main').then((port) => run('ask', 2, port)), 'main');
  await run('end', 2);
  await run('close', MAIN);
  await noneLeft(process);
  await end();
});

inEach(linuxTests(test), 'ends and first uses on several threads meet', async (t, { launch }) => {
  const { process, run, end } = await threaded(t, launch, 3);
  const ofAll = [MAIN, 0, 1, 2];
  await Promise.all(ofAll.map((index) => run('cycle', index, 5)));
  await noneLeft(process);
  const before = await process.usage();
  await Promise.all(ofAll.map((index) => run('cycle', index, CYCLES)));
  await noneLeft(process);
  const after = await process.usage();
  // runtimes have some of their own, which they make when they need them
  for (const what of ['descriptors', 'threads']) {
    t.true(after[what] < before[what] + CYCLES / 2, `${after[what]} ${what}, before ${before[what]}`);
  }
  for (const index of [0, 1, 2]) await within(run('leave', index), 'the end of the thread');
  await end();
});

inEach(linuxTests(test), 'threads that come and go in the middle of it leave nothing behind', async (t, { launch }) => {
  const { process, run, end } = await threaded(t, launch, 0);
  const port = await run('open', MAIN, 'main');
  await run('ask', MAIN, port);
  const counts = await process.run('native-counts');
  for (let round = 0; round < 5; round++) {
    const total = await run('start', 2);
    const [one, other] = [total - 2, total - 1];
    t.is(await run('open', one, 'one').then((of) => run('ask', other, of)), 'one');
    t.is(await run('ask', other, port), 'main');
    await Promise.all([run('end', one), run('end', other)]);
    t.is(await run('ask', MAIN, port), 'main');
  }
  const same = async () => JSON.stringify(await process.run('native-counts')) === JSON.stringify(counts);
  await until(same, 'what is made for threads to be gone');
  await ofOneGateway(t, process);
  await run('close', MAIN);
  await noneLeft(process);
  await end();
});
