// What an application sees of its slow readers: `outboxBytes`, `drained`, `handleCongested` and `handleDrain`.
import test from 'ava';

import { until, within } from '../support/deadline.mjs';
import { ask, callIn, member, onThreads, open, ownServer, worker } from '../support/server.mjs';

const MIB = 1024 * 1024;
const KIB = 1024;
/** A client that does not read is not closed for it. */
const limits = { writeTimeoutMs: 600_000, closeTimeoutMs: 600_000, pingIntervalMs: 0, outboxBytes: 64 * MIB };

const start = (t, { name = 'levels', threads = 1, ...more } = {}) =>
  ownServer(t, { workerPath: worker(name), threads, ioThreads: 1, limits: { ...limits, ...more } });

/** Sends so much to a client that does not read that `least` bytes of it stay in its outbox. */
async function clog(server, id, least = 16 * MIB) {
  const posted = least + 16 * MIB;
  for (let sent = 0; sent < posted; sent += MIB) await server.call('send', id, Buffer.alloc(MIB));
  await until(async () => (await server.call('outboxBytes', id)) >= least, 'a full outbox');
}

/** What the handlers were told of a socket. */
const told = async (server, id) => JSON.parse(Buffer.from((await server.call('getKey', `levels ${id}`)) ?? '[]'));

test('outboxBytes is what waits, on every thread, and 0 for a socket that keeps up', async (t) => {
  const server = await start(t, { threads: 2 });
  const [sender, reader] = await onThreads(t, server, 2);
  t.is(await server.call('outboxBytes', reader.id), 0);
  t.is(await server.call('outboxBytes', 987_654_321), 0, 'there is no such socket');
  const alias = await server.call('createVirtualSocket', reader.id);
  reader.pause();
  await clog(server, reader.id);
  // its answer goes through the inbox of the I/O thread, behind all that was sent
  t.is(await ask(sender, { cmd: 'ping' }), 'pong');
  const bytes = await server.call('outboxBytes', reader.id);
  t.true(bytes <= 32 * MIB + 32 * 64, `${bytes}`);
  t.is(await callIn(sender, 'outboxBytes', reader.id), bytes, 'in a worker');
  t.is(await server.call('outboxBytes', alias), bytes, 'of the socket behind a virtual one');
  t.is(await server.call('outboxBytes', sender.id), 0);
  const held = (await server.call('stats')).outboxBytes;
  t.true(held >= bytes && held <= bytes + MIB, `all outboxes hold ${held}`);
  reader.resume();
  await until(async () => (await server.call('outboxBytes', reader.id)) === 0, 'an empty outbox');
  reader.pause();
  await clog(server, reader.id);
  reader.destroy();
  await until(async () => (await server.call('outboxBytes', reader.id)) === 0, 'the socket to be gone');
  t.is(await server.call('outboxBytes', alias), 0);
});

test('handleCongested and handleDrain are called in turn, once for each crossing, with the token', async (t) => {
  const server = await start(t);
  const reader = await member(t, server);
  for (let round = 1; round <= 2; round++) {
    reader.pause();
    await clog(server, reader.id);
    await until(async () => (await told(server, reader.id)).length === 2 * round - 1, 'handleCongested');
    reader.resume();
    await until(async () => (await told(server, reader.id)).length === 2 * round, 'handleDrain');
  }
  const name = `number ${reader.id}`;
  const both = [`congested ${name}`, `drain ${name}`];
  t.deepEqual(await told(server, reader.id), [...both, ...both]);
});

test('a promise of handleCongested delays handleDrain', async (t) => {
  const server = await start(t);
  await server.call('setKey', 'slow handlers', 'yes');
  const reader = await member(t, server);
  reader.pause();
  await clog(server, reader.id);
  reader.resume();
  await until(async () => (await told(server, reader.id)).length === 2, 'both handlers');
  t.deepEqual(
    (await told(server, reader.id)).map((one) => one.split(' ')[0]),
    ['congested', 'drain'],
  );
});

