// Messages that are sent in parts while they are made: `sendStream`. RFC 6455 5.4: nothing but control frames comes between
// the fragments of a message.
import { once } from 'node:events';
import net from 'node:net';

import test from 'ava';
import { WebSocket } from 'ws';

import { until, within } from '../support/deadline.mjs';
import { ask, callIn, member, onThreads, ownServer, worker } from '../support/server.mjs';
import { speak } from '../support/v1.mjs';

const MIB = 1024 * 1024;
const KIB = 1024;
const limits = { writeTimeoutMs: 600_000, closeTimeoutMs: 600_000, pingIntervalMs: 0 };

const start = (t, { threads = 1, bind, compression, ...more } = {}) =>
  ownServer(t, {
    workerPath: worker('commands'),
    threads,
    limits: { ...limits, ...more },
    ...(bind !== undefined && { bind }),
    ...(compression !== undefined && { compression }),
  });

const stream = (server, id, how, options) => server.run('send-stream', id, how, options);

/** The chunks of `send-stream`, joined. */
const made = (count, size) => Buffer.concat(Array.from({ length: count }, (_, index) => Buffer.alloc(size, index)));

const release = (server, key) => server.call('setKey', key, '1');

for (const source of ['generator', 'readable', 'web']) {
  test(`a message from a ${source} arrives whole, as fast as its client reads`, async (t) => {
    const server = await start(t, { outboxBytes: 64 * MIB });
    const reader = await member(t, server);
    reader.pause();
    const sending = stream(server, reader.id, { source, count: 300, size: 100 * KIB });
    await until(async () => (await server.call('outboxBytes', reader.id)) > 64 * KIB, 'a client that falls behind');
    reader.resume();
    const { bytes, most, made: chunks, ended } = await sending;
    t.is(bytes, 300 * 100 * KIB);
    t.deepEqual([chunks, ended], [300, true]);
    t.true(most <= 256 * KIB, `${most} bytes waited at once`);
    const { kind, data } = await reader.next();
    t.is(kind, 'binary');
    t.true(data.equals(made(300, 100 * KIB)));
  });
}

test('the client ws gets a streamed message', async (t) => {
  const server = await start(t);
  const client = new WebSocket(`ws://${server.addresses[0]}`);
  t.teardown(() => client.terminate());
  await once(client, 'open');
  client.send('{"cmd":"getSocketId"}');
  const id = JSON.parse((await once(client, 'message'))[0]).value;
  const message = once(client, 'message');
  const { bytes } = await stream(server, id, { source: 'list', list: ['how ', 'are ', 'you?'] });
  t.is(bytes, 12);
  const [data, isBinary] = await message;
  t.deepEqual([data.toString(), isBinary], ['how are you?', false]);
});

test('a client with compression gets the message as it is, between compressed ones', async (t) => {
  const server = await start(t, { compression: { serverContextTakeover: true } });
  const client = new WebSocket(`ws://${server.addresses[0]}`, { perMessageDeflate: true });
  t.teardown(() => client.terminate());
  await once(client, 'open');
  client.send('{"cmd":"getSocketId"}');
  const id = JSON.parse((await once(client, 'message'))[0]).value;
  t.regex(client.extensions, /permessage-deflate/);
  const got = [];
  client.on('message', (data) => got.push(data.toString()));
  const compressible = (length) => 'compressible '.repeat(length);
  await server.call('send', id, compressible(100));
  const how = { source: 'generator', count: 2, at: 1, gate: 'go on', list: ['first, ', 'second'], name: 'parts' };
  const sending = stream(server, id, how);
  await until(async () => (await server.call('getKey', 'begins parts')) !== undefined, 'the message');
  // a long one is compressed on another thread, meanwhile
  await server.call('send', id, compressible(10_000));
  await server.call('send', id, compressible(101));
  await release(server, 'go on');
  t.is((await sending).bytes, 13);
  await until(() => got.length === 4, 'four messages');
  t.deepEqual(got, [compressible(100), 'first, second', compressible(10_000), compressible(101)]);
});

