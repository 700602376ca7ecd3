// Guarantee 8: server.stop(): listeners, 1001 to clients, drain, close, handleClose, handleStop, workers.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { exchange, handshake } from '../support/http.mjs';
import { linuxTests } from '../support/platforms.mjs';
import { ask, callIn, member, open, ownServer, RUNTIME, worker } from '../support/server.mjs';

test('stop tells every client 1001', async (t) => {
  const server = await ownServer(t, { workerPath: worker('commands'), threads: 2 });
  const clients = await Promise.all(Array.from({ length: 50 }, () => member(t, server)));
  const ends = clients.map((ws) => ws.closed());
  await server.stop();
  for (const end of await Promise.all(ends)) t.like(end, { code: 1001, finished: true });
});

test('stop stops accepting first', async (t) => {
  const server = await ownServer(t, { workerPath: worker('commands'), threads: 1 });
  await member(t, server);
  await server.stop();
  t.is((await handshake(server.addresses[0])).status, 0);
});

test('outboxes drain before the close: what was sent arrives', async (t) => {
  const server = await ownServer(t, {
    workerPath: worker('commands'),
    threads: 1,
    limits: { outboxBytes: 64 * 1024 * 1024 },
  });
  const [sender, slow] = [await member(t, server), await member(t, server)];
  slow.pause();
  const count = 1000;
  t.is(await ask(sender, { cmd: 'flood', who: slow.id, count, prefix: 'd', size: 10_000 }), count);
  const stopping = server.stop(undefined, { drain: 20_000 });
  t.is((await sender.closed()).code, 1001);
  slow.resume();
  t.is((await slow.closed()).code, 1001);
  t.is(slow.received, count);
  await stopping;
});

test('a client that does not read is cut at the drain deadline', async (t) => {
  const server = await ownServer(t, {
    workerPath: worker('commands'),
    threads: 1,
    limits: { outboxBytes: 64 * 1024 * 1024 },
  });
  const [sender, stalled] = [await member(t, server), await member(t, server)];
  stalled.pause();
  await ask(sender, { cmd: 'flood', who: stalled.id, count: 1000, prefix: 'd', size: 10_000 });
  const before = performance.now();
  await server.stop(undefined, { drain: 300 });
  const took = performance.now() - before;
  t.true(took < 25_000, `${Math.round(took)} ms: long before a write is given up`);
});

test('stop waits for handleClose of every connection, then calls handleStop, then the workers end', async (t) => {
  const server = await ownServer(t, { workerPath: worker('stopping'), threads: 2 });
  const clients = await Promise.all(Array.from({ length: 10 }, () => open(t, server)));
  for (const ws of clients) ws.send('thread');
  const threads = [];
  for (const ws of clients) threads.push(await ws.text());
  await server.stop();
  const record = async (name) => (await server.call('getKey', name)).toString().trim().split(' ');
  t.deepEqual((await record('record')).sort(), [...Array(10).fill('close'), 'stop', 'stop']);
  // each worker has its own end
  t.is(new Set(threads).size, 2);
  for (const thread of new Set(threads)) {
    const own = threads.filter((other) => other === thread);
    t.deepEqual(await record(`record of ${thread}`), [...own.map(() => 'close'), 'stop']);
  }
  t.deepEqual(await server.call('getDebugState', 'workers'), {});
  t.deepEqual(await server.call('getDebugState', 'sockets'), {});
  t.deepEqual(await server.call('getDebugState', 'channels'), []);
});

test('messages handled while stopping: nothing accepted hangs the stop', async (t) => {
  const server = await ownServer(t, { workerPath: worker('commands'), threads: 2 });
  const clients = await Promise.all(Array.from({ length: 10 }, () => member(t, server)));
  for (const ws of clients) for (let index = 0; index < 100; index++) ws.send(`echo ${index}`);
  await server.stop();
  for (const ws of clients) t.is((await ws.closed()).code, 1001);
});

test('stop with a pending handler waits for it no longer than the handler limit', async (t) => {
  const server = await ownServer(t, { workerPath: worker('commands'), threads: 1, limits: { handlerTimeoutMs: 1000 } });
  const ws = await member(t, server);
  ws.send(JSON.stringify({ cmd: 'delay', n: 1, ms: 100_000 }));
  await ask(await member(t, server), { cmd: 'ping' });
  const before = performance.now();
  await server.stop();
  t.true(performance.now() - before < 60_000, 'long before the handler is done');
});

test('stop with a worker in an endless loop ends', async (t) => {
  const server = await ownServer(t, { workerPath: worker('commands'), threads: 2, limits: { workerTimeoutMs: 9000 } });
  const [hung, fine] = [await member(t, server), await member(t, server)];
  t.not(hung.threadId, fine.threadId);
  hung.send(JSON.stringify({ cmd: 'hang', n: 1 }));
  await ask(fine, { cmd: 'ping' });
  await server.stop();
  t.true([1001, 1011].includes((await hung.closed()).code));
  t.is((await fine.closed()).code, 1001);
});

test('a second stop is the same stop; functions can be called afterwards', async (t) => {
  const server = await ownServer(t, { workerPath: worker('commands'), threads: 1 });
  await server.run('stop-twice', worker('commands'));
  t.is(await server.call('send', 'nobody', 'x'), 0);
  const ws = await member(t, server);
  t.is(await callIn(ws, 'send', ws.id, 'still running'), 1);
});

linuxTests(test)('starting and stopping again and again leaves no descriptor, no thread and no worker', async (t) => {
  const server = await ownServer(t);
  const cycle = async () => {
    const { handle, addresses } = await server.start({ workerPath: worker('commands'), threads: 2 });
    const ws = await member(t, server, { address: addresses[0] });
    t.is(await ask(ws, { cmd: 'ping' }), 'pong');
    await server.stop(handle);
    await ws.closed();
  };
  await cycle();
  await cycle();
  const before = await server.usage();
  for (let round = 0; round < 8; round++) await cycle();
  // docs/runtimes.md: two for each of Deno's workers that has ended
  const leaked = RUNTIME === 'deno' ? 2 * 2 * 8 : 0;
  const most = before.descriptors + leaked;
  let after;
  const leaner = async () => {
    after = await server.usage();
    return after.descriptors <= most && after.threads <= before.threads;
  };
  // A joined thread may still be listed by the system for a moment.
  await until(leaner, () => `at most ${most} descriptors and ${before.threads} threads: ${JSON.stringify(after)}`);
  t.pass();
});

test('requests that are pending when the server stops are answered or closed', async (t) => {
  const server = await ownServer(t, { workerPath: worker('gate'), threads: 1 });
  const pending = handshake(server.addresses[0]);
  const idle = exchange(server.addresses[0], '', { untilClosed: true });
  await until(
    async () => Object.keys(await server.call('getDebugState', 'sockets')).length === 1,
    'handleOpen to be pending',
  );
  await server.stop(undefined, { drain: 100 });
  t.true([0, 500, 503].includes((await pending).status));
  t.true((await idle).closed);
});
