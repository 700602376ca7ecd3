// Limits of splice, and peers that do not read, do not answer or ask for too much.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { BINARY, fragments, PING } from '../support/frames.mjs';
import { linuxTests } from '../support/platforms.mjs';
import { CONTROL, Mux, prefixed, reach, serve, Target } from '../support/splice.mjs';

const MIB = 1024 * 1024;
/** A client that does not read must be closed for the tested reason. */
const PATIENT = { writeTimeoutMs: 600_000, pingIntervalMs: 0, outboxesTotalBytes: 1024 * MIB };

const TOO_MANY = { code: 4007, message: 'too many targets', path: 'url' };

/** `size` bytes that contain their sender and a sequence number. */
function numbered(size, sender, number) {
  const data = Buffer.alloc(size, (sender * 41 + number * 7) & 0xff);
  data.writeUInt32BE(sender, 0);
  data.writeUInt32BE(number, 4);
  return data;
}

test('targetsPerSession: more fail, those that are being reached count, and ends make room', async (t) => {
  const { server, mux } = await serve(t, {}, { limits: { targetsPerSession: 3 } });
  const [target, silent] = [await Target.listen(t), await Target.listen(t, { accept: false })];
  await mux.connect(target.url());
  await mux.connect(target.url());
  const slow = mux.connect(silent.url());
  const at = await silent.asked();
  t.deepEqual((await mux.ask('connect', { url: target.url() })).error, TOO_MANY);
  at.reset();
  t.is((await t.throwsAsync(slow)).code, 4007);
  t.is(await mux.connect(target.url()), 2);
  t.deepEqual((await mux.ask('connect', { url: target.url() })).error, TOO_MANY);
  await mux.call('terminate', { index: 1 });
  await mux.event();
  t.is(await mux.connect(target.url()), 1);
  const other = await Mux.open(t, server);
  t.is(await other.connect(target.url()), 0, 'each session has its own');
});

test('targetsTotal: of all sessions of a listener, whose ends make room', async (t) => {
  const { server, mux } = await serve(t, {}, { limits: { targetsTotal: 3 } });
  const [target, silent] = [await Target.listen(t), await Target.listen(t, { accept: false })];
  const other = await Mux.open(t, server);
  await mux.connect(target.url());
  await other.connect(target.url());
  other.connect(silent.url()).catch(() => {});
  await silent.asked();
  t.deepEqual((await mux.ask('connect', { url: target.url() })).error, TOO_MANY);
  other.ws.reset();
  await until(async () => (await mux.ask('connect', { url: target.url() })).result, 'room for another target');
  await until(
    async () => (await mux.ask('connect', { url: target.url() })).result,
    'room for the dial that was given up',
  );
  t.deepEqual((await mux.ask('connect', { url: target.url() })).error, TOO_MANY);
  for (const index of [0, 1, 2]) await mux.call('terminate', { index });
  for (let n = 0; n < 3; n++) await mux.event();
  for (const index of [0, 1, 2]) {
    await until(async () => (await mux.ask('connect', { url: target.url() })).result, `room for target ${index}`);
  }
});

test('controlBytes: a call of that length is answered, a longer one closes with 1009, also in fragments', async (t) => {
  const { server, mux } = await serve(t, {}, { limits: { controlBytes: 1000 } });
  const call = (id, size) => {
    const bare = JSON.stringify({ id, method: 'none', x: '' });
    return prefixed(CONTROL, JSON.stringify({ id, method: 'none', x: 'x'.repeat(size - bare.length) }));
  };
  mux.ws.send(call(1, 1000));
  t.is((await mux.reply(1)).error.code, 4003);
  const target = await Target.listen(t);
  const { index, at } = await reach(mux, target);
  mux.send(index, Buffer.alloc(5000));
  t.is((await at.next()).data.length, 5000, 'of targets nothing is said');
  mux.ws.send(call(2, 1001));
  t.is((await mux.ws.closed()).code, 1009);
  t.is((await at.closed()).code, 1001);
  const other = await Mux.open(t, server);
  other.ws.raw(Buffer.concat(fragments(BINARY, [call(3, 1001).subarray(0, 600), call(3, 1001).subarray(600)])));
  t.is((await other.ws.closed()).code, 1009);
});