test('what is sent meanwhile waits for the end, in order, and control frames do not', async (t) => {
  const server = await start(t, { threads: 2 });
  const [sender, reader] = await onThreads(t, server, 2);
  await callIn(reader, 'subscribe', reader.id, 'news');
  await server.call('send', reader.id, 'before');
  const how = { source: 'generator', count: 4, at: 2, gate: 'go on', size: 1000 };
  const sending = stream(server, reader.id, how);
  t.is(await reader.text(), 'before');
  await until(async () => (await server.call('stats')).bytesOut > 2000, 'the first half');
  t.is(await server.call('send', reader.id, 'one'), 1);
  t.is(await server.call('send', 'news', 'two'), 1);
  t.is(await server.call('send', reader.id, 'x'.repeat(100_000)), 1);
  // the same stream of messages: a second one waits for the first
  const second = stream(server, reader.id, { source: 'list', list: ['three', ' parts', '!'], name: 'second' });
  await until(async () => (await server.call('getKey', 'begins second')) !== undefined, 'the second message');
  await until(async () => (await server.call('outboxBytes', reader.id)) > 100_000, 'what waits');
  t.is(await server.call('send', reader.id, 'four'), 1);
  t.is(await ask(sender, { cmd: 'ping' }), 'pong');
  reader.ping('are you there?');
  t.is((await reader.pong()).toString(), 'are you there?');
  t.is(reader.inbox.length, 0);
  await release(server, 'go on');
  t.is((await sending).bytes, 4000);
  t.is((await second).bytes, 12);
  t.true((await reader.next()).data.equals(made(4, 1000)));
  t.is(await reader.text(), 'one');
  t.is(await reader.text(), 'two');
  t.is((await reader.text()).length, 100_000);
  t.is(await reader.text(), 'three parts!');
  t.is(await reader.text(), 'four');
  t.is(await ask(reader, { cmd: 'ping' }), 'pong');
  t.is(await server.call('outboxBytes', reader.id), 0);
});

test('texts may be cut anywhere, and are text or binary as the option says', async (t) => {
  const server = await start(t);
  const reader = await member(t, server);
  const crab = '\u{1f980}';
  const bytes = Buffer.from(`ab${crab}é`);
  for (const [list, options, expected, kind] of [
    [['a', crab[0], crab[1], 'b'], {}, `a${crab}b`, 'text'],
    [[`a${crab[0]}`, Buffer.from('b')], {}, 'a\ufffdb', 'text'],
    [[`a${crab[0]}`], {}, 'a\ufffd', 'text'],
    [['x'.repeat(100_000) + crab.repeat(100_000)], {}, 'x'.repeat(100_000) + crab.repeat(100_000), 'text'],
    [[...bytes].map((byte) => Buffer.from([byte])), { binary: false }, bytes.toString(), 'text'],
    [['é'], { binary: true }, Buffer.from('é'), 'binary'],
    [
      [Buffer.from([255]), new Uint16Array([1]).buffer, new DataView(new ArrayBuffer(1))],
      {},
      Buffer.from([255, 1, 0, 0]),
      'binary',
    ],
    [['', 'a', ''], {}, 'a', 'text'],
    [[], {}, Buffer.alloc(0), 'binary'],
    [[], { binary: false }, '', 'text'],
    [[''], {}, '', 'text'],
  ]) {
    const { bytes: count, ...rest } = await stream(server, reader.id, { source: 'list', list }, options);
    t.is(count, Buffer.byteLength(expected), JSON.stringify(rest));
    t.deepEqual(await reader.next(), { kind, data: expected });
  }
});

for (const [what, list, options, message] of [
  ['an invalid text', [Buffer.from('ab'), Buffer.from([0xff])], { binary: false }, /UTF-8/],
  ['a text that ends within a character', [Buffer.from([0x61, 0xc3])], { binary: false }, /UTF-8/],
  ['a chunk that is no data', ['a', 5], {}, /a chunk must be a string or bytes, not number/],
]) {
  test(`${what} closes the socket with 1011`, async (t) => {
    const server = await start(t);
    const reader = await member(t, server);
    const failed = await stream(server, reader.id, { source: 'generator', count: list.length, list }, options);
    t.is(failed.code, 'ERR_MILLRACE_STREAM_FAILED');
    t.regex(failed.message, message);
    t.true(failed.ended, 'the source is told');
    t.is((await reader.closed()).code, 1011);
    t.is(reader.inbox.length, 0);
  });
}

