// specs/warpsocket.md §4.3 to §4.6: subscribe, unsubscribe, copySubscriptions, hasSubscriptions.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { ask, callIn, leave, member, onThreads, sharedServer, worker } from '../support/server.mjs';

const server = sharedServer(test, { workerPath: worker('commands'), threads: 2 });
const members = (t, count) => Promise.all(Array.from({ length: count }, () => member(t, server)));
const ids = (clients) => clients.map(({ id }) => id);
let channels = 0;
const freshChannel = () => `subscribe ${++channels}`;
const { subscribe, unsubscribe, copy, has, send, state } = {
  subscribe: (...args) => server.call('subscribe', ...args),
  unsubscribe: (...args) => server.call('unsubscribe', ...args),
  copy: (...args) => server.call('copySubscriptions', ...args),
  has: (channel) => server.call('hasSubscriptions', channel),
  send: (...args) => server.call('send', ...args),
  state: async (channel) => (await server.call('getDebugState', 'channels', channel))?.subscribers,
};
const sorted = (list) => [...list].sort((a, b) => a - b);

test('subscribing creates an entry with the count delta and reports it as new', async (t) => {
  const [one] = await members(t, 1);
  const channel = freshChannel();
  t.deepEqual(await subscribe(one.id, channel), [one.id]);
  t.deepEqual(await state(channel), { [one.id]: 1 });
  const other = freshChannel();
  t.deepEqual(await subscribe(one.id, other, 7), [one.id]);
  t.deepEqual(await state(other), { [one.id]: 7 });
});

test('of three subscriptions only the first is new, and a message arrives once', async (t) => {
  const [one] = await members(t, 1);
  const channel = freshChannel();
  t.deepEqual(await subscribe(one.id, channel), [one.id]);
  t.deepEqual(await subscribe(one.id, channel), []);
  t.deepEqual(await subscribe(one.id, channel), []);
  t.is(await send(channel, 'once'), 1);
  await ask(one, { cmd: 'ping' });
  t.is(one.received, 1);
});

test('three subscriptions need three unsubscriptions, and only the third reports the removal', async (t) => {
  const [one, two] = await members(t, 2);
  const channel = freshChannel();
  await subscribe(one.id, channel, 3);
  await subscribe(two.id, channel);
  t.deepEqual(await unsubscribe(one.id, channel), []);
  t.deepEqual(await unsubscribe(one.id, channel), []);
  t.is(await send(channel, 'both'), 2);
  t.deepEqual(await unsubscribe(one.id, channel), [one.id]);
  t.is(await send(channel, 'two'), 1);
  t.true(await has(channel));
  await Promise.all([one, two].map((ws) => ask(ws, { cmd: 'ping' })));
  t.deepEqual(
    one.inbox.map(({ data }) => data),
    ['both'],
  );
  t.deepEqual(
    two.inbox.map(({ data }) => data),
    ['both', 'two'],
  );
});

const TABLE = [
  // [count before, delta, count after, reported]
  [0, 1, 1, true],
  [0, 5, 5, true],
  [2, 1, 3, false],
  [2, 65_534, 65_535, false],
  [0, 65_535, 65_535, true],
  [0, 65_536, 65_535, true],
  [0, 70_000, 65_535, true],
  [3, 2_000_000_000, 65_535, false],
  [0, -1, 0, false],
  [1, -1, 0, true],
  [3, -1, 2, false],
  [3, -3, 0, true],
  [3, -99, 0, true],
  [65_535, -65_536, 0, true],
  [5, -2_000_000_000, 0, true],
  [0, 0, 0, false],
  [4, 0, 4, false],
];

for (const [before, delta, after, reported] of TABLE) {
  test(`count ${before}, delta ${delta}: count ${after}, ${reported ? '' : 'not '}reported`, async (t) => {
    const [one] = await members(t, 1);
    const channel = freshChannel();
    if (before > 0) await subscribe(one.id, channel, before);
    t.deepEqual(await subscribe(one.id, channel, delta), reported ? [one.id] : []);
    t.deepEqual(await state(channel), after > 0 ? { [one.id]: after } : undefined);
    t.is(await has(channel), after > 0);
    t.is(await send(channel, 'x'), after > 0 ? 1 : 0);
  });

  test(`unsubscribe is subscribe with -delta: count ${before}, delta ${-delta}`, async (t) => {
    const [one] = await members(t, 1);
    const channel = freshChannel();
    if (before > 0) await subscribe(one.id, channel, before);
    t.deepEqual(await unsubscribe(one.id, channel, delta === 0 ? 0 : -delta), reported ? [one.id] : []);
    t.deepEqual(await state(channel), after > 0 ? { [one.id]: after } : undefined);
  });
}

