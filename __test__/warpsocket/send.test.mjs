// specs/warpsocket.md §4.2: the targets, the result and the order of send.
import test from 'ava';

import { ask, callIn, leave, member, sharedServer, worker } from '../support/server.mjs';

const server = sharedServer(test, { workerPath: worker('commands'), threads: 2 });
const members = (t, count) => Promise.all(Array.from({ length: count }, () => member(t, server)));
let channels = 0;
const freshChannel = () => `send ${++channels}`;
const send = (...args) => server.call('send', ...args);

test('to an id: that socket gets the message, and the result is 1', async (t) => {
  const [one, two] = await members(t, 2);
  t.is(await send(one.id, 'for one'), 1);
  t.is(await one.text(), 'for one');
  t.is(await ask(two, { cmd: 'ping' }), 'pong');
  t.is(two.received, 0);
});

test('to a channel: every subscriber gets the message once, for any subscription count', async (t) => {
  const [one, two, outsider] = await members(t, 3);
  const channel = freshChannel();
  await server.call('subscribe', one.id, channel, 5);
  await server.call('subscribe', two.id, channel);
  t.is(await send(channel, 'news'), 2);
  t.is(await one.text(), 'news');
  t.is(await two.text(), 'news');
  for (const ws of [one, two, outsider]) await ask(ws, { cmd: 'ping' });
  t.deepEqual([one.received, two.received, outsider.received], [1, 1, 0]);
});

test('to an array: each element in turn, and an element that occurs twice gets the message twice', async (t) => {
  const [one, two, three] = await members(t, 3);
  t.is(await send([one.id, two.id], 'a'), 2);
  t.is(await send([one.id, one.id], 'b'), 2);
  t.deepEqual([await one.text(), await one.text(), await one.text()], ['a', 'b', 'b']);
  t.is(await two.text(), 'a');
  await ask(three, { cmd: 'ping' });
  t.is(three.received, 0);
});

test('to an array of ids and channels: a socket that is reached twice counts twice', async (t) => {
  const [one, two] = await members(t, 2);
  const [x, y] = [freshChannel(), freshChannel()];
  await server.call('subscribe', [one.id, two.id], x);
  await server.call('subscribe', one.id, y);
  t.is(await send([one.id, x, Buffer.from(y), 999_999_999], 'm'), 4);
  await Promise.all([ask(one, { cmd: 'ping' }), ask(two, { cmd: 'ping' })]);
  t.is(one.inbox.length, 3);
  t.is(two.inbox.length, 1);
});

test('unknown, closed and dangling targets count 0; so do an empty array and an empty channel', async (t) => {
  const [gone, here] = await members(t, 2);
  const virtual = await server.call('createVirtualSocket', gone.id);
  await leave(gone, server);
  t.is(await send(987_654_321, 'x'), 0);
  t.is(await send([987_654_321, 987_654_322], 'x'), 0);
  t.is(await send(gone.id, 'x'), 0);
  t.is(await send(virtual, 'x'), 0);
  t.is(await send([], 'x'), 0);
  t.is(await send(freshChannel(), 'x'), 0);
  t.is(await send([gone.id, here.id, virtual], 'x'), 1);
});

test('if a virtual socket and its real socket are subscribed, the message is delivered twice', async (t) => {
  const [one] = await members(t, 1);
  const channel = freshChannel();
  const virtual = await server.call('createVirtualSocket', one.id);
  await server.call('subscribe', [one.id, virtual], channel);
  t.is(await send(channel, 'twice'), 2);
  t.deepEqual([await one.text(), await one.text()], ['twice', 'twice']);
});

test('a string is a text message, bytes are a binary message', async (t) => {
  const [one] = await members(t, 1);
  const bytes = Uint8Array.from([0, 1, 2, 253, 254, 255]);
  for (const [data, kind] of [
    ['text', 'text'],
    ['ünïcödé €😀', 'text'],
    ['', 'text'],
    [bytes, 'binary'],
    [bytes.buffer, 'binary'],
    [bytes.subarray(2, 4), 'binary'],
    [new Uint8Array(0), 'binary'],
    [new ArrayBuffer(0), 'binary'],
  ]) {
    t.is(await send(one.id, data), 1);
    const message = await one.next();
    t.is(message.kind, kind);
    if (kind === 'text') t.is(message.data, data);
    else t.deepEqual(message.data, Buffer.from(data));
  }
});

test('of a view, only its own part of the buffer is sent, from workers and the main thread', async (t) => {
  const [one] = await members(t, 1);
  t.is(await callIn(one, 'send', one.id, Buffer.from('0123456789').subarray(3, 6)), 1);
  t.is((await one.next()).data.toString(), '345');
});

test('lone surrogates become U+FFFD', async (t) => {
  const [one] = await members(t, 1);
  await send(one.id, 'lone \ud800 high, lone \udc00 low, pair \ud83d\ude00');
  t.is(await one.text(), 'lone \ufffd high, lone \ufffd low, pair 😀');
  await callIn(one, 'send', one.id, 'end \udbff');
  t.is(await one.text(), 'end \ufffd');
});

