// specs/warpsocket.md §4.11 and the admin tests of §9: getDebugState.
import test from 'ava';

import { member, ownServer, sharedServer, worker } from '../support/server.mjs';

const shared = sharedServer(test, { workerPath: worker('commands'), threads: 2 });
const text = (bytes) => Buffer.from(bytes).toString();

test('kv without a server: exactly the one pair that was stored', async (t) => {
  const bare = await ownServer(t);
  await bare.call('setKey', 'the key', 'the value');
  const listing = await bare.call('getDebugState', 'kv');
  t.is(listing.length, 1);
  t.is(text(listing[0].key), 'the key');
  t.is(text(listing[0].value), 'the value');
  t.deepEqual(Object.keys(listing[0]).sort(), ['key', 'value']);
});

test('kv with a key: that pair or undefined', async (t) => {
  await shared.call('setKey', 'one', '1');
  await shared.call('setKey', 'two', '2');
  const pair = await shared.call('getDebugState', 'kv', 'two');
  t.is(text(pair.key), 'two');
  t.is(text(pair.value), '2');
  t.is(await shared.call('getDebugState', 'kv', 'three'), undefined);
});

test('kv: at most 2000 pairs', async (t) => {
  const bare = await ownServer(t);
  await bare.run('many-keys', 2500);
  t.is((await bare.call('getDebugState', 'kv')).length, 2000);
});

test('workers: two entries with four booleans each; one entry by id; undefined for an unknown id', async (t) => {
  const workers = await shared.call('getDebugState', 'workers');
  const ids = Object.keys(workers);
  t.is(ids.length, 2);
  for (const id of ids) {
    t.deepEqual(workers[id], {
      hasTextHandler: true,
      hasBinaryHandler: true,
      hasCloseHandler: true,
      hasOpenHandler: true,
    });
    t.true(Number.isInteger(Number(id)) && Number(id) >= 1);
    t.deepEqual(await shared.call('getDebugState', 'workers', Number(id)), workers[id]);
  }
  t.is(await shared.call('getDebugState', 'workers', 999_999), undefined);
});

test('workers: the booleans say which handlers a module exports', async (t) => {
  const server = await ownServer(t, { workerPath: worker('text-only'), threads: 1 });
  await server.start({ workerPath: worker('no-handlers'), threads: 1 });
  const seen = Object.values(await server.call('getDebugState', 'workers'));
  t.deepEqual(seen, [
    { hasTextHandler: true, hasBinaryHandler: false, hasCloseHandler: false, hasOpenHandler: false },
    { hasTextHandler: false, hasBinaryHandler: false, hasCloseHandler: false, hasOpenHandler: false },
  ]);
});

test('sockets: entries with string ip and numeric workerId; one by id; undefined for an unknown id', async (t) => {
  const server = await ownServer(t, { workerPath: worker('commands'), threads: 2 });
  t.deepEqual(await server.call('getDebugState', 'sockets'), {});
  const [one, two] = [await member(t, server), await member(t, server)];
  const sockets = await server.call('getDebugState', 'sockets');
  t.deepEqual(Object.keys(sockets).map(Number), [one.id, two.id]);
  for (const ws of [one, two]) {
    t.deepEqual(sockets[ws.id], { ip: '127.0.0.1', workerId: ws.workerId });
    t.deepEqual(await server.call('getDebugState', 'sockets', ws.id), sockets[ws.id]);
  }
  t.is(await server.call('getDebugState', 'sockets', 12_345_678), undefined);
  const workers = await server.call('getDebugState', 'workers');
  t.true(String(one.workerId) in workers && String(two.workerId) in workers);
});