test('a source that fails within the message closes the socket with 1011', async (t) => {
  const server = await start(t);
  const reader = await member(t, server);
  const how = { source: 'generator', count: 5, at: 2, error: 'the disk is gone', size: 1000 };
  const failed = await stream(server, reader.id, how);
  t.deepEqual([failed.code, failed.cause], ['ERR_MILLRACE_STREAM_FAILED', 'the disk is gone']);
  const { code, reason } = await reader.closed();
  t.deepEqual([code, reason], [1011, 'A message could not be completed']);
});

test('a source that fails before the first part leaves the socket open', async (t) => {
  const server = await start(t);
  const reader = await member(t, server);
  const how = { source: 'generator', count: 1, at: 0, error: 'no such file', size: 1 };
  t.is((await stream(server, reader.id, how)).code, 'ERR_MILLRACE_STREAM_FAILED');
  // one that is given up while another one has its turn, too
  const { bytesOut } = await server.call('stats');
  const first = stream(server, reader.id, { source: 'generator', count: 2, at: 1, gate: 'end it', size: 1 });
  await until(async () => (await server.call('stats')).bytesOut > bytesOut, 'the first part');
  const second = stream(server, reader.id, { ...how, name: 'second' });
  await until(async () => (await server.call('getKey', 'begins second')) !== undefined, 'the second message');
  await server.call('send', reader.id, 'behind');
  await release(server, 'end it');
  t.is((await first).bytes, 2);
  t.is((await second).code, 'ERR_MILLRACE_STREAM_FAILED');
  t.true((await reader.next()).data.equals(made(2, 1)));
  t.is(await reader.text(), 'behind');
});

test('the message ends with an error when the socket is closed', async (t) => {
  const server = await start(t);
  const [reader, other] = [await member(t, server), await member(t, server)];
  const how = { source: 'web', count: 1000, at: 2, gate: 'never', size: 1000 };
  const sending = stream(server, reader.id, how);
  await until(async () => (await server.call('stats')).bytesOut > 2000, 'the first parts');
  const waiting = stream(server, reader.id, { source: 'never', name: 'second' });
  await until(async () => (await server.call('getKey', 'begins second')) !== undefined, 'the second message');
  await server.call('send', reader.id, 'never sent');
  await server.call('close', reader.id, 4000, 'enough');
  const failed = await within(sending, 'the error');
  await release(server, 'never');
  t.deepEqual([failed.code, failed.cancelled], ['ERR_MILLRACE_SOCKET_CLOSED', 'ERR_MILLRACE_SOCKET_CLOSED']);
  const second = await within(waiting, 'the other error');
  t.deepEqual([second.code, second.cancelled], ['ERR_MILLRACE_SOCKET_CLOSED', true]);
  t.is((await reader.closed()).code, 4000);
  await until(async () => (await server.call('stats')).droppedByClose === 1, 'the dropped message to be counted');
  const { bytesOut } = await server.call('stats');
  const third = stream(server, other.id, { source: 'generator', count: 2, at: 1, gate: 'third', size: 1 });
  await until(async () => (await server.call('stats')).bytesOut > bytesOut, 'the first part of the third');
  other.destroy();
  t.is((await within(third, 'the third error')).code, 'ERR_MILLRACE_SOCKET_CLOSED');
  await release(server, 'third');
});

test('what waits behind a message is within the limits of the outbox', async (t) => {
  const server = await start(t, { outboxBytes: 100 * KIB });
  const reader = await member(t, server);
  const sending = stream(server, reader.id, { source: 'generator', count: 2, at: 1, gate: 'never', size: 1000 });
  await until(async () => (await server.call('stats')).bytesOut > 1000, 'the first part');
  for (let count = 0; count < 11; count++) await server.call('send', reader.id, Buffer.alloc(10 * KIB));
  t.is((await within(sending, 'the error')).code, 'ERR_MILLRACE_SOCKET_CLOSED');
  await release(server, 'never');
  t.is((await reader.closed()).code, 1013);
  const { overflowCloses, droppedByOverflow } = await server.call('stats');
  t.deepEqual([overflowCloses, droppedByOverflow > 0], [1, true]);
});

