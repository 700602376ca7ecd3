// Guarantee 6: a slow reader costs at most its outbox, and the application chooses what happens then. Also clients that
// never read.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { linuxTests } from '../support/platforms.mjs';
import { ask, member, ownServer, worker } from '../support/server.mjs';

const MIB = 1024 * 1024;
/** A client that does not read must be closed for the tested reason, however long that takes on a busy machine. */
const PATIENT = { writeTimeoutMs: 600_000, closeTimeoutMs: 600_000, pingIntervalMs: 0 };
const limits = (more) => ({
  workerPath: worker('commands'),
  threads: 1,
  limits: { ...PATIENT, outboxBytes: 256 * 1024, ...more },
});

/** Floods `target` until something of it must have hit the limit; the number of messages posted. */
async function overflow(sender, target, { rounds = 40, size = 10_000 } = {}) {
  let posted = 0;
  for (let round = 0; round < rounds; round++) {
    posted += await ask(sender, { cmd: 'flood', who: target, count: 50, prefix: String(round), size });
  }
  return posted;
}

const numbersOf = (ws) =>
  ws.inbox.map(({ data }) => data.split(' ').slice(0, 2).map(Number)).map(([round, index]) => round * 50 + index);

test('policy close (the default): no hole, then close 1013', async (t) => {
  const server = await ownServer(t, limits());
  const [sender, stalled] = [await member(t, server), await member(t, server)];
  stalled.pause();
  const posted = await overflow(sender, stalled.id);
  t.true(posted <= 2000);
  stalled.resume();
  t.is((await stalled.closed()).code, 1013);
  const numbers = numbersOf(stalled);
  t.true(numbers.length > 0);
  t.deepEqual(
    numbers,
    numbers.map((_, index) => index),
    'what arrived is a prefix without a hole',
  );
  const counted = async () => {
    const { droppedByClose, droppedByOverflow } = await server.call('stats');
    return numbers.length + droppedByClose + droppedByOverflow;
  };
  await until(async () => (await counted()) >= posted, 'what did not arrive to be counted');
  t.is(await counted(), posted, 'what did not arrive is counted');
  t.is((await server.call('stats')).overflowCloses, 1);
  t.is(await ask(sender, { cmd: 'ping' }), 'pong');
});

test('policy dropNewest: the connection lives, the oldest are kept in order', async (t) => {
  const server = await ownServer(t, limits({ outboxPolicy: 'dropNewest' }));
  const [sender, stalled] = [await member(t, server), await member(t, server)];
  stalled.pause();
  const posted = await overflow(sender, stalled.id, { rounds: 100 });
  stalled.resume();
  await ask(stalled, { cmd: 'ping' });
  const numbers = numbersOf(stalled);
  t.true(numbers.length < 5000, 'something was dropped');
  t.is(numbers.length + (await server.call('stats')).droppedByOverflow, posted, 'what did not arrive is counted');
  t.deepEqual(
    numbers.slice(0, 20),
    Array.from({ length: 20 }, (_, index) => index),
    'the oldest are there',
  );
  t.deepEqual(
    numbers,
    [...numbers].sort((a, b) => a - b),
  );
  t.is(new Set(numbers).size, numbers.length);
  await ask(sender, { cmd: 'sendToSockets', ids: [stalled.id], data: 'alive' });
  await stalled.when(() => stalled.inbox.at(-1)?.data === 'alive', 'a message after the drops');
});

test('policy dropOldest: the connection lives, the newest are kept in order', async (t) => {
  const server = await ownServer(t, limits({ outboxPolicy: 'dropOldest' }));
  const [sender, stalled] = [await member(t, server), await member(t, server)];
  stalled.pause();
  const posted = await overflow(sender, stalled.id, { rounds: 100 });
  stalled.resume();
  await ask(stalled, { cmd: 'ping' });
  const numbers = numbersOf(stalled);
  t.true(numbers.length < 5000, 'something was dropped');
  t.is(numbers.length + (await server.call('stats')).droppedByOverflow, posted, 'what did not arrive is counted');
  const newest = Array.from({ length: 20 }, (_, index) => 4980 + index);
  t.deepEqual(numbers.slice(-20), newest, 'the newest are there');
  t.deepEqual(
    numbers,
    [...numbers].sort((a, b) => a - b),
  );
  t.is(new Set(numbers).size, numbers.length);
});

