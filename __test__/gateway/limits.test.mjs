// Every limit that options can set: what happens at its bound. (Outboxes: slow-readers.test.mjs. Message sizes and
// control frames: rfc6455-limits and rfc6455-control. The handshake: rfc6455-handshake. Workers: workers.test.mjs.)
import net from 'node:net';

import test from 'ava';

import { until, within } from '../support/deadline.mjs';
import { binary, continuation, ping, text } from '../support/frames.mjs';
import { connectOptions, exchange, handshake, handshakeBytes } from '../support/http.mjs';
import { linuxTests } from '../support/platforms.mjs';
import { ask, forgotten, member, open, ownServer, worker } from '../support/server.mjs';
import { decode, encode } from '../support/wire.mjs';
import { WsClient } from '../support/ws-client.mjs';

const MIB = 1024 * 1024;
const commands = (limits, more) => ({ workerPath: worker('commands'), threads: 1, limits, ...more });
const listed = async (server) => Object.keys(await server.call('getDebugState', 'sockets')).length;

test('connections: beyond the bound accept waits; nothing is refused, nothing is lost', async (t) => {
  const server = await ownServer(t, commands({ connections: 3 }));
  const clients = [];
  for (let index = 0; index < 3; index++) clients.push(await member(t, server));
  const waiting = Array.from({ length: 2 }, () => new WsClient(server.addresses[0]));
  t.teardown(() => {
    for (const ws of waiting) ws.destroy();
  });
  for (const ws of clients) t.is(await ask(ws, { cmd: 'ping' }), 'pong');
  t.is(await listed(server), 3);
  for (const ws of waiting) t.is(ws.headers, undefined, 'no answer yet');
  clients[0].close(1000);
  await clients[0].closed();
  const first = await within(Promise.race(waiting.map(({ opened }) => opened)), 'the next connection');
  t.is(await ask(first, { cmd: 'ping' }), 'pong');
  clients[1].destroy();
  for (const ws of waiting) await within(ws.opened, 'every waiting connection');
  await until(async () => (await listed(server)) === 3, 'three sockets');
});

test('connectionsPerAddress: one more from the same address gets 503, another address is served', async (t) => {
  const server = await ownServer(t, commands({ connectionsPerAddress: 2 }));
  const [one] = [await member(t, server), await member(t, server)];
  t.is((await handshake(server.addresses[0])).status, 503);
  const other = await member(t, server, { localAddress: '127.0.0.2' });
  t.is(other.ip, '127.0.0.2');
  one.close(1000);
  await one.closed();
  await forgotten(server, one.id);
  await until(async () => (await handshake(server.addresses[0])).status === 101, 'the place to be free again');
});

test.serial('messagesPerSecond: reading pauses, nothing is lost, others are not slowed', async (t) => {
  const server = await ownServer(t, commands({ messagesPerSecond: 50 }));
  const [fast, other] = [await open(t, server), await member(t, server)];
  const count = 200;
  const before = performance.now();
  await fast.raw(Buffer.concat(Array.from({ length: count }, (_, index) => text(`m ${index}`))));
  for (let index = 0; index < 10; index++) t.is(await ask(other, { cmd: 'ping' }), 'pong');
  // unless the machine was so busy that all of them became due meanwhile
  if (performance.now() - before < 1500) t.true(fast.received < count, `${fast.received} already`);
  for (let index = 0; index < count; index++) t.is(await fast.text(), `m ${index}`);
  const took = performance.now() - before;
  t.true(took > 1500, `200 messages at 50 per second took ${Math.round(took)} ms`);
});

/** A message whose handler is pending until the key is set. */
const gate = (key) => text(JSON.stringify({ cmd: 'gate', n: 9_000_000, key }));

test.serial(
  'unhandledEvents: a connection whose handler is pending is read no further; later everything is handled',
  async (t) => {
    const server = await ownServer(t, commands({ unhandledEvents: 4, pingIntervalMs: 0, handlerTimeoutMs: 60_000 }));
    const [ws, other] = [await member(t, server), await member(t, server)];
    const payload = 'x'.repeat(10_000);
    const total = 2000;
    await ws.raw(gate('unhandled'));
    for (let index = 0; index < total; index++) ws.send(`${index} ${payload}`);
    let held = 0;
    for (let index = 0; index < 100; index++) {
      t.is(await ask(other, { cmd: 'ping' }), 'pong');
      held = ws.bytesBuffered;
    }
    t.true(held > 5 * MIB, `TCP holds the client back: ${held} bytes of 20 MB are left`);
    t.is((await server.call('stats')).workers[0].queuedEvents, 0);
    await server.call('setKey', 'unhandled', 'go');
    t.is((await ws.json()).re, 9_000_000);
    for (let index = 0; index < total; index++) t.true((await ws.text()).startsWith(`${index} `));
  },
);