test('a count that was limited decreases from 65535', async (t) => {
  const [one] = await members(t, 1);
  const channel = freshChannel();
  await subscribe(one.id, channel, 70_000);
  t.deepEqual(await unsubscribe(one.id, channel, 65_534), []);
  t.deepEqual(await unsubscribe(one.id, channel), [one.id]);
});

test('an array: all sockets are new and receive; the second time none is new', async (t) => {
  const clients = await members(t, 3);
  const channel = freshChannel();
  t.deepEqual(await subscribe(ids(clients), channel), ids(clients));
  t.is(await send(channel, 'all'), 3);
  for (const ws of clients) t.is(await ws.text(), 'all');
  t.deepEqual(await subscribe(ids(clients), channel), []);
  t.deepEqual(Object.values(await state(channel)), [2, 2, 2]);
});

test('the same id twice in an array: applied twice, reported once', async (t) => {
  const [one, two] = await members(t, 2);
  const channel = freshChannel();
  t.deepEqual(await subscribe([one.id, two.id, one.id], channel), [one.id, two.id]);
  t.deepEqual(await state(channel), { [one.id]: 2, [two.id]: 1 });
  t.deepEqual(await unsubscribe([one.id, one.id, two.id], channel), [one.id, two.id]);
  t.is(await state(channel), undefined);
});

test('an empty array does nothing', async (t) => {
  const channel = freshChannel();
  t.deepEqual(await subscribe([], channel), []);
  t.is(await state(channel), undefined);
});

test('a source channel applies the delta once per member, for any count there', async (t) => {
  const [one, two] = await members(t, 2);
  const [source, target] = [freshChannel(), freshChannel()];
  await subscribe(one.id, source, 4);
  await subscribe(two.id, source);
  t.deepEqual(sorted(await subscribe(source, target, 2)), sorted([one.id, two.id]));
  t.deepEqual(await state(target), { [one.id]: 2, [two.id]: 2 });
  t.deepEqual(await state(source), { [one.id]: 4, [two.id]: 1 });
  t.deepEqual(await subscribe(source, target), []);
  t.deepEqual(await state(target), { [one.id]: 3, [two.id]: 3 });
});

test('removing the members of one channel from another removes count 1 and keeps count 2', async (t) => {
  const [one, two] = await members(t, 2);
  const [source, target] = [freshChannel(), freshChannel()];
  await subscribe([one.id, two.id], source);
  await subscribe(one.id, target, 1);
  await subscribe(two.id, target, 2);
  t.deepEqual(await subscribe(source, target, -1), [one.id]);
  t.deepEqual(await state(target), { [two.id]: 1 });
  t.deepEqual(await unsubscribe(source, target), [two.id]);
  t.is(await state(target), undefined);
});

test('an unknown source channel changes nothing, returns [] and creates no empty channel', async (t) => {
  const [unknown, target] = [freshChannel(), freshChannel()];
  t.deepEqual(await subscribe(unknown, target), []);
  t.is(await state(target), undefined);
  t.is(await state(unknown), undefined);
});

test('if source and destination are the same channel, the members are those before the call', async (t) => {
  const [one, two] = await members(t, 2);
  const channel = freshChannel();
  await subscribe(one.id, channel, 1);
  await subscribe(two.id, channel, 3);
  t.deepEqual(await subscribe(channel, channel), []);
  t.deepEqual(await state(channel), { [one.id]: 2, [two.id]: 4 });
  t.deepEqual(await subscribe(channel, channel, -2), [one.id]);
  t.deepEqual(await state(channel), { [two.id]: 2 });
});

test('an array may mix ids and source channels', async (t) => {
  const [one, two, three] = await members(t, 3);
  const [source, target] = [freshChannel(), freshChannel()];
  await subscribe([one.id, two.id], source);
  t.deepEqual(sorted(await subscribe([one.id, source, three.id], target)), sorted([one.id, two.id, three.id]));
  t.deepEqual(await state(target), { [one.id]: 2, [two.id]: 1, [three.id]: 1 });
});

test('any thread may subscribe any socket', async (t) => {
  const [one, two] = await onThreads(t, server, 2);
  const channel = freshChannel();
  t.deepEqual(await callIn(one, 'subscribe', two.id, channel), [two.id]);
  t.deepEqual(await callIn(two, 'subscribe', one.id, channel), [one.id]);
  t.is(await callIn(one, 'send', channel, 'from a worker'), 2);
  t.is(await one.text(), 'from a worker');
  t.is(await two.text(), 'from a worker');
});