test('outboxFrames bounds the number of messages', async (t) => {
  const server = await ownServer(t, limits({ outboxBytes: 64 * MIB, outboxFrames: 100 }));
  const [sender, stalled] = [await member(t, server), await member(t, server)];
  stalled.pause();
  await overflow(sender, stalled.id, { rounds: 20 });
  stalled.resume();
  t.is((await stalled.closed()).code, 1013);
});

test('one message always fits an empty outbox', async (t) => {
  const server = await ownServer(t, limits({ outboxBytes: 1024 }));
  const sender = await member(t, server);
  t.is(await server.call('send', sender.id, 'x'.repeat(8 * MIB)), 1);
  t.is((await sender.text()).length, 8 * MIB);
  t.is(await ask(sender, { cmd: 'ping' }), 'pong');
});

test('a message that is being written does not count towards the outbox', async (t) => {
  const server = await ownServer(t, limits({ outboxBytes: 4 * MIB }));
  const [sender, reader] = [await member(t, server), await member(t, server)];
  const calls = ['x'.repeat(8 * MIB), '1'].map((data) => ({ fn: 'send', args: [reader.id, data] }));
  reader.pause();
  await ask(sender, { cmd: 'batch', calls });
  reader.resume();
  t.is((await reader.text()).length, 8 * MIB);
  t.is(await reader.text(), '1');
  t.is(await ask(reader, { cmd: 'ping' }), 'pong');
});

test('handleDrain is called when an outbox fell below its low-water mark', async (t) => {
  const server = await ownServer(t, {
    workerPath: worker('drain'),
    threads: 1,
    limits: { ...PATIENT, outboxBytes: 64 * MIB },
  });
  const [sender, stalled] = [await member(t, server), await member(t, server)];
  stalled.pause();
  await ask(sender, { cmd: 'flood', who: stalled.id, count: 3000, prefix: '0', size: 10_000 });
  // more than the kernel takes: what it buffers needs no drain
  await until(async () => (await server.call('stats')).outboxBytes > MIB, 'a full outbox');
  stalled.resume();
  await stalled.when(() => stalled.received === 3000, 'all messages');
  await until(
    async () => Number((await server.call('getKey', `drained ${stalled.id}`))?.toString() ?? 0) >= 1,
    'handleDrain',
  );
  t.pass();
});

test('a slow reader does not delay the others', async (t) => {
  const server = await ownServer(t, limits({ outboxBytes: 1 * MIB }));
  const sender = await member(t, server);
  const fast = await Promise.all(Array.from({ length: 5 }, () => member(t, server)));
  const stalled = await Promise.all(Array.from({ length: 5 }, () => member(t, server)));
  for (const ws of stalled) ws.pause();
  await server.call(
    'subscribe',
    [...fast, ...stalled].map(({ id }) => id),
    'room',
  );
  for (let round = 0; round < 20; round++) {
    await ask(sender, { cmd: 'flood', who: 'room', count: 50, prefix: String(round), size: 5000 });
    for (const ws of fast) await ws.when(() => ws.received >= (round + 1) * 50, 'the round');
  }
  for (const ws of fast)
    t.deepEqual(
      numbersOf(ws),
      Array.from({ length: 1000 }, (_, index) => index),
    );
});

test('a write that makes no progress for writeTimeoutMs closes with 1013', async (t) => {
  const server = await ownServer(t, limits({ outboxBytes: 64 * MIB, writeTimeoutMs: 500, pingIntervalMs: 0 }));
  const [sender, stalled] = [await member(t, server), await member(t, server)];
  stalled.pause();
  await ask(sender, { cmd: 'flood', who: stalled.id, count: 800, prefix: '0', size: 10_000 });
  await until(
    async () => (await server.call('getDebugState', 'sockets', stalled.id)) === undefined,
    'the stalled socket to be closed',
  );
  t.is(await ask(sender, { cmd: 'ping' }), 'pong');
});

test('outboxesTotalBytes: the fullest are closed first, with 1013', async (t) => {
  const server = await ownServer(t, {
    workerPath: worker('commands'),
    threads: 1,
    ioThreads: 1,
    limits: { ...PATIENT, outboxBytes: 64 * MIB, outboxesTotalBytes: 4 * MIB },
  });
  const sender = await member(t, server);
  const [full, modest] = [await member(t, server), await member(t, server)];
  full.pause();
  modest.pause();
  await ask(sender, { cmd: 'flood', who: modest.id, count: 10, prefix: '0', size: 1000 });
  for (let round = 0; round < 60; round++)
    await ask(sender, { cmd: 'flood', who: full.id, count: 20, prefix: String(round), size: 10_000 });
  await until(
    async () => (await server.call('getDebugState', 'sockets', full.id)) === undefined,
    'the fullest to be closed',
  );
  t.not(await server.call('getDebugState', 'sockets', modest.id), undefined);
  full.resume();
  modest.resume();
  t.is((await full.closed()).code, 1013);
  await modest.when(() => modest.received === 10, 'its messages');
  t.is(await ask(modest, { cmd: 'ping' }), 'pong');
});