test('a small outbox and a dropping policy drop no part', async (t) => {
  const server = await start(t, { outboxBytes: 10 * KIB, outboxPolicy: 'dropOldest' });
  const reader = await member(t, server);
  reader.pause();
  const sending = stream(server, reader.id, { source: 'generator', count: 200, size: 64 * KIB });
  await until(async () => (await server.call('outboxBytes', reader.id)) > 16 * KIB, 'a client that falls behind');
  for (let count = 0; count < 30; count++) await server.call('send', reader.id, `${count} ${'x'.repeat(KIB)}`);
  reader.resume();
  t.is((await sending).bytes, 200 * 64 * KIB);
  t.true((await reader.next()).data.equals(made(200, 64 * KIB)));
  await reader.when(() => reader.inbox.at(-1)?.data.startsWith('29 '), 'the newest message');
  t.true(reader.inbox.length < 30, 'the oldest were dropped');
});

test('a worker that ends within a message closes the socket with 1011', async (t) => {
  const server = await start(t, { threads: 2 });
  const [sender, reader] = await onThreads(t, server, 2);
  await ask(sender, { cmd: 'streamForever', who: reader.id });
  await until(async () => (await server.call('stats')).bytesOut > 1000, 'the first part');
  sender.send(JSON.stringify({ cmd: 'exit', code: 0 }));
  t.is((await reader.closed()).code, 1011);
});

test('virtual sockets stand for their target; unknown sockets and those of other protocols are refused', async (t) => {
  const server = await start(t, {
    bind: ['127.0.0.1:0', { address: '127.0.0.1:0', protocol: 'tcp', framing: 'line' }],
  });
  const reader = await member(t, server);
  const alias = await server.call('createVirtualSocket', reader.id, 'prefix');
  t.is((await stream(server, alias, { source: 'list', list: ['text'] })).bytes, 4);
  t.is(await reader.text(), 'text');
  const list = { source: 'list', list: ['text'] };
  t.is((await stream(server, 987_654_321, list)).code, 'ERR_MILLRACE_SOCKET_NOT_FOUND');
  const plain = net.connect(Number(server.addresses[1].split(':').at(-1)), '127.0.0.1');
  t.teardown(() => plain.destroy());
  await once(plain, 'connect');
  plain.write('hello\n');
  await until(async () => (await server.call('stats')).sockets === 2, 'the second socket');
  const ids = Object.keys(await server.call('getDebugState', 'sockets')).map(Number);
  const id = ids.find((one) => one !== reader.id && one !== alias);
  const refused = await stream(server, id, list);
  t.is(refused.code, 'ERR_MILLRACE_NO_STREAMS');
  t.is(await server.call('send', id, 'still open'), 1);
});

test('a client of millrace.v1 is answered behind a message that is sent in parts', async (t) => {
  const server = await ownServer(t, {
    workerPath: worker('commands'),
    threads: 1,
    limits,
    channels: [['room:*', { clients: { subscribe: true, publish: true } }]],
  });
  // this client refuses a data frame between fragments
  const client = await speak(t, server);
  t.is((await client.subscribe('room:1')).t, 'ok');
  const sending = stream(server, Number(client.hi.s), {
    source: 'generator',
    list: ['a', 'b'],
    count: 2,
    at: 1,
    gate: 'go',
  });
  await until(
    async () => (await server.call('stats')).bytesOut > 0 && client.ws._receiver._fragmented !== 0,
    'the first part',
  );
  client.send({ t: 'ping' });
  client.send({ t: 'unsub', id: 1, c: 'room:1' });
  client.ws.ping();
  await within(once(client.ws, 'pong'), 'a pong between the parts');
  await release(server, 'go');
  t.is((await sending).bytes, 2);
  const told = [];
  for (let n = 0; n < 3; n++) told.push(await client.next());
  t.deepEqual(told[0][1].toString(), 'ab');
  t.deepEqual([told[1], told[2]], [[{ t: 'pong' }], [{ t: 'ok', id: 1 }]]);
});