test('unhandledBytes: limited in bytes, too; one message always fits', async (t) => {
  const server = await ownServer(t, commands({ unhandledBytes: 1000, pingIntervalMs: 0 }));
  const ws = await member(t, server);
  await ws.raw(gate('bytes'));
  for (let index = 0; index < 20; index++) ws.send(`${index} ${'x'.repeat(100_000)}`);
  await server.call('setKey', 'bytes', 'go');
  t.is((await ws.json()).re, 9_000_000);
  for (let index = 0; index < 20; index++) t.true((await ws.text()).startsWith(`${index} `));
});

linuxTests(test).serial('the memory of unhandled events is bounded', async (t) => {
  const server = await ownServer(
    t,
    commands({ unhandledBytes: 256 * 1024, pingIntervalMs: 0, handlerTimeoutMs: 60_000 }),
  );
  const clients = await Promise.all(Array.from({ length: 10 }, () => member(t, server)));
  const before = await server.usage();
  for (const ws of clients) {
    await ws.raw(gate('never'));
    for (let index = 0; index < 160; index++) ws.send('y'.repeat(100_000));
  }
  await until(() => clients.every((ws) => ws.bytesBuffered > 0), 'every client to be held back');
  const grown = ((await server.usage()).rss - before.rss) / MIB;
  t.true(grown < 64, `grew by ${grown.toFixed(1)} MiB for 160 MB offered`);
  for (const ws of clients) t.true(ws.bytesBuffered > 0);
  for (const ws of clients) ws.destroy();
  await server.call('setKey', 'never', 'so that nothing is pending when the server stops');
});

test.serial(
  'workerQueueEvents and workerQueueBytes: a busy worker pauses reading, nothing is lost, pings are answered',
  async (t) => {
    const server = await ownServer(
      t,
      commands({ workerQueueEvents: 16, workerQueueBytes: 64 * 1024, workerTimeoutMs: 0, pingIntervalMs: 0 }),
    );
    const clients = [];
    for (let index = 0; index < 8; index++) clients.push(await member(t, server));
    const blocked = ask(clients[0], { cmd: 'flood', who: [], count: 0, after: 'go' });
    for (const ws of clients) {
      ws.ping('early');
      t.is((await ws.pong()).toString(), 'early');
    }
    const each = 100;
    for (const ws of clients) for (let index = 0; index < each; index++) ws.send(`q ${index} ${'z'.repeat(2000)}`);
    await server.call('setKey', 'go', 'now');
    await blocked;
    for (const ws of clients)
      for (let index = 0; index < each; index++) t.true((await ws.text()).startsWith(`q ${index} `));
  },
);

test('pingIntervalMs and pongTimeoutMs: a silent peer is gone in time, an answering one stays', async (t) => {
  const server = await ownServer(t, commands({ pingIntervalMs: 200, pongTimeoutMs: 5000 }));
  const [alive, dead] = [await member(t, server), await member(t, server, { autoPong: false })];
  const before = performance.now();
  await dead.closed();
  const took = performance.now() - before;
  t.true(dead.pings.length >= 1);
  t.true(took < 25_000, `${Math.round(took)} ms: long before it would be asked by default`);
  await alive.when(() => alive.pings.length >= 8, 'eight pings');
  t.is(await ask(alive, { cmd: 'ping' }), 'pong');
});

test('only complete frames count as activity: a frame sent byte by byte does not answer a ping', async (t) => {
  const server = await ownServer(t, commands({ pingIntervalMs: 200, pongTimeoutMs: 400, messageDeadlineMs: 60_000 }));
  const ws = await open(t, server, { autoPong: false });
  const bytes = text('x'.repeat(1000));
  let at = 0;
  const drip = setInterval(() => {
    if (at < bytes.length && !ws.over) ws.raw(bytes.subarray(at, ++at));
  }, 20);
  try {
    await ws.closed();
  } finally {
    clearInterval(drip);
  }
  t.true(at < bytes.length);
});