test('a client that sends and never reads stops itself: it is not read while its outbox is full', async (t) => {
  const server = await ownServer(t, {
    workerPath: worker('commands'),
    threads: 1,
    limits: { ...PATIENT, outboxReadPauseBytes: 64 * 1024 },
  });
  const [other, rude] = [await member(t, server), await member(t, server)];
  rude.pause();
  const payload = 'x'.repeat(20_000);
  // Echoes pile up until the server takes nothing more from the client.
  await until(() => {
    for (let index = 0; index < 50; index++) rude.send(payload);
    return rude.bytesBuffered > 8 * MIB;
  }, 'the server to stop reading');
  t.not(await server.call('getDebugState', 'sockets', rude.id), undefined, 'it is paused, not closed');
  for (let index = 0; index < 20; index++) t.is(await ask(other, { cmd: 'ping' }), 'pong');
  rude.resume();
  await until(() => rude.bytesBuffered === 0, 'everything to be read again');
  await ask(rude, { cmd: 'ping' });
});

const WARM_ROUNDS = 30;

linuxTests(test)(
  '20 never-readers under a broadcast flood: bounded memory, nobody delayed, no hole before 1013',
  async (t) => {
    const server = await ownServer(t, { workerPath: worker('commands'), threads: 1, limits: PATIENT });
    const sender = await member(t, server);
    const reader = await member(t, server);
    const stalled = await Promise.all(Array.from({ length: 20 }, () => member(t, server)));
    await server.call(
      'subscribe',
      [reader, ...stalled].map(({ id }) => id),
      'flood',
    );
    const flood = async (prefix, count) => {
      const received = reader.received + count;
      await ask(sender, { cmd: 'flood', who: 'flood', count, prefix, size: 2000 });
      await reader.when(() => reader.received === received, 'the round at the reader');
      reader.inbox.length = 0;
    };
    // the heap of the runtime grows to its size, 5 MiB in Bun
    for (let round = 0; round < WARM_ROUNDS; round++) await flood('warm', 50);
    await until(() => stalled.every((ws) => ws.received === WARM_ROUNDS * 50), 'the warm-up');
    for (const ws of stalled) {
      ws.inbox.length = 0;
      ws.pause();
    }
    const before = await server.usage();
    let highest = 0;
    for (let round = 0; round < 150; round++) {
      await flood(String(round), 50);
      if (round % 10 === 0) highest = Math.max(highest, (await server.usage()).rss);
    }
    const grown = (highest - before.rss) / MIB;
    t.log(`grew by ${grown.toFixed(1)} MiB`);
    t.true(grown < 16, `grew by ${grown.toFixed(1)} MiB`);
    for (const ws of stalled) ws.resume();
    for (const ws of stalled) {
      t.is((await ws.closed()).code, 1013);
      const numbers = numbersOf(ws);
      t.true(
        numbers.every((value, index) => value === index),
        'no hole',
      );
    }
    const { overflowCloses, droppedByOverflow } = await server.call('stats');
    t.is(overflowCloses, 20);
    t.true(droppedByOverflow > 0, 'what they did not get is counted');
  },
);

linuxTests(test)('50 clients that send echoes and never read: bounded memory, nobody delayed', async (t) => {
  const server = await ownServer(t, { workerPath: worker('commands'), threads: 1, limits: PATIENT });
  const other = await member(t, server);
  const rude = await Promise.all(Array.from({ length: 50 }, () => member(t, server)));
  const before = await server.usage();
  for (const ws of rude) ws.pause();
  const payload = 'x'.repeat(10_000);
  for (let round = 0; round < 100; round++) {
    for (const ws of rude) {
      if (ws.bytesBuffered < 4 * MIB) for (let index = 0; index < 5; index++) ws.send(payload);
    }
    t.is(await ask(other, { cmd: 'ping' }), 'pong');
  }
  const grown = ((await server.usage()).rss - before.rss) / MIB;
  t.log(`grew by ${grown.toFixed(1)} MiB`);
  t.true(grown < 32, `grew by ${grown.toFixed(1)} MiB`);
});
