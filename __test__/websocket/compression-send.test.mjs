// Compressed messages to real clients (`ws`): which are compressed and how often, in what order they arrive, and what
// waits for whom.
import { once } from 'node:events';

import test from 'ava';
import WebSocket from 'ws';

import { until, within } from '../support/deadline.mjs';
import { patterned } from '../support/patterned.mjs';
import { ownServer, worker } from '../support/server.mjs';

const OPTIONS = { workerPath: worker('commands'), threads: 1, ioThreads: 4, compression: true };

/** A client that collects what it gets, and knows its socket id. */
async function client(t, server, perMessageDeflate, index = 0) {
  const ws = new WebSocket(`ws://${server.addresses[index]}`, { perMessageDeflate });
  t.teardown(() => ws.terminate());
  ws.on('error', (error) => t.log(error));
  await within(once(ws, 'open'), 'the handshake');
  ws.send('{"cmd":"getSocketId","n":1}');
  const [answer] = await within(once(ws, 'message'), 'its id');
  const got = [];
  ws.on('message', (data) => got.push(data.toString()));
  const closed = once(ws, 'close').then(([code, reason]) => ({ code, reason: reason.toString() }));
  closed.catch(() => {});
  return { ws, id: JSON.parse(answer).value, got, closed };
}

const arrived = (one, count) =>
  until(
    () => one.got.length >= count,
    () => `${count} messages, not ${one.got.length}`,
  );
const counts = async (server) => {
  const stats = await server.call('stats');
  return { compressed: stats.compressedMessages, skipped: stats.compressionSkipped, stats };
};
const expected = (lengths) => lengths.map((length, index) => patterned(index, length));

test('a long message to a client that keeps up congests nobody while it is compressed', async (t) => {
  const server = await ownServer(t, { ...OPTIONS, workerPath: worker('levels') });
  const one = await client(t, server, true);
  for (const round of [1, 2, 3]) {
    await server.call('send', one.id, patterned(round, 1_000_000));
    await arrived(one, round);
  }
  // its worker has handled what came before
  one.ws.send('{"cmd":"getSocketId","n":2}');
  await arrived(one, 4);
  t.is((await counts(server)).compressed, 3);
  t.is(await server.call('getKey', `levels ${one.id}`), undefined);
});

test('a broadcast to clients of every window and to plain ones is compressed once per window', async (t) => {
  const server = await ownServer(t, {
    ...OPTIONS,
    bind: ['127.0.0.1:0', { address: '127.0.0.1:0', compression: { serverContextTakeover: true } }],
  });
  const windows = [9, 10, 11, 12, 13, 14, 15];
  const offers = [...windows, ...windows].map((bits) => ({ serverMaxWindowBits: bits }));
  const clients = await Promise.all([...offers, false, false].map((offer) => client(t, server, offer)));
  const ids = clients.map(({ id }) => id);
  t.is((await server.call('subscribe', ids, 'news')).length, 16);
  const before = await counts(server);
  const lengths = [1024, 100, 5000, 60_000, 2_000_000];
  t.deepEqual(
    await server.run(
      'send-all',
      lengths.map((length) => ['news', length]),
    ),
    lengths.map(() => 16),
  );
  for (const one of clients) {
    await arrived(one, lengths.length);
    t.deepEqual(one.got, expected(lengths));
  }
  const after = await counts(server);
  t.is(after.compressed - before.compressed, windows.length * 4);
  t.is(after.skipped, 0);
  const bytes = (name) => after.stats[name] - before.stats[name];
  t.is(bytes('compressionBytesBefore'), windows.length * (1024 + 5000 + 60_000 + 2_000_000));
  t.true(bytes('compressionBytesAfter') < bytes('compressionBytesBefore') / 4);

  const own = await Promise.all([client(t, server, true, 1), client(t, server, { serverMaxWindowBits: 10 }, 1)]);
  await server.call(
    'subscribe',
    own.map(({ id }) => id),
    'news',
  );
  await server.run(
    'send-all',
    lengths.map((length) => ['news', length]),
  );
  for (const one of own) {
    await arrived(one, lengths.length);
    t.deepEqual(one.got, expected(lengths));
  }
});