test('messageBytes: a message to a target may have as many bytes after its index', async (t) => {
  const { mux } = await serve(t, {}, { limits: { messageBytes: 1000 } });
  const { index, at } = await reach(mux, await Target.listen(t));
  mux.send(index, Buffer.alloc(1000, 1));
  t.is((await at.next()).data.length, 1000);
  mux.send(index, Buffer.alloc(1001));
  t.is((await mux.ws.closed()).code, 1009);
  t.is((await at.closed()).code, 1001);
});

test('a target that never reads does not block others, and is closed with 1013', async (t) => {
  const limits = { ...PATIENT, targetQueueBytes: 2 * MIB };
  const { mux } = await serve(t, {}, { limits });
  const [stalled, echo] = [await Target.listen(t, { accept: false }), await Target.echo(t)];
  const connecting = mux.connect(stalled.url());
  const at = await stalled.asked();
  at.accept();
  at.pause();
  const index = await connecting;
  const other = await mux.connect(echo.url());
  let sent = 0;
  while (mux.events.length === 0) {
    mux.send(index, numbered(64 * 1024, 1, sent++));
    // the other one answers behind each of them
    mux.send(other, `after ${sent}`);
    t.is(await mux.textFrom(other), `after ${sent}`);
    t.true(sent < 10_000, 'it is never closed');
  }
  const params = { index, code: 1013, reason: 'Outgoing queue is full', message: 'Outgoing queue is full' };
  t.deepEqual(await mux.event(), { method: 'onSocketDisconnect', params });
  mux.send(index, 'too late');
  t.is((await mux.event()).params.code, 4004);
  t.is(await mux.connect(echo.url()), index, 'its index is free');
  at.resume();
  t.deepEqual(await at.closed(), { code: 1013, reason: 'Outgoing queue is full' });
  t.true(at.inbox.length >= 32 && at.inbox.length < sent);
  for (const [number, { data }] of at.inbox.entries()) t.true(data.equals(numbered(64 * 1024, 1, number)), 'no hole');
});

test('a target that reads more slowly than its client writes gets everything', async (t) => {
  const { mux } = await serve(t, {}, { limits: PATIENT });
  const [COUNT, SIZE] = [1500, 64 * 1024];
  let sum = 0;
  const onMessage = ({ data }, at) => {
    if (data.readUInt32BE(4) === sum) sum++;
    if (sum % 200 !== 0) return;
    // for a moment, as who has something else to do
    at.pause();
    setTimeout(() => at.resume(), 100);
  };
  const { index, at } = await reach(mux, await Target.listen(t, { onMessage }));
  for (let n = 0; n < COUNT; n++) mux.send(index, numbered(SIZE, 1, n));
  await Promise.race([
    at.when(() => sum === COUNT, 'all messages in order'),
    mux.event().then(
      ({ params }) => t.fail(`${params.code} after ${sum}`),
      () => {},
    ),
  ]);
  t.is(sum, COUNT);
  t.deepEqual(mux.events, []);
});

test('one message always fits into the queue of a target', async (t) => {
  const { mux } = await serve(t, {}, { limits: { ...PATIENT, targetQueueBytes: 1000 } });
  const { index, at } = await reach(mux, await Target.listen(t));
  const data = Buffer.alloc(5 * MIB, 9);
  mux.send(index, data);
  t.true((await at.next()).data.equals(data));
  mux.send(index, 'more');
  t.is(await at.text(), 'more');
});

test('a target that writes before it reads is read meanwhile', async (t) => {
  const { mux } = await serve(t, {}, { limits: { ...PATIENT, targetQueueBytes: 64 * MIB } });
  const target = await Target.listen(t, { accept: false });
  const connecting = mux.connect(target.url());
  const at = await target.asked();
  at.accept();
  at.pause();
  const index = await connecting;
  const COUNT = 24;
  for (let n = 0; n < COUNT; n++) mux.send(index, numbered(MIB, 1, n));
  // behind all of them
  t.is((await mux.ask('none')).error.code, 4003);
  for (let n = 0; n < COUNT; n++) at.send(numbered(MIB, 2, n));
  for (let n = 0; n < COUNT; n++) t.true((await mux.from(index)).data.equals(numbered(MIB, 2, n)));
  at.resume();
  for (let n = 0; n < COUNT; n++) t.true((await at.next()).data.equals(numbered(MIB, 1, n)));
});

