// specs/warpsocket.md §4.7, §4.8 and §5: virtual sockets, their chains, prefixes and user data.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { ask, callIn, leave, member, sharedServer, worker } from '../support/server.mjs';

const server = sharedServer(test, { workerPath: worker('commands'), threads: 2 });
const join = (t) => member(t, server);
const create = (...args) => server.call('createVirtualSocket', ...args);
const remove = (...args) => server.call('deleteVirtualSocket', ...args);
const send = (...args) => server.call('send', ...args);
const state = (...args) => server.call('getDebugState', ...args);
let channels = 0;
const freshChannel = () => `virtual ${++channels}`;

test('createVirtualSocket returns a new id; a message to it reaches the real socket', async (t) => {
  const ws = await join(t);
  const virtual = await create(ws.id);
  t.is(typeof virtual, 'number');
  t.true(virtual > ws.id);
  t.is(await send(virtual, 'through'), 1);
  t.is(await ws.text(), 'through');
});

test('a subscribed virtual socket receives messages', async (t) => {
  const ws = await join(t);
  const virtual = await ask(ws, { cmd: 'createVirtualSocket' });
  const channel = freshChannel();
  t.deepEqual(await server.call('subscribe', virtual, channel), [virtual]);
  t.true(await server.call('hasSubscriptions', channel));
  t.is(await send(channel, 'x'), 1);
  t.is(await ws.text(), 'x');
});

test('deletion returns true, then false, and removes the subscriptions at once', async (t) => {
  const ws = await join(t);
  const virtual = await create(ws.id);
  const list = Array.from({ length: 5 }, freshChannel);
  for (const channel of list) await server.call('subscribe', virtual, channel);
  t.true(await remove(virtual));
  t.false(await remove(virtual));
  for (const channel of list) {
    t.is(await state('channels', channel), undefined);
    t.is(await send(channel, 'x'), 0);
    t.deepEqual(await server.call('unsubscribe', virtual, channel), []);
    t.deepEqual(await server.call('copySubscriptions', channel, freshChannel()), []);
  }
  t.is(await send(virtual, 'x'), 0);
  t.is(await state('sockets', virtual), undefined);
});

test('deletion with an expected target: false for the wrong one, true for the right one', async (t) => {
  const ws = await join(t);
  const virtual = await create(ws.id);
  t.false(await remove(virtual, ws.id + 1_000_000));
  t.is(await send(virtual, 'still'), 1);
  t.true(await remove(virtual, ws.id));
  t.false(await remove(virtual, ws.id));
});

test('the expected target is the immediate target', async (t) => {
  const ws = await join(t);
  const inner = await create(ws.id);
  const outer = await create(inner);
  t.false(await remove(outer, ws.id));
  t.true(await remove(outer, inner));
});

test('unknown ids and real sockets cannot be deleted', async (t) => {
  const ws = await join(t);
  t.false(await remove(99_999_999));
  t.false(await remove(ws.id));
  t.is(await send(ws.id, 'alive'), 1);
});

test('expectedTarget undefined means not given; null and strings are TypeErrors', async (t) => {
  const ws = await join(t);
  const virtual = await create(ws.id);
  for (const bad of [null, '1', {}, Number.NaN, 1.5])
    await t.throwsAsync(remove(virtual, bad), { name: 'TypeError', message: /expectedTarget/ });
  t.true(await remove(virtual, undefined));
});

test('a virtual socket with an unknown target is dangling', async (t) => {
  const virtual = await create(55_555_555);
  t.is(typeof virtual, 'number');
  t.is(await send(virtual, 'x'), 0);
  const channel = freshChannel();
  await server.call('subscribe', virtual, channel);
  t.false(await server.call('hasSubscriptions', channel));
  t.is(await send(channel, 'x'), 0);
});

test('a chain of 99 virtual sockets resolves, one of 100 does not', async (t) => {
  const ws = await join(t);
  const chain = [ws.id];
  for (let index = 0; index < 100; index++) chain.push(await create(chain.at(-1)));
  t.is(await send(chain[99], 'ninety-nine'), 1);
  t.is(await ws.text(), 'ninety-nine');
  t.is(await send(chain[100], 'hundred'), 0);
  const channel = freshChannel();
  await server.call('subscribe', chain[100], channel);
  t.false(await server.call('hasSubscriptions', channel));
  t.true(await remove(chain[100]));
  t.is(await send(chain[98], 'still fine'), 1);
});

