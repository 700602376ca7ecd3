// Channels with history: positions, what is kept, and sockets that go on where they left off.
import test from 'ava';

import { until, within } from '../support/deadline.mjs';
import { callIn, member, open, ownServer, worker } from '../support/server.mjs';

const OPTIONS = {
  workerPath: worker('commands'),
  threads: 1,
  ioThreads: 2,
  channels: {
    'room:*': { history: { messages: 100, ageMs: 60_000 } },
    'last:*': { history: { messages: 1, ageMs: 60_000 } },
    'short:*': { history: { messages: 10, ageMs: 300 } },
  },
};

const texts = (from, to) => Array.from({ length: to - from + 1 }, (_, index) => `text ${from + index}`);

/** The next texts that a client gets. */
async function take(client, count) {
  const got = [];
  while (got.length < count) got.push(await within(client.text(), `text ${got.length + 1} of ${count}`));
  return got;
}

test('messages have consecutive positions, and what is kept can be read', async (t) => {
  const server = await ownServer(t, OPTIONS);
  const before = Date.now();
  t.deepEqual((await server.call('history', 'room:1')).publications, []);
  const first = await server.call('publish', 'room:1', 'text 1');
  t.regex(first.position.epoch, /^[0-9a-f]{16}$/);
  t.deepEqual(first, { deliveries: 0, position: { epoch: first.position.epoch, offset: 1 } });
  t.is(await server.call('send', 'room:1', 'text 2'), 0);
  const { position } = await server.call('publish', 'room:1', Buffer.from([1, 2]), { compress: false });
  t.deepEqual(position, { ...first.position, offset: 3 });
  const kept = await server.call('history', 'room:1');
  t.deepEqual(kept.position, position);
  t.deepEqual(
    kept.publications.map(({ offset, data }) => [offset, data]),
    [
      [1, 'text 1'],
      [2, 'text 2'],
      [3, Buffer.from([1, 2])],
    ],
  );
  for (const { timestamp } of kept.publications) t.true(timestamp >= before && timestamp <= Date.now());
  const offsets = async (options) =>
    (await server.call('history', 'room:1', options)).publications.map(({ offset }) => offset);
  t.deepEqual(await offsets({ limit: 2 }), [1, 2]);
  t.deepEqual(await offsets({ limit: 2, reverse: true }), [3, 2]);
  t.deepEqual(await offsets({ since: first.position }), [2, 3]);
  t.deepEqual(await offsets({ since: position }), []);
  t.deepEqual(await offsets({ since: { epoch: 'another', offset: 2 } }), [1, 2, 3]);
  t.deepEqual(await offsets({ limit: 0 }), []);
  await server.call('send', ['last:1', 'last:1'], 'x');
  t.is((await server.call('history', 'last:1')).publications[0].offset, 2);
});

test('a socket that comes back gets what it missed, and is told when that is gone', async (t) => {
  const server = await ownServer(t, OPTIONS);
  const first = await member(t, server);
  t.deepEqual(await server.call('subscribe', first.id, 'room:1'), [first.id]);
  const { position } = await server.call('publish', 'room:1', 'text 1');
  t.deepEqual(await take(first, 1), ['text 1']);
  first.destroy();
  for (const text of texts(2, 60)) await server.call('publish', 'room:1', text);

  const second = await member(t, server);
  const results = await server.call('subscribe', [second.id, 2 ** 40], 'room:1', { since: position });
  t.deepEqual(results, [{ id: second.id, recovered: true, position: { ...position, offset: 60 } }]);
  t.is((await server.call('publish', 'room:1', 'text 61')).position.offset, 61);
  t.deepEqual(await take(second, 60), texts(2, 61));

  for (const text of texts(62, 170)) await server.call('publish', 'room:1', text);
  t.deepEqual(await take(second, 109), texts(62, 170));
  const third = await member(t, server);
  const [gone] = await server.call('subscribe', third.id, 'room:1', { since: position });
  t.false(gone.recovered);
  const [strange] = await server.call('subscribe', third.id, 'room:1', { since: { epoch: '', offset: 0 } });
  t.false(strange.recovered);
  await server.call('publish', 'room:1', 'text 171');
  t.deepEqual(await take(third, 1), ['text 171']);

  const newcomer = await member(t, server);
  const [entered] = await server.call('subscribe', newcomer.id, 'room:1', { last: 3 });
  t.deepEqual(entered, { id: newcomer.id, position: { ...position, offset: 171 } });
  // without a position it begins with the next message
  const fourth = await member(t, server);
  for (const options of [{}, { since: undefined }]) {
    const next = await server.call('subscribe', fourth.id, 'room:1', options);
    t.deepEqual(next, [{ id: fourth.id, position: { ...position, offset: 171 } }]);
  }
  t.deepEqual(await take(newcomer, 3), texts(169, 171));
  // what was subscribed counts: one unsubscription each
  t.deepEqual(await server.call('unsubscribe', newcomer.id, 'room:1'), [newcomer.id]);
});