test('what handleOpen sends may congest the socket before it is open', async (t) => {
  const server = await start(t);
  await server.call('setKey', 'greeting', String(32 * MIB));
  const reader = await open(t, server, { paused: true });
  // the first socket of the gateway
  await until(async () => (await told(server, 1)).length === 1, 'handleCongested');
  reader.resume();
  t.is((await reader.next()).data.length, 32 * MIB);
  await until(async () => (await told(server, 1)).length === 2, 'handleDrain');
  t.deepEqual(await told(server, 1), ['congested number 1', 'drain number 1']);
});

for (const [what, options] of [
  ['the default limits', {}],
  ['a small outbox', { outboxBytes: 64 * KIB }],
]) {
  test(`drained resolves when the outbox has room, with ${what}`, async (t) => {
    const server = await start(t, { threads: 2, ...options });
    const [sender, reader] = await onThreads(t, server, 2);
    t.true(await server.call('drained', reader.id), 'it has room now');
    reader.pause();
    // one message of any length fits, and the system takes a part of it
    t.is(await server.call('send', reader.id, Buffer.alloc(16 * MIB)), 1);
    const alias = await server.call('createVirtualSocket', reader.id);
    let settled = 0;
    const waiting = [
      server.call('drained', reader.id),
      callIn(sender, 'drained', reader.id),
      server.call('drained', alias),
    ].map((one) => one.finally(() => settled++));
    await t.throwsAsync(server.call('drained', reader.id, { timeoutMs: 300 }), {
      message: /socket \d+ was not drained within 300 ms/,
      code: 'ERR_MILLRACE_NOT_DRAINED',
    });
    t.is(settled, 0);
    reader.resume();
    t.deepEqual(await Promise.all(waiting), [true, true, true]);
    t.is((await reader.next()).data.length, 16 * MIB);
  });
}

test('drained resolves with false when the socket is closed, or there is none', async (t) => {
  const server = await start(t);
  t.false(await server.call('drained', 987_654_321));
  const [reader, other] = [await member(t, server), await member(t, server)];
  reader.pause();
  await clog(server, reader.id);
  const waiting = [server.call('drained', reader.id), callIn(other, 'drained', reader.id)];
  await t.throwsAsync(server.call('drained', reader.id, { timeoutMs: 100 }), { code: 'ERR_MILLRACE_NOT_DRAINED' });
  await server.call('close', reader.id, 4000);
  t.deepEqual(await within(Promise.all(waiting), 'the answers'), [false, false]);
  t.false(await server.call('drained', reader.id));
});

test('a loop that sends and waits for drained keeps the outbox small', async (t) => {
  const server = await start(t);
  const reader = await member(t, server);
  reader.pause();
  const pouring = server.run('pour', reader.id, { count: 400, size: 100 * KIB });
  await until(async () => (await server.call('outboxBytes', reader.id)) > 64 * KIB, 'a full outbox');
  reader.resume();
  const { most, sent } = await pouring;
  t.is(sent, 400);
  t.true(most <= 64 * KIB + 100 * KIB + 2 * 64, `${most} bytes waited`);
  await reader.when(() => reader.received === 400, 'all messages');
});

test('so many calls of drained may wait, and more are refused', async (t) => {
  const server = await start(t);
  const reader = await member(t, server);
  reader.pause();
  await clog(server, reader.id);
  const { refused, codes, closed, again } = await server.run('drained-many', reader.id);
  t.deepEqual(codes, ['ERR_MILLRACE_TOO_MANY_WAITS']);
  t.deepEqual([refused, closed, again], [4, 65_536, false]);
});

test('drained ends when its signal is aborted', async (t) => {
  const server = await start(t);
  const reader = await member(t, server);
  reader.pause();
  await clog(server, reader.id);
  t.deepEqual(await server.run('drained-aborted', reader.id), ['enough', 'early', false]);
});

test('drained resolves with false when the server stops', async (t) => {
  const server = await start(t);
  const reader = await member(t, server);
  reader.pause();
  await clog(server, reader.id);
  const waiting = server.call('drained', reader.id);
  await server.stop(undefined, { drain: 0 });
  t.false(await within(waiting, 'the answer'));
});