test('without the middle of a chain, outer sockets dangle, can be deleted, and receive nothing', async (t) => {
  const ws = await join(t);
  const a = await create(ws.id);
  const b = await create(a);
  const c = await create(b);
  const channel = freshChannel();
  await server.call('subscribe', [a, c], channel);
  t.is(await send(channel, 'both'), 2);
  t.true(await remove(b));
  t.is(await send(c, 'x'), 0);
  t.is(await send(channel, 'one'), 1);
  t.true(await server.call('hasSubscriptions', channel));
  t.true(await remove(c));
  t.false(await remove(c));
  t.is(await send(a, 'a works'), 1);
  t.deepEqual([await ws.text(), await ws.text(), await ws.text(), await ws.text()], ['both', 'both', 'one', 'a works']);
});

test('a channel with only dangling subscribers has no subscriptions', async (t) => {
  const ws = await join(t);
  const inner = await create(ws.id);
  const outer = await create(inner);
  const channel = freshChannel();
  await server.call('subscribe', outer, channel);
  t.true(await server.call('hasSubscriptions', channel));
  await remove(inner);
  t.false(await server.call('hasSubscriptions', channel));
  t.is(await send(channel, 'x'), 0);
});

test('virtual sockets are removed with their real socket', async (t) => {
  const ws = await join(t);
  const inner = await create(ws.id);
  const outer = await create(inner);
  const channel = freshChannel();
  await server.call('subscribe', [inner, outer], channel);
  await leave(ws, server);
  t.is(await send([inner, outer, channel], 'x'), 0);
  t.false(await server.call('hasSubscriptions', channel));
  await until(
    async () => (await state('channels', channel)) === undefined,
    'the subscriptions of the virtual sockets to be removed',
  );
  await until(
    async () => (await state('sockets', inner)) === undefined && (await state('sockets', outer)) === undefined,
    'the virtual sockets to be removed',
  );
});

test('without an annotation the message is unchanged', async (t) => {
  const ws = await join(t);
  const virtual = await create(ws.id);
  await send(virtual, '{"a":1}');
  await send(virtual, Buffer.from([1, 2]));
  t.is(await ws.text(), '{"a":1}');
  t.deepEqual((await ws.next()).data, Buffer.from([1, 2]));
});

for (const [name, prefix] of Object.entries({
  string: 'pre:',
  Uint8Array: Uint8Array.from([0x70, 0x72, 0x65, 0x3a]),
  ArrayBuffer: Uint8Array.from([0x70, 0x72, 0x65, 0x3a]).buffer,
  'a view': Buffer.from('..pre:..').subarray(2, 6),
})) {
  test(`a user prefix given as ${name} precedes text and binary`, async (t) => {
    const ws = await join(t);
    const virtual = await create(ws.id, prefix);
    t.is(await send(virtual, '{"json":true}'), 1);
    t.is(await ws.text(), 'pre:{"json":true}');
    await send(virtual, Buffer.from([0, 255]));
    t.deepEqual((await ws.next()).data, Buffer.concat([Buffer.from('pre:'), Buffer.from([0, 255])]));
    await send(virtual, '');
    t.is(await ws.text(), 'pre:');
  });
}

test('a binary prefix of four bytes precedes binary data', async (t) => {
  const ws = await join(t);
  const virtual = await ask(ws, {
    cmd: 'createVirtualSocket',
    annotation: { $: 'bytes', base64: Buffer.from([1, 2, 3, 4]).toString('base64') },
  });
  await send(virtual, Buffer.from([9, 8]));
  t.deepEqual((await ws.next()).data, Buffer.from([1, 2, 3, 4, 9, 8]));
});

test('if prefix and text are not valid UTF-8 together, the invalid parts become U+FFFD in a text frame', async (t) => {
  const ws = await join(t);
  const virtual = await create(ws.id, Buffer.from([0xff, 0x41]));
  await send(virtual, 'text');
  t.is(await ws.text(), '\ufffdAtext');
});

test('a prefix of 15 bytes is allowed, one of 16 throws, an empty one is the same as none', async (t) => {
  const ws = await join(t);
  await send(await create(ws.id, 'x'.repeat(15)), '!');
  t.is(await ws.text(), `${'x'.repeat(15)}!`);
  for (const long of ['x'.repeat(16), Buffer.alloc(16), 'é'.repeat(8)]) {
    await t.throwsAsync(create(ws.id, long), { message: /15 bytes/ });
  }
  const none = await create(ws.id, '');
  t.deepEqual(await state('sockets', none), { targetSocketId: ws.id });
  await send(none, 'plain');
  t.is(await ws.text(), 'plain');
});