linuxTests(test)(
  'a client that never reads makes its targets wait: little is held, nobody is closed, all arrives',
  async (t) => {
    const limits = { ...PATIENT, pingIntervalMs: 200, pongTimeoutMs: 2000 };
    const { server, mux } = await serve(t, {}, { limits });
    const target = await Target.listen(t);
    const targets = [];
    for (let n = 0; n < 4; n++) targets.push(await reach(mux, target));
    const witness = await Mux.open(t, server);
    const before = await server.usage();
    mux.ws.pause();
    const [COUNT, SIZE] = [400, 64 * 1024];
    for (const { index, at } of targets) {
      for (let n = 0; n < COUNT; n++) at.send(numbered(SIZE, index, n));
    }
    // more time goes by than a pong may take
    await witness.ws.when(() => witness.ws.pings.length >= 20, 'pings');
    const grown = (await server.usage()).rss - before.rss;
    t.true(grown < 24 * MIB, `it holds ${grown / MIB} MiB`);
    t.true(targets.every(({ at }) => !at.over && !at.closeFrame));
    mux.ws.resume();
    for (const { index } of targets) {
      for (let n = 0; n < COUNT; n++) {
        const { data } = await mux.from(index);
        if (!data.equals(numbered(SIZE, index, n))) t.fail(`message ${n} of ${index}`);
      }
    }
    for (const { index, at } of targets) {
      mux.send(index, 'still there');
      t.is(await at.text(), 'still there');
    }
    t.deepEqual(mux.events, []);
  },
);

test('when a client that does not read disconnects, its waiting targets are closed', async (t) => {
  const { server, mux } = await serve(t, {}, { limits: PATIENT });
  const target = await Target.listen(t);
  const targets = [await reach(mux, target), await reach(mux, target)];
  mux.ws.pause();
  for (const { index, at } of targets) for (let n = 0; n < 400; n++) at.send(numbered(64 * 1024, index, n));
  await until(async () => (await server.call('stats')).bytesOut > 300_000, 'something to be written');
  mux.ws.reset();
  for (const { at } of targets) t.is((await at.closed()).code, 1001);
  await until(async () => (await server.call('stats')).sockets === 0, 'all sockets to be forgotten');
});

linuxTests(test)('a client that calls and does not read is not read itself', async (t) => {
  const { server, mux } = await serve(t, {}, { limits: PATIENT });
  const before = await server.usage();
  mux.ws.pause();
  const calls = Buffer.concat(
    Array.from({ length: 100 }, (_, id) => {
      const payload = prefixed(CONTROL, JSON.stringify({ id: id + 1, method: 'none' }));
      return Buffer.concat(fragments(BINARY, [payload]));
    }),
  );
  let rounds = 0;
  // until the kernel takes no more of it for a while
  let stalled = 0;
  while (stalled < 50) {
    if (mux.ws.bytesBuffered === 0) {
      mux.ws.raw(calls);
      rounds++;
      stalled = 0;
    } else stalled++;
    await new Promise((resolve) => setTimeout(resolve, 1));
    t.true(rounds < 100_000, 'it is read for ever');
  }
  const grown = (await server.usage()).rss - before.rss;
  t.true(grown < 24 * MIB, `it holds ${grown / MIB} MiB`);
  mux.ws.resume();
  await mux.ws.when(() => mux.log.length === rounds * 100, 'all replies');
  t.true(mux.log.every(({ error }) => error.code === 4003));
});