for (const size of [125, 126, 65_535, 65_536, 1_000_000, 20 * 1024 * 1024]) {
  test.serial(`a message of ${size} bytes, text and binary`, async (t) => {
    // Another client requests it: the outbox has no space for a reply after 20 MiB that are not yet written.
    const [one, sender] = await members(t, 2);
    t.is(await ask(sender, { cmd: 'sendFilled', who: one.id, kind: 'text', size }, 60_000), 1);
    t.is(await one.text(60_000), 'x'.repeat(size));
    t.is(await ask(sender, { cmd: 'sendFilled', who: one.id, kind: 'binary', size }, 60_000), 1);
    t.true((await one.next(60_000)).data.equals(Buffer.alloc(size, 9)));
  });
}

test('a numeric string is a channel name, never an id', async (t) => {
  const [one] = await members(t, 1);
  t.is(await send(String(one.id), 'x'), 0);
  await server.call('subscribe', one.id, String(one.id));
  t.is(await send(String(one.id), 'by channel'), 1);
  t.is(await one.text(), 'by channel');
});

test('a channel name is bytes: equal strings, Uint8Arrays and ArrayBuffers are the same name', async (t) => {
  const [one] = await members(t, 1);
  const name = `${freshChannel()} ñ€😀`;
  const bytes = new TextEncoder().encode(name);
  await server.call('subscribe', one.id, name);
  t.is(await send(bytes, 'u8'), 1);
  t.is(await send(bytes.buffer, 'ab'), 1);
  t.is(await send(Buffer.concat([Buffer.from('xx'), bytes]).subarray(2), 'view'), 1);
  t.deepEqual([await one.text(), await one.text(), await one.text()], ['u8', 'ab', 'view']);
  t.is(await send(`${name}\0`, 'other'), 0);
});

test('names that are not UTF-8 and the empty name are valid', async (t) => {
  const [one] = await members(t, 1);
  for (const name of [Buffer.from([0xff, 0xfe, channels & 0xff]), Buffer.alloc(0), '']) {
    await server.call('subscribe', one.id, name);
    t.true((await send(name, 'x')) >= 1);
    t.is(await one.text(), 'x');
    await server.call('unsubscribe', one.id, name, 2);
  }
});

test('2000 calls of one thread, direct and by channel, arrive in call order', async (t) => {
  const [one, two] = await members(t, 2);
  const channel = freshChannel();
  await server.call('subscribe', [one.id, two.id], channel);
  const calls = Array.from({ length: 2000 }, (_, index) => ({
    fn: 'send',
    args: [index % 3 === 0 ? channel : one.id, `n ${index}`],
  }));
  await ask(one, { cmd: 'batch', calls });
  for (let index = 0; index < 2000; index++) t.is(await one.text(), `n ${index}`);
  for (let index = 0; index < 2000; index += 3) t.is(await two.text(), `n ${index}`);
});

test('a message that a handler sends arrives before its later reply', async (t) => {
  const [one] = await members(t, 1);
  const order = [];
  const result = await callIn(one, 'send', [one.id, one.id], 'first').then((value) => {
    order.push(...one.inbox.map(({ data }) => data), 'reply');
    return value;
  });
  t.is(result, 2);
  t.deepEqual(order, ['first', 'first', 'reply']);
});

test('send does not wait for a client that does not read', async (t) => {
  const [reader, stalled] = await members(t, 2);
  stalled.pause();
  const channel = freshChannel();
  await server.call('subscribe', [reader.id, stalled.id], channel);
  // Far more than any kernel buffer holds, less than the outbox limit of the reader at any time.
  for (let round = 0; round < 40; round++) {
    await ask(reader, { cmd: 'flood', who: channel, count: 50, prefix: `round ${round}`, size: 10_000 });
  }
  for (let index = 0; index < 2000; index++)
    t.true((await reader.text()).startsWith(`round ${Math.floor(index / 50)} ${index % 50} `));
  t.is(await ask(reader, { cmd: 'ping' }), 'pong');
});

test('except excludes sockets and their virtual sockets from a broadcast', async (t) => {
  const [one, two, three] = await members(t, 3);
  const channel = freshChannel();
  const virtual = await server.call('createVirtualSocket', one.id);
  await server.call('subscribe', [one.id, two.id, three.id, virtual], channel);
  t.is(await send(channel, 'not one', { except: one.id }), 2);
  t.is(await send(channel, 'only three', { except: [one.id, two.id] }), 1);
  t.is(await send(channel, 'all', { except: [] }), 4);
  t.is(await send(channel, 'all too', {}), 4);
  await Promise.all([one, two, three].map((ws) => ask(ws, { cmd: 'ping' })));
  const texts = ({ inbox }) => inbox.map(({ data }) => data);
  // publications that wait together are delivered together, to one subscriber after the other
  t.deepEqual(
    [texts(one).sort(), texts(two), texts(three)],
    [
      ['all', 'all', 'all too', 'all too'],
      ['not one', 'all', 'all too'],
      ['not one', 'only three', 'all', 'all too'],
    ],
  );
});

test('except also applies to direct targets', async (t) => {
  const [one, two] = await members(t, 2);
  t.is(await send([one.id, two.id], 'x', { except: two.id }), 1);
  await ask(two, { cmd: 'ping' });
  t.is(two.received, 0);
});