test('a broadcast has the prefix of each virtual socket, and is unchanged for other sockets', async (t) => {
  const [one, two] = [await join(t), await join(t)];
  const channel = freshChannel();
  await server.call(
    'subscribe',
    [await create(one.id, 'A'), await create(one.id, 'B'), two.id, await create(two.id, 7)],
    channel,
  );
  t.is(await send(channel, '{"m":1}'), 4);
  t.deepEqual([await one.text(), await one.text()].sort(), ['A{"m":1}', 'B{"m":1}']);
  t.deepEqual([await two.text(), await two.text()].sort(), ['{"_vsud":7,"m":1}', '{"m":1}']);
});

const TEXTS = [
  ['{"your":"original","data":true}', 12_345, '{"_vsud":12345,"your":"original","data":true}'],
  ['{}', 12_345, '{"_vsud":12345}'],
  ['{ }', 5, '{"_vsud":5 }'],
  ['  {"a":1}', 5, '  {"_vsud":5,"a":1}'],
  ['\n\t{"a":1}  ', 5, '\n\t{"_vsud":5,"a":1}  '],
  ['{"a":1}', 0, '{"_vsud":0,"a":1}'],
  ['{"a":1}', -1, '{"_vsud":-1,"a":1}'],
  ['{"a":1}', 2_147_483_647, '{"_vsud":2147483647,"a":1}'],
  ['{"a":1}', -2_147_483_648, '{"_vsud":-2147483648,"a":1}'],
  ['{"x":"ünïcode"}', 1, '{"_vsud":1,"x":"ünïcode"}'],
  ['[1]', 5, '[1]'],
  ['plain', 5, 'plain'],
  ['', 5, ''],
  ['"{"', 5, '"{"'],
  ['null', 5, 'null'],
  ['  ', 5, '  '],
];

for (const [before, data, after] of TEXTS) {
  test(`user data ${data} in the text ${JSON.stringify(before)}`, async (t) => {
    const ws = await join(t);
    t.is(await send(await create(ws.id, data), before), 1);
    const text = await ws.text();
    if (before.trim().startsWith('{')) {
      t.deepEqual(JSON.parse(text), JSON.parse(after));
      t.is(text.replace(/(?<=5)\s+(?=\})/, ''), after.replace(/(?<=5)\s+(?=\})/, ''));
    } else {
      t.is(text, after);
    }
  });
}

for (const [data, bytes] of [
  [258, [0, 0, 1, 2]],
  [0, [0, 0, 0, 0]],
  [-1, [255, 255, 255, 255]],
  [2_147_483_647, [127, 255, 255, 255]],
  [-2_147_483_648, [128, 0, 0, 0]],
]) {
  test(`user data ${data} precedes binary as four bytes, big-endian`, async (t) => {
    const ws = await join(t);
    const virtual = await create(ws.id, data);
    await send(virtual, Buffer.from([7]));
    t.deepEqual((await ws.next()).data, Buffer.from([...bytes, 7]));
    await send(virtual, Buffer.alloc(0));
    t.deepEqual((await ws.next()).data, Buffer.from(bytes));
  });
}

test('texts that are not JSON objects are sent without user data and counted', async (t) => {
  const ws = await join(t);
  const virtual = await create(ws.id, 5);
  const before = (await server.call('stats')).unannotated;
  for (const text of ['plain', '[1]', '']) await send(virtual, text);
  for (let index = 0; index < 3; index++) await ws.text();
  t.true((await server.call('stats')).unannotated >= before + 3);
});

test('in a chain the outermost annotation applies, whatever its kind', async (t) => {
  const ws = await join(t);
  const inner = await create(ws.id, 'inner ');
  const plain = await create(inner);
  const numbered = await create(plain, 9);
  const outer = await create(numbered, 'outer ');
  const bare = await create(numbered);
  await send(inner, '{}');
  await send(plain, '{}');
  await send(numbered, '{}');
  await send(outer, '{}');
  await send(bare, '{}');
  const seen = [];
  for (let index = 0; index < 5; index++) seen.push(await ws.text());
  t.deepEqual(seen, ['inner {}', 'inner {}', '{"_vsud":9}', 'outer {}', '{"_vsud":9}']);
});

for (const bad of [
  1.5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  2_147_483_648,
  -2_147_483_649,
  null,
  true,
  {},
  [],
  5n,
  Symbol('x'),
]) {
  test(`an invalid annotation throws: ${String(bad)} (${typeof bad})`, async (t) => {
    const ws = await join(t);
    const before = await create(ws.id);
    await t.throwsAsync(create(ws.id, bad), { name: 'TypeError' });
    t.true((await create(ws.id)) > before);
  });
}

test('a worker is usable after an error', async (t) => {
  const ws = await join(t);
  await t.throwsAsync(callIn(ws, 'createVirtualSocket', 'no id'), { name: 'TypeError', message: /socketId/ });
  t.is(await ask(ws, { cmd: 'ping' }), 'pong');
});