test('publications and clients that are cut at any time leave no hole', async (t) => {
  const server = await ownServer(t, OPTIONS);
  const total = 3000;
  const { position: start } = await server.call('publish', 'room:2', 'text 1');
  let sent = 1;
  let seen = 1;
  // what is kept covers what a client has missed: it never loses anything
  const publishing = (async () => {
    while (sent < total) {
      await until(() => sent - seen <= 60, 'the reader is near');
      const batch = Array.from({ length: Math.min(20, total - sent) }, () => `text ${++sent}`);
      await Promise.all(batch.map((text) => server.call('send', 'room:2', text)));
    }
  })();
  let cuts = 0;
  while (seen < total) {
    const client = await member(t, server);
    const since = { epoch: start.epoch, offset: seen };
    const [{ recovered }] = await server.call('subscribe', client.id, 'room:2', { since });
    t.true(recovered);
    const last = Math.min(total, seen + 50 + ((cuts * 37) % 100));
    while (seen < last) {
      const text = await within(client.text(), `message ${seen + 1}`);
      t.is(text, `text ${++seen}`);
    }
    client.destroy();
    cuts++;
  }
  await publishing;
  t.true(cuts > 5);
});

test('a key publishes once while its message is kept', async (t) => {
  const server = await ownServer(t, OPTIONS);
  const publish = (channel, idempotencyKey) => server.call('publish', channel, 'x', { idempotencyKey });
  const first = await publish('room:3', 'one');
  t.is((await publish('room:3', 'two')).position.offset, 2);
  t.deepEqual(await publish('room:3', 'one'), { deliveries: 0, position: first.position });
  t.is((await server.call('history', 'room:3')).position.offset, 2);
  await publish('last:2', 'one');
  await publish('last:2', 'two');
  t.is((await publish('last:2', 'one')).position.offset, 3, 'the first one is no longer kept');
  t.is((await publish('plain', 'one')).position, undefined);
});

test('messages expire, and with the last one the positions', async (t) => {
  const server = await ownServer(t, OPTIONS);
  const { position } = await server.call('publish', 'short:1', 'x');
  for (;;) {
    const now = await server.call('history', 'short:1');
    if (now.publications.length === 0) {
      t.not(now.position.epoch, position.epoch);
      t.is(now.position.offset, 0);
      break;
    }
  }
  const client = await member(t, server);
  const [{ recovered }] = await server.call('subscribe', client.id, 'short:1', { since: position });
  t.false(recovered);
});

test('the calls work in workers and on other gateways', async (t) => {
  const server = await ownServer(t, OPTIONS);
  const client = await member(t, server);
  const { position } = await callIn(client, 'publish', 'room:4', 'text 1');
  t.is(position.offset, 1);
  t.is((await callIn(client, 'history', 'room:4', { limit: 1 })).publications[0].data, 'text 1');
  const other = await open(t, server);
  other.destroy();
  t.deepEqual(await callIn(client, 'subscribe', 2 ** 40, 'room:4', { last: 1 }), []);
});

test('wrong arguments are refused with their name', async (t) => {
  const server = await ownServer(t, OPTIONS);
  const client = await member(t, server);
  const virtual = await server.call('createVirtualSocket', client.id);
  const position = { epoch: 'x', offset: 1 };
  for (const [part, ...args] of [
    [
      "option 'idempotencyKey' must be a string of 1 to 64 bytes, not 65 bytes",
      'publish',
      'c',
      'x',
      { idempotencyKey: 'x'.repeat(65) },
    ],
    [
      'option \'idempotencyKey\' must be a string of 1 to 64 bytes, not ""',
      'publish',
      'c',
      'x',
      { idempotencyKey: '' },
    ],
    ["option 'compress' must be true or false, not 1", 'publish', 'c', 'x', { compress: 1 }],
    ["argument 'channel'", 'publish', 1, 'x'],
    ["argument 'data'", 'publish', 'c', 1],
    ["argument 'options' must be an object, not 1", 'publish', 'c', 'x', 1],
    ["option 'limit' must be a whole number", 'history', 'room:1', { limit: -1 }],
    ["option 'reverse' must be true or false", 'history', 'room:1', { reverse: 1 }],
    ["option 'since' must be a position", 'history', 'room:1', { since: 1 }],
    ["option 'since' must be a position", 'subscribe', client.id, 'room:1', { since: { epoch: 1, offset: 1 } }],
    ["option 'since' must be a position", 'subscribe', client.id, 'room:1', { since: { epoch: 'x', offset: -1 } }],
    ["must not have both 'since' and 'last'", 'subscribe', client.id, 'room:1', { since: position, last: 1 }],
    ["option 'last' must be a whole number", 'subscribe', client.id, 'room:1', { last: 1.5 }],
    ["argument 'channel' cannot be a pattern", 'subscribe', client.id, { pattern: 'room:*' }, { last: 1 }],
    [
      "argument 'who': a virtual socket cannot be subscribed at a position",
      'subscribe',
      virtual,
      'room:1',
      { last: 1 },
    ],
  ]) {
    const error = await t.throwsAsync(server.call(...args));
    t.is(error.name, 'TypeError', error.message);
    t.true(error.message.includes(part), `${part} in ${error.message}`);
  }
  for (const args of [
    ['history', 'plain'],
    ['subscribe', client.id, 'plain', { last: 1 }],
  ]) {
    t.is((await t.throwsAsync(server.call(...args))).code, 'ERR_MILLRACE_NO_HISTORY');
  }
  t.deepEqual((await server.call('getDebugState', 'channels', client.id)).length, 0);
});