test('4 targets × 40 messages × 200 kB at once, both ways, arrive whole and unmixed', async (t) => {
  const { mux } = await serve(t, {}, { limits: PATIENT });
  const target = await Target.listen(t);
  const targets = [];
  for (let n = 0; n < 4; n++) targets.push(await reach(mux, target));
  for (let n = 0; n < 40; n++) {
    for (const { index, at } of targets) {
      at.send(numbered(200_000, index, n));
      mux.send(index, numbered(200_000, index + 100, n));
    }
  }
  for (const { index, at } of targets) {
    for (let n = 0; n < 40; n++) {
      const [down, up] = [await mux.from(index), await at.next()];
      if (!down.data.equals(numbered(200_000, index, n))) t.fail(`message ${n} of ${index}`);
      if (!up.data.equals(numbered(200_000, index + 100, n))) t.fail(`message ${n} to ${index}`);
    }
  }
  t.deepEqual(mux.events, []);
});

test('a session with 200 targets', async (t) => {
  const { server, mux } = await serve(t, {});
  const target = await Target.echo(t);
  const indices = await Promise.all(Array.from({ length: 200 }, () => mux.connect(target.url())));
  t.deepEqual(
    indices.toSorted((a, b) => a - b),
    Array.from({ length: 200 }, (_, index) => index),
  );
  for (let round = 0; round < 5; round++) {
    for (const index of indices) mux.send(index, numbered(1000, index, round));
  }
  for (const index of indices) {
    for (let round = 0; round < 5; round++) {
      if (!(await mux.from(index)).data.equals(numbered(1000, index, round))) t.fail(`message ${round} of ${index}`);
    }
  }
  mux.ws.close(4000, 'enough');
  for (const at of target.connections) t.deepEqual(await at.closed(), { code: 4000, reason: 'enough' });
  await until(async () => (await server.call('stats')).connections === 0, 'all connections to be gone');
});

test('a ping is answered on its own leg, with its payload', async (t) => {
  const { mux } = await serve(t, {}, { limits: PATIENT });
  const { index, at } = await reach(mux, await Target.listen(t));
  for (const payload of ['', 'p', 'x'.repeat(125)]) {
    mux.ws.ping(payload);
    t.is(String(await mux.ws.pong()), payload);
    at.frame({ opcode: PING, payload });
    t.is(String(await at.pong()), payload);
  }
  const [first, second] = fragments(BINARY, [prefixed(index, 'between '), 'fragments']);
  await mux.ws.raw(first);
  mux.ws.ping('now');
  t.is(String(await mux.ws.pong()), 'now');
  mux.ws.frame({ opcode: 10, payload: 'a pong that nobody asked for' });
  at.frame({ opcode: 10, payload: 'another' });
  await mux.ws.raw(second);
  t.is(String((await at.next()).data), 'between fragments');
  t.deepEqual([at.pings, mux.ws.pings], [[], []], 'nothing is relayed');
});

test('a target that answers no ping ends with 1001, and a client ends with its targets', async (t) => {
  const limits = { ...PATIENT, pingIntervalMs: 100, pongTimeoutMs: 4000 };
  const { server, mux } = await serve(t, {}, { limits });
  const [dead, alive] = [await Target.listen(t, { autoPong: false }), await Target.echo(t)];
  const { index, at } = await reach(mux, dead);
  const other = await reach(mux, alive);
  t.deepEqual((await mux.event()).params, { index, code: 1001, reason: '', message: '' });
  await at.closed();
  mux.send(other.index, 'alive');
  t.is(await mux.textFrom(other.index), 'alive');
  const deaf = await Mux.open(t, server, { autoPong: false });
  const third = await reach(deaf, alive);
  t.deepEqual(await third.at.closed(), { code: 1001, reason: '' });
});

test('idleTimeoutMs: ends an unused target, not one that only sends, nor its session', async (t) => {
  const { mux } = await serve(t, {}, { limits: { idleTimeoutMs: 4000 } });
  const target = await Target.listen(t);
  const busy = await reach(mux, target);
  const unused = await reach(mux, target);
  let gone;
  mux.event().then((event) => {
    gone = event;
  });
  while (gone === undefined) {
    busy.at.send('tick');
    t.is(await mux.textFrom(busy.index), 'tick');
  }
  const { index, code, reason } = gone.params;
  t.deepEqual({ index, code, reason }, { index: unused.index, code: 1000, reason: 'Idle timeout' });
  t.deepEqual(await unused.at.closing(), { code: 1000, reason: 'Idle timeout' });
});