test('an id that does not exist is reported as new, but is not counted and leaves no entry', async (t) => {
  const channel = freshChannel();
  t.deepEqual(await subscribe(88_888_888, channel), [88_888_888]);
  t.is(await send(channel, 'x'), 0);
  t.false(await has(channel));
  t.is(await state(channel), undefined);
  const [one] = await members(t, 1);
  t.deepEqual(await subscribe([77_777_777, one.id], channel), [77_777_777, one.id]);
  t.is(await send(channel, 'x'), 1);
  t.deepEqual(await state(channel), { [one.id]: 1 });
});

test('a delta of 0 or a failed unsubscribe creates no channel', async (t) => {
  const [one] = await members(t, 1);
  const channel = freshChannel();
  await subscribe(one.id, channel, 0);
  await unsubscribe(one.id, channel);
  await unsubscribe([one.id, 5_555_555], channel, 3);
  t.is(await state(channel), undefined);
});

test('an invalid array element throws before the call changes anything', async (t) => {
  const [one] = await members(t, 1);
  const channel = freshChannel();
  for (const bad of [null, {}, true, 1.5, -1, Number.NaN, 10n, undefined, Symbol('x')]) {
    await t.throwsAsync(subscribe([one.id, bad], channel), { name: 'TypeError' });
    t.is(await state(channel), undefined);
  }
});

test('copySubscriptions: two new ids (one subscribed twice), then none; both receive', async (t) => {
  const [one, two] = await members(t, 2);
  const [from, to] = [freshChannel(), freshChannel()];
  await subscribe(one.id, from, 2);
  await subscribe(two.id, from);
  t.deepEqual(sorted(await copy(from, to)), sorted([one.id, two.id]));
  t.deepEqual(await copy(from, to), []);
  t.is(await send(to, 'copied'), 2);
  t.is(await one.text(), 'copied');
  t.is(await two.text(), 'copied');
  t.deepEqual(await copy(freshChannel(), to), []);
});

test('hasSubscriptions: false, then true until the last subscription is gone', async (t) => {
  const [one, two] = await members(t, 2);
  const channel = freshChannel();
  t.false(await has(channel));
  await ask(one, { cmd: 'sub', channel });
  t.true(await has(channel));
  await ask(two, { cmd: 'sub', channel });
  t.true(await has(channel));
  await leave(one, server);
  t.true(await has(channel));
  two.destroy();
  await until(async () => !(await has(channel)), 'the channel to be empty');
  await until(async () => (await state(channel)) === undefined, 'the channel to be gone');
  t.pass();
});

test('a closed connection leaves its channels at once, without a periodic cleanup', async (t) => {
  const [one, two] = await members(t, 2);
  const list = Array.from({ length: 20 }, freshChannel);
  for (const channel of list) await subscribe([one.id, two.id], channel);
  await leave(one, server);
  for (const channel of list) t.is(await send(channel, 'x'), 1);
  // handleClose may still see them; after it they are gone, long before a cleanup that runs every ten seconds.
  const left = () => Promise.all(list.map(async (channel) => Object.keys(await state(channel)).length));
  await until(async () => (await left()).every((count) => count === 1), 'the subscriptions to be removed', 8000);
  for (const channel of list) t.deepEqual(await state(channel), { [two.id]: 1 });
});

test('the commands of the original: sub, unsub, pub, subArray, copySubs, unsubFromChannel, sendToSockets', async (t) => {
  const [one, two, three] = await members(t, 3);
  const [a, b] = [freshChannel(), freshChannel()];
  t.deepEqual(await ask(one, { cmd: 'sub', channel: a }), [one.id]);
  t.deepEqual(await ask(one, { cmd: 'subArray', ids: [one.id, two.id, three.id], channel: a }), [two.id, three.id]);
  t.is(await ask(two, { cmd: 'pub', channel: a, data: 'published' }), 3);
  for (const ws of [one, two, three]) t.is(await ws.text(), 'published');
  t.is((await ask(three, { cmd: 'copySubs', from: a, to: b })).length, 3);
  t.deepEqual(await ask(one, { cmd: 'unsub', channel: b }), [one.id]);
  t.deepEqual(sorted(await ask(one, { cmd: 'unsubFromChannel', from: a, channel: b })), sorted([two.id, three.id]));
  t.false(await ask(one, { cmd: 'hasSubscriptions', channel: b }));
  t.is(await ask(one, { cmd: 'sendToSockets', ids: [one.id, three.id], data: 'two of three' }), 2);
  t.is(await ask(one, { cmd: 'sendToSockets', ids: [66_666_666, 66_666_667], data: 'nobody' }), 0);
  t.is(await three.text(), 'two of three');
  await ask(two, { cmd: 'ping' });
  t.is(two.received, 1);
  t.is(await ask(two, { cmd: 'getSocketId' }), two.id);
});