for (const serverContextTakeover of [false, true]) {
  const takeover = serverContextTakeover ? 'with' : 'without';
  test(`large and small messages keep their order ${takeover} context takeover`, async (t) => {
    const server = await ownServer(t, { ...OPTIONS, compression: { serverContextTakeover } });
    const one = await client(t, server, true);
    const lengths = Array.from(
      { length: 120 },
      (_, index) => [10, 700, 40_000, 3000, 250_000, 16_384, 16_385, 0][index % 8],
    );
    await server.run(
      'send-all',
      lengths.map((length) => [one.id, length]),
    );
    await arrived(one, lengths.length);
    t.deepEqual(one.got, expected(lengths));
    t.is((await counts(server)).skipped, 0);
  });

  test(`a close follows the messages that are being compressed ${takeover} context takeover`, async (t) => {
    const server = await ownServer(t, { ...OPTIONS, compression: { serverContextTakeover } });
    const one = await client(t, server, true);
    const lengths = [1_000_000, 600, 300_000];
    await server.run(
      'send-all',
      lengths.map((length) => [one.id, length]),
      { closing: one.id },
    );
    t.deepEqual(await within(one.closed, 'the close'), { code: 4000, reason: 'enough' });
    t.deepEqual(one.got, expected(lengths));
  });

  test(`what a slow reader gets can be read, in order, whatever the policy drops, ${takeover} context takeover`, async (t) => {
    const server = await ownServer(t, {
      ...OPTIONS,
      ioThreads: 1,
      compression: { serverContextTakeover },
      limits: { outboxPolicy: 'dropOldest', outboxFrames: 20 },
    });
    const [one, other] = [await client(t, server, true), await client(t, server, false)];
    let sent = 0;
    one.ws.pause();
    // until the buffers of the kernel are full
    while ((await counts(server)).stats.droppedByOverflow < 50) {
      const list = Array.from({ length: 200 }, (_, index) => [one.id, index % 20 === 0 ? 40_000 : 9000]);
      await server.run('send-all', [...list, [other.id, 10]], { first: sent });
      sent += list.length;
      // the I/O thread has taken what was sent before
      await arrived(other, sent / list.length);
    }
    one.ws.resume();
    let dropped = 0;
    await until(
      async () => {
        dropped = (await counts(server)).stats.droppedByOverflow;
        return one.got.length + dropped === sent;
      },
      () => `${sent} messages: ${one.got.length} came, ${dropped} were dropped`,
    );
    const indexes = one.got.map((text) => Number(text.slice(0, text.indexOf(' '))));
    for (const [place, index] of indexes.entries()) {
      t.is(one.got[place], patterned(index, index % 20 === 0 ? 40_000 : 9000));
      if (place > 0) t.true(index > indexes[place - 1], `${index} after ${indexes[place - 1]}`);
    }
  });
}

test('large messages delay neither other sockets nor small messages to many', async (t) => {
  const server = await ownServer(t, { ...OPTIONS, ioThreads: 1, compression: { level: 9 } });
  const large = await client(t, server, true);
  const others = await Promise.all(Array.from({ length: 20 }, () => client(t, server, true)));
  await server.call(
    'subscribe',
    others.map(({ id }) => id),
    'news',
  );
  const list = [...Array.from({ length: 12 }, () => [large.id, 1_000_000]), ['news', 1000]];
  await server.run('send-all', list);
  await Promise.all(others.map((one) => arrived(one, 1)));
  t.true(large.got.length < 12, 'the large ones are still being compressed');
  await arrived(large, 12);
  t.deepEqual(large.got, expected(list.slice(0, 12).map(([, length]) => length)));
  for (const one of others) t.deepEqual(one.got, [patterned(12, 1000)]);
});

test('messages for which the compression queue has no room go uncompressed, in order, and are counted', async (t) => {
  const server = await ownServer(t, {
    ...OPTIONS,
    limits: { compressionQueueBytes: 1_500_000, outboxBytes: 64 << 20 },
  });
  const one = await client(t, server, true);
  // the first one is still being compressed when the others come
  const lengths = [12_000_000, ...Array.from({ length: 9 }, () => 20_000)];
  await server.run(
    'send-all',
    lengths.map((length) => [one.id, length]),
  );
  await arrived(one, lengths.length);
  t.deepEqual(one.got, expected(lengths));
  const { compressed, skipped } = await counts(server);
  t.true(skipped >= 1, `${skipped}`);
  t.is(compressed + skipped, 10);
});

test('stop and the death of a worker send the messages that are being compressed first', async (t) => {
  const server = await ownServer(t, OPTIONS);
  const mortal = await client(t, server, true);
  mortal.ws.send('{"cmd":"call","n":2,"fn":"setKey","args":["k","v"]}');
  await server.run('send-all', [[mortal.id, 2_000_000]]);
  mortal.ws.send('{"cmd":"exit","n":3}');
  t.is((await within(mortal.closed, 'the close')).code, 1011);
  t.is(mortal.got.filter((text) => text === patterned(0, 2_000_000)).length, 1);
  await until(async () => {
    const workers = Object.values(await server.call('getDebugState', 'workers'));
    return workers.length === 1;
  }, 'another worker');
  const one = await client(t, server, true);
  await server.run('send-all', [[one.id, 2_000_000]]);
  await server.stop();
  t.is((await within(one.closed, 'the close')).code, 1001);
  t.deepEqual(one.got, [patterned(0, 2_000_000)]);
});

test('compress: false and the terms of channels send messages as they are', async (t) => {
  const server = await ownServer(t, {
    ...OPTIONS,
    channels: [
      ['img:text:*', {}],
      ['img:*', { compress: false }],
    ],
  });
  const one = await client(t, server, true);
  const who = [one.id];
  await server.call('subscribe', who, 'img:1');
  await server.call('subscribe', who, 'img:text:1');
  await server.call('subscribe', who, { pattern: 'img:?' });
  const before = await counts(server);
  const plain = { compress: false };
  await server.run('send-all', [
    [one.id, 1000, plain],
    [one.id, 50_000, plain],
    ['img:1', 1000],
    ['img:1', 1000, { compress: true }],
    ['img:2', 20_000],
    ['img:text:1', 1000, plain],
  ]);
  await arrived(one, 8);
  t.is((await counts(server)).compressed, before.compressed);
  await server.run('send-all', [
    [one.id, 1000, { compress: true }],
    ['img:text:1', 1000],
    [[one.id, 'img:1'], 1000],
  ]);
  await arrived(one, 13);
  t.is((await counts(server)).compressed, before.compressed + 3);
  await t.throwsAsync(server.call('send', one.id, 'x', { compress: 1 }), {
    name: 'TypeError',
    message: "argument 'options.compress' must be true or false, not 1",
  });
  await t.throwsAsync(server.start({ channels: { 'img:*': {} } }), { code: 'ERR_MILLRACE_ALREADY_STARTED' });
});