test('any complete frame counts as activity: a message after a ping replaces the pong', async (t) => {
  const server = await ownServer(t, commands({ pingIntervalMs: 200, pongTimeoutMs: 5000 }));
  const [silent, ws] = [await open(t, server, { autoPong: false }), await open(t, server, { autoPong: false })];
  // until a client that answers nothing is closed, and for some more pings
  for (let [count, most] = [1, 6]; count <= most || !silent.over; count++) {
    if (!silent.over) most = count + 6;
    await ws.when(() => ws.pings.length >= count, `ping ${count}`);
    ws.send(`alive ${count}`);
    t.is(await ws.text(), `alive ${count}`);
  }
  t.false(ws.over);
});

test('the pong deadline is suspended while the server does not read', async (t) => {
  const server = await ownServer(
    t,
    commands({ pingIntervalMs: 200, pongTimeoutMs: 4000, unhandledEvents: 2, handlerTimeoutMs: 60_000 }),
  );
  const ws = await member(t, server);
  // The handler keeps the connection unread until the deadline of another is over; its pongs wait behind the messages.
  await ws.raw(gate('unread'));
  for (let index = 0; index < 500; index++) ws.send(`${index} ${'x'.repeat(20_000)}`);
  const silent = await open(t, server, { autoPong: false });
  await silent.closed();
  t.false(ws.over);
  await server.call('setKey', 'unread', 'go');
  t.is((await ws.json()).re, 9_000_000);
  for (let index = 0; index < 500; index++) t.true((await ws.text()).startsWith(`${index} `));
});

test('messageDeadlineMs: an unfinished message ends its connection, between frames and inside one', async (t) => {
  const server = await ownServer(t, commands({ messageDeadlineMs: 4000 }));
  const [between, inside, head, fine] = await Promise.all(Array.from({ length: 4 }, () => open(t, server)));
  await between.raw(binary('first', { fin: false }));
  await inside.raw(binary('x'.repeat(1000)).subarray(0, 100));
  await head.raw(binary('x'.repeat(1000)).subarray(0, 3));
  for (const ws of [between, inside, head]) {
    t.is((await ws.closed()).code, 1008);
  }
  await fine.raw([binary('a', { fin: false }), continuation('b')]);
  t.is((await fine.next()).data.toString(), 'ab');
});

test('messageDeadlineMs: pings do not prolong an unfinished message', async (t) => {
  const server = await ownServer(t, commands({ messageDeadlineMs: 500 }));
  const ws = await open(t, server);
  await ws.raw(binary('first', { fin: false }));
  const keep = setInterval(() => {
    if (!ws.over) ws.raw(ping('more time?'));
  }, 50);
  try {
    await ws.closed();
  } finally {
    clearInterval(keep);
  }
  t.pass();
});

test('messageDeadlineMs does not touch a connection without an unfinished message', async (t) => {
  const server = await ownServer(t, commands({ messageDeadlineMs: 200 }));
  const [idle, witness] = [await member(t, server), await open(t, server)];
  await witness.raw(binary('first', { fin: false }));
  await witness.closed();
  t.is(await ask(idle, { cmd: 'ping' }), 'pong');
});

test('idleTimeoutMs: off by default; when set, a connection without messages is closed', async (t) => {
  const server = await ownServer(t, commands({ idleTimeoutMs: 5000, pingIntervalMs: 100 }));
  const [idle, busy] = [await member(t, server), await member(t, server)];
  let over = false;
  const end = idle.closed().then(() => {
    over = true;
  });
  while (!over) {
    t.is(await ask(busy, { cmd: 'ping' }), 'pong');
    await ask(busy, { cmd: 'delay', ms: 20 });
  }
  await end;
  t.is(await ask(busy, { cmd: 'ping' }), 'pong');
});

test('requestHeadBytes: smaller heads are bounded as said (431)', async (t) => {
  const server = await ownServer(t, commands({ requestHeadBytes: 8192 }));
  const fill = (size) => ({ 'X-Fill': 'x'.repeat(size) });
  t.is((await handshake(server.addresses[0], { headers: fill(6000) })).status, 101);
  t.is((await handshake(server.addresses[0], { headers: fill(9000) })).status, 431);
});

test('handlerTimeoutMs: shorter than the default', async (t) => {
  const server = await ownServer(t, commands({ handlerTimeoutMs: 200 }));
  const ws = await member(t, server);
  ws.send(JSON.stringify({ cmd: 'delay', n: 1, ms: 60_000 }));
  t.is((await ws.closed()).code, 1011);
});