test('sockets: virtual ones with target, prefix and user data', async (t) => {
  const ws = await member(t, shared);
  const plain = await shared.call('createVirtualSocket', ws.id);
  const prefixed = await shared.call('createVirtualSocket', plain, 'pre');
  const numbered = await shared.call('createVirtualSocket', ws.id, -7);
  const entry = (id) => shared.call('getDebugState', 'sockets', id);
  t.deepEqual(await entry(plain), { targetSocketId: ws.id });
  const { userPrefix, ...rest } = await entry(prefixed);
  t.deepEqual(rest, { targetSocketId: plain });
  t.is(text(userPrefix), 'pre');
  t.deepEqual(await entry(numbered), { targetSocketId: ws.id, userData: -7 });
  const all = await shared.call('getDebugState', 'sockets');
  t.deepEqual(all[plain], { targetSocketId: ws.id });
  await shared.call('deleteVirtualSocket', plain);
  t.is(await entry(plain), undefined);
});

test('sockets: not capped at 2000', async (t) => {
  const server = await ownServer(t, { workerPath: worker('commands'), threads: 1 });
  const ws = await member(t, server);
  await server.run('many-virtual', ws.id, 2500);
  t.is(Object.keys(await server.call('getDebugState', 'sockets')).length, 2501);
});

test('channels: exactly two entries after subscriptions to two channels', async (t) => {
  const server = await ownServer(t, { workerPath: worker('commands'), threads: 1 });
  t.deepEqual(await server.call('getDebugState', 'channels'), []);
  const ws = await member(t, server);
  await server.call('subscribe', ws.id, 'room 1', 3);
  await server.call('subscribe', ws.id, Buffer.from([0xff, 1]));
  const channels = await server.call('getDebugState', 'channels');
  t.is(channels.length, 2);
  const byName = new Map(channels.map((entry) => [Buffer.from(entry.channel).toString('latin1'), entry.subscribers]));
  t.deepEqual(byName.get('room 1'), { [ws.id]: 3 });
  t.deepEqual(byName.get('\xff\x01'), { [ws.id]: 1 });
  await server.call('unsubscribe', ws.id, 'room 1', 3);
  t.is((await server.call('getDebugState', 'channels')).length, 1);
});

test('channels by name: one entry or undefined', async (t) => {
  const ws = await member(t, shared);
  await shared.call('subscribe', ws.id, 'named room');
  const entry = await shared.call('getDebugState', 'channels', 'named room');
  t.is(text(entry.channel), 'named room');
  t.deepEqual(entry.subscribers, { [ws.id]: 1 });
  t.deepEqual(
    (await shared.call('getDebugState', 'channels', new TextEncoder().encode('named room').buffer)).subscribers,
    { [ws.id]: 1 },
  );
  t.is(await shared.call('getDebugState', 'channels', 'no such room'), undefined);
});

test('channels by number: the channels of the socket with this id', async (t) => {
  const [ws, other] = [await member(t, shared), await member(t, shared)];
  await shared.call('subscribe', [ws.id, other.id], 'common');
  await shared.call('subscribe', ws.id, 'mine', 2);
  await shared.call('subscribe', other.id, 'theirs');
  const found = await shared.call('getDebugState', 'channels', ws.id);
  t.deepEqual(found.map(({ channel }) => text(channel)).sort(), ['common', 'mine']);
  t.deepEqual(found.find(({ channel }) => text(channel) === 'mine').subscribers, { [ws.id]: 2 });
  t.deepEqual(await shared.call('getDebugState', 'channels', 87_654_321), []);
});

test('channels: at most 2000 entries, with and without a socket id', async (t) => {
  const server = await ownServer(t, { workerPath: worker('commands'), threads: 1 });
  const ws = await member(t, server);
  await server.run('many-channels', ws.id, 2500);
  t.is((await server.call('getDebugState', 'channels')).length, 2000);
  t.is((await server.call('getDebugState', 'channels', ws.id)).length, 2000);
});

test('an unknown mode throws Invalid mode; no mode throws', async (t) => {
  await t.throwsAsync(shared.call('getDebugState', 'nonsense'), { message: /Invalid mode/ });
  await t.throwsAsync(shared.call('getDebugState'), { name: 'TypeError', message: /mode/ });
  await t.throwsAsync(shared.call('getDebugState', 5), { name: 'TypeError', message: /mode/ });
  await t.throwsAsync(shared.call('getDebugState', 'sockets', 'x'), { name: 'TypeError', message: /key/ });
});