test('channelNameBytes: longer names are refused, the bound itself is not', async (t) => {
  const server = await ownServer(t, commands());
  const ws = await member(t, server);
  const longest = 'n'.repeat(64 * 1024);
  t.deepEqual(await server.call('subscribe', ws.id, longest), [ws.id]);
  t.is(await server.call('send', longest, 'x'), 1);
  await t.throwsAsync(server.call('subscribe', ws.id, `${longest}n`), { message: /channel/ });
  t.is((await server.call('getDebugState', 'channels', ws.id)).length, 1);
});

test('shardInboxBytes: over it a drop is counted and reported, the publisher is never blocked', async (t) => {
  const server = await ownServer(t, commands({ shardInboxBytes: 64 * 1024, outboxBytes: 64 * MIB }, { ioThreads: 1 }));
  const [sender, target] = [await member(t, server), await member(t, server)];
  // One handler run posts far more than the inbox holds before the shard can be woken.
  const posted = await ask(sender, { cmd: 'flood', who: target.id, count: 2000, prefix: 'm', size: 10_000 });
  t.true(posted >= 1 && posted < 2000, `${posted} were accepted`);
  await ask(target, { cmd: 'ping' });
  t.is(target.received, posted, 'what send counted arrived, nothing else');
  t.is((await server.call('stats')).deliveriesRefused, 2000 - posted, 'what it did not count is counted as refused');
  await until(async () => (await server.errors()).some(({ code }) => code === 'ERR_MILLRACE_INBOX_FULL'), 'the report');
});

test('shardInboxBytes: over it subscribing fails before anything changes, unsubscribing and closing do not', async (t) => {
  // connections are dealt in turn: the answer goes out by the other thread
  const server = await ownServer(t, commands({ shardInboxBytes: 64 * 1024, outboxBytes: 64 * MIB }, { ioThreads: 2 }));
  const [sender, target] = [await member(t, server), await member(t, server)];
  await server.call('subscribe', target.id, 'old');
  const calls = [
    { fn: 'subscribe', args: [target.id, 'new'], undo: [target.id, 'new'] },
    { fn: 'subscribe', args: [target.id, { pattern: 'n*' }], undo: [target.id, { pattern: 'n*' }] },
    { fn: 'copySubscriptions', args: ['old', 'new'], undo: [target.id, 'new'] },
    { fn: 'hasSubscriptions', args: ['new'] },
    { fn: 'unsubscribe', args: [target.id, 'old'] },
    { fn: 'close', args: [target.id, 4000] },
    { fn: 'close', args: [target.id, 4001] },
  ].map(({ fn, args, undo }) => ({ fn, args: encode(args), undo: undo && encode(undo) }));
  const results = await ask(sender, { cmd: 'whileFull', who: target.id, calls });
  const refused = { name: 'MillraceError', code: 'ERR_MILLRACE_OVERLOADED' };
  t.deepEqual(results.slice(0, 3), [refused, refused, refused]);
  const values = results.slice(3).map(({ value }) => decode(value));
  t.deepEqual(values, [false, [target.id], true, true]);
  t.is((await target.closed()).code, 4000);
  t.deepEqual(await server.call('subscribe', sender.id, 'new'), [sender.id], 'there is room again');
});

test('invalid limits are TypeErrors that name them', async (t) => {
  const server = await ownServer(t);
  for (const [name, value] of [
    ['messageBytes', -1],
    ['messageBytes', '16'],
    ['messageBytes', Number.NaN],
    ['outboxBytes', 1.5],
    ['outboxPolicy', 'explode'],
    ['backplaneFull', 'close'],
    ['backplaneFull', true],
    ['connections', null],
    ['handlerTimeoutMs', Number.POSITIVE_INFINITY],
    ['noSuchLimit', 1],
  ]) {
    await t.throwsAsync(server.start(commands({ [name]: value })), {
      name: 'TypeError',
      message: new RegExp(`limits\\.?.*${name}`),
    });
  }
  t.deepEqual(await server.call('getDebugState', 'workers'), {});
});

test('a connection that never sends is closed by the handshake timeout, and is not a socket until then', async (t) => {
  const server = await ownServer(t, commands({ handshakeTimeoutMs: 400 }));
  const socket = net.connect(connectOptions(server.addresses[0]));
  t.teardown(() => socket.destroy());
  t.is(await listed(server), 0);
  const ended = new Promise((resolve) => socket.once('close', resolve));
  socket.on('error', () => {});
  socket.resume();
  await within(ended, 'the end');
  // in time, unless the machine is busy
  const shake = async () => (await exchange(server.addresses[0], handshakeBytes())).status === 101;
  await until(shake, 'a handshake in time');
});
