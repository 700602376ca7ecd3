// Guarantee 7 and specs/warpsocket.md §7: workers that hang, exit, throw or never start do not affect other workers and
// their connections.
import test from 'ava';

import { until, within } from '../support/deadline.mjs';
import { ask, callIn, member, open, ownServer, worker } from '../support/server.mjs';

const commands = worker('commands');
const workerIds = async (server) => Object.keys(await server.call('getDebugState', 'workers')).map(Number);

/** `count` members, sorted into those of the first member's worker and the others. */
async function crowd(t, server, count) {
  const clients = [];
  for (let index = 0; index < count; index++) clients.push(await member(t, server));
  const [victim] = clients;
  return {
    victim,
    doomed: clients.filter(({ threadId }) => threadId === victim.threadId),
    healthy: clients.filter(({ threadId }) => threadId !== victim.threadId),
  };
}

/**
 * Publishes numbered messages from a healthy worker while `harm` acts on another one, until every connection of that
 * one is closed and it is replaced; checks that the connections of healthy workers get every message.
 */
async function numbered(t, server, harm) {
  const before = await workerIds(server);
  const { victim, doomed, healthy } = await crowd(t, server, 12);
  t.true(healthy.length >= 2 && doomed.length >= 2);
  const [publisher] = healthy;
  await server.call(
    'subscribe',
    healthy.map(({ id }) => id),
    'numbered',
  );
  const begun = performance.now();
  let closedAfter;
  const ends = Promise.all(doomed.map((ws) => ws.closed())).then((list) => {
    closedAfter = performance.now() - begun;
    return list;
  });
  let settled = false;
  const replaced = ends.then(async (list) => {
    await until(async () => {
      const now = await workerIds(server);
      return now.length === before.length && !now.includes(victim.workerId);
    }, 'the replacement');
    settled = true;
    return list;
  });
  replaced.catch(() => {
    settled = true;
  });
  await harm(victim);
  let published = 0;
  for (let after = 0; after < 20; after += settled ? 1 : 0) {
    t.is(await callIn(publisher, 'send', 'numbered', `number ${published}`), healthy.length);
    published++;
  }
  const list = await replaced;
  for (const ws of healthy) {
    await ws.when(() => ws.received === published, 'every number');
    t.deepEqual(
      ws.inbox.map(({ data }) => data),
      Array.from({ length: published }, (_, index) => `number ${index}`),
    );
  }
  t.log(`${published} numbered messages, ${doomed.length} connections closed`);
  return { ends: list, healthy, closedAfter };
}

const HARMS = {
  'exits with 0': (ws) => ws.send(JSON.stringify({ cmd: 'exit', n: 1, code: 0 })),
  'exits with 7': (ws) => ws.send(JSON.stringify({ cmd: 'exit', n: 1, code: 7 })),
  'throws uncaught': (ws) => ws.send(JSON.stringify({ cmd: 'uncaught', n: 1 })),
  'has an unhandled rejection': (ws) => ws.send(JSON.stringify({ cmd: 'unhandledRejection', n: 1 })),
};

for (const [name, harm] of Object.entries(HARMS)) {
  test(`a worker that ${name}: 1011 for its connections at once, others miss no message, it is replaced`, async (t) => {
    const server = await ownServer(t, { workerPath: commands, threads: 3, limits: { workerTimeoutMs: 60_000 } });
    const { ends, healthy, closedAfter } = await numbered(t, server, harm);
    t.true(closedAfter < 40_000, `at once: ${Math.round(closedAfter)} ms`);
    for (const end of ends) t.is(end.code, 1011);
    // The replacement accepts connections.
    const fresh = await Promise.all(Array.from({ length: 3 }, () => member(t, server)));
    t.is(new Set(fresh.map(({ workerId }) => workerId)).size, 3);
    for (const ws of [...fresh, healthy[0]]) t.is(await ask(ws, { cmd: 'ping' }), 'pong');
  });
}

test('a worker in an endless loop: replaced after 3 s, 1011 for its connections, others miss no message', async (t) => {
  const server = await ownServer(t, { workerPath: commands, threads: 3 }, { patient: false });
  const { ends, closedAfter } = await numbered(t, server, (ws) => ws.send(JSON.stringify({ cmd: 'hang', n: 1 })));
  t.true(closedAfter > 2500 && closedAfter < 30_000, `closed after ${Math.round(closedAfter)} ms`);
  for (const end of ends) t.is(end.code, 1011);
  t.true(
    (await server.errors()).some(({ message }) => /worker/i.test(message)),
    'reported',
  );
});

test('the hanging worker of the original tests: two threads, four clients, its clients continue to send', async (t) => {
  const server = await ownServer(t, { workerPath: commands, threads: 2, limits: { workerTimeoutMs: 9000 } });
  const { victim, doomed, healthy } = await crowd(t, server, 4);
  t.deepEqual([doomed.length, healthy.length], [2, 2]);
  for (const ws of healthy) await ask(ws, { cmd: 'sub', channel: 'after' });
  victim.send(JSON.stringify({ cmd: 'hang', n: 1 }));
  const sending = setInterval(() => {
    for (const ws of doomed) if (!ws.over) ws.send(JSON.stringify({ cmd: 'ping', n: 2 }));
  }, 50);
  try {
    for (const ws of doomed) t.is((await ws.closed()).code, 1011);
  } finally {
    clearInterval(sending);
  }
  t.is(await ask(healthy[0], { cmd: 'pub', channel: 'after', data: 'still there' }), 2);
  for (const ws of healthy) t.is(await ws.text(), 'still there');
});

test("handleClose of a hung worker's connections runs on another worker, once", async (t) => {
  const server = await ownServer(t, { workerPath: commands, threads: 2, limits: { workerTimeoutMs: 9000 } });
  const { doomed, healthy } = await crowd(t, server, 8);
  const [watcher] = healthy;
  await server.call('subscribe', watcher.id, 'log');
  doomed[0].send(JSON.stringify({ cmd: 'hang', n: 1 }));
  const seen = [];
  while (seen.length < doomed.length) {
    const entry = await watcher.json();
    if (entry.event === 'close') seen.push(entry);
  }
  t.deepEqual(
    seen.map(({ socketId }) => socketId).sort((a, b) => a - b),
    doomed.map(({ id }) => id),
  );
  t.true(seen.every(({ code, threadId }) => code === 1011 && threadId !== doomed[0].threadId));
});

test('subscriptions, virtual sockets and the store outlive a worker', async (t) => {
  const server = await ownServer(t, { workerPath: commands, threads: 2 });
  const { doomed, healthy } = await crowd(t, server, 4);
  const [survivor] = healthy;
  await callIn(doomed[0], 'subscribe', survivor.id, 'kept');
  const virtual = await callIn(doomed[0], 'createVirtualSocket', survivor.id, 'v:');
  await callIn(doomed[0], 'setKey', 'kept', 'value');
  doomed[0].send(JSON.stringify({ cmd: 'exit', n: 1 }));
  await doomed[0].closed();
  t.is(await server.call('send', ['kept', virtual], 'm'), 2);
  t.deepEqual([await survivor.text(), await survivor.text()].sort(), ['m', 'v:m']);
  t.is((await server.call('getKey', 'kept')).toString(), 'value');
});

test('a replacement calls handleStart with the same workerArg and has a new id', async (t) => {
  const server = await ownServer(t, { workerPath: commands, threads: 1, workerArg: { same: 'argument' } });
  const [id] = await workerIds(server);
  const ws = await open(t, server);
  ws.send(JSON.stringify({ cmd: 'exit', n: 1 }));
  await ws.closed();
  await until(
    async () => (await workerIds(server)).length === 1 && !(await workerIds(server)).includes(id),
    'the replacement',
  );
  const { startArg, startCalls } = await ask(await open(t, server), { cmd: 'getStartupArg' });
  t.deepEqual(startArg, { same: 'argument' });
  t.is(startCalls, 1);
});

test('a replacement that fails to start is retried with back-off until it succeeds', async (t) => {
  const server = await ownServer(t, { workerPath: worker('fragile-start'), threads: 2 });
  const survivor = await member(t, server);
  const victim = await member(t, server);
  t.not(victim.threadId, survivor.threadId);
  const startsOf = async () => Number((await server.call('getKey', 'starts')).toString());
  const before = await startsOf();
  await server.call('setKey', 'fail-starts', 'xxx');
  victim.send(JSON.stringify({ cmd: 'exit', n: 1 }));
  await victim.closed();
  await until(async () => {
    const ids = await workerIds(server);
    return ids.length === 2 && !ids.includes(victim.workerId);
  }, 'the replacement');
  t.is((await startsOf()) - before, 4, 'three failures and a success');
  t.is((await server.call('getKey', 'fail-starts')).length, 0);
  t.true((await server.errors()).some(({ message }) => /start failed on request/.test(message)));
  t.is(await ask(survivor, { cmd: 'ping' }), 'pong');
});

test('while no replacement starts, the remaining worker gets every connection', async (t) => {
  const server = await ownServer(t, { workerPath: worker('fragile-start'), threads: 2 });
  const survivor = await member(t, server);
  const victim = await member(t, server);
  await server.call('setKey', 'fail-starts', 'x'.repeat(1000));
  victim.send(JSON.stringify({ cmd: 'exit', n: 1 }));
  t.is((await victim.closed()).code, 1011);
  for (let index = 0; index < 6; index++) t.is((await member(t, server)).workerId, survivor.workerId);
  await server.call('setKey', 'fail-starts', undefined);
});

test('closes wait for a worker while there is none', async (t) => {
  const server = await ownServer(t, { workerPath: worker('fragile-start'), threads: 1 });
  const clients = [];
  for (let index = 0; index < 5; index++) clients.push(await member(t, server));
  await server.call('setKey', 'fail-starts', 'xx');
  clients[0].send(JSON.stringify({ cmd: 'exit', n: 1 }));
  for (const ws of clients) t.is((await ws.closed()).code, 1011);
  await until(async () => {
    const ids = await workerIds(server);
    return ids.length === 1 && !ids.includes(clients[0].workerId);
  }, 'the replacement');
  await until(async () => (await server.call('getKey', 'closes'))?.toString() === '5', 'five calls of handleClose');
  t.is((await server.call('stats')).unhandledCloses, 0);
  t.is(await ask(await member(t, server), { cmd: 'ping' }), 'pong');
});

test('stop counts the closes that no worker has handled', async (t) => {
  const server = await ownServer(t, { workerPath: worker('fragile-start'), threads: 1 });
  const clients = [];
  for (let index = 0; index < 5; index++) clients.push(await member(t, server));
  await server.call('setKey', 'fail-starts', 'x'.repeat(1000));
  clients[0].send(JSON.stringify({ cmd: 'exit', n: 1 }));
  for (const ws of clients) t.is((await ws.closed()).code, 1011);
  await server.stop(undefined, { drain: 0 });
  t.is((await server.call('stats')).unhandledCloses, 5);
  t.is(await server.call('getKey', 'closes'), undefined);
});

test('no worker is terminated if the main thread is busy for longer than workerTimeoutMs', async (t) => {
  const server = await ownServer(t, { workerPath: commands, threads: 2, limits: { workerTimeoutMs: 9000 } });
  const [one, two] = [await member(t, server), await member(t, server)];
  const before = await workerIds(server);
  const blocked = server.block(11_000);
  let pings = 0;
  let done = false;
  blocked.then(() => {
    done = true;
  });
  while (!done) {
    t.is(await ask(one, { cmd: 'ping' }), 'pong');
    t.is(await ask(two, { cmd: 'ping' }), 'pong');
    pings++;
  }
  t.log(`${pings} round trips while the main thread was busy`);
  await blocked;
  // After this delay the monitor has run again since the main thread was busy.
  await ask(one, { cmd: 'delay', ms: 1500 });
  t.deepEqual(await workerIds(server), before);
  t.is(await ask(one, { cmd: 'ping' }), 'pong');
  t.is(await ask(two, { cmd: 'ping' }), 'pong');
});

test('a worker that is busy for less than workerTimeoutMs is not terminated', async (t) => {
  // the worker is busy for longer than the default limit, and for less than this one
  const server = await ownServer(t, { workerPath: commands, threads: 2, limits: { workerTimeoutMs: 9000 } });
  const one = await member(t, server);
  const before = await workerIds(server);
  t.true(await ask(one, { cmd: 'block', ms: 3800 }));
  t.is(await ask(one, { cmd: 'ping' }), 'pong');
  t.deepEqual(await workerIds(server), before);
});

test('a worker that wakes up just before its termination does not affect others', async (t) => {
  const server = await ownServer(t, { workerPath: commands, threads: 2, limits: { workerTimeoutMs: 3000 } });
  // A worker that waits for a core may be terminated, too, with its new connections. No client can connect while
  // both workers are being replaced.
  const join = async () => {
    for (let tries = 1; ; tries++) {
      try {
        return await member(t, server);
      } catch (error) {
        if (tries === 5 || !/Server worker is down|No worker available/.test(error.message)) throw error;
        await until(async () => (await workerIds(server)).length === 2, 'two workers');
      }
    }
  };
  let other = await join();
  let replaced = 0;
  const isLate = async ({ workerId }) =>
    (await server.errors()).some(({ message }) => message.startsWith(`worker ${workerId} unresponsive`));
  // The sleeps are close to the limit, so that some workers wake up just before and some just after the decision.
  for (const ms of [2800, 3000, 3050, 3100, 3150, 3200, 3300, 3500, 4000]) {
    let ws = await join();
    while (ws.threadId === other.threadId) ws = await join();
    const ids = await workerIds(server);
    const outcome = await Promise.race([
      ask(ws, { cmd: 'sleep', ms }).then(() => 'answered'),
      ws.closed().then(({ code }) => code),
    ]).catch(() => ws.closed().then(({ code }) => code));
    t.true(outcome === 'answered' || outcome === 1011, String(outcome));
    await until(async () => (await workerIds(server)).length === 2, 'two workers');
    if ((await workerIds(server)).some((id) => !ids.includes(id))) replaced++;
    const answer = await ask(other, { cmd: 'ping' }).catch((error) => error.message);
    if (answer === 'pong') continue;
    t.true(await isLate(other), answer);
    other = await join();
  }
  t.log(`${replaced} of 9 were replaced`);
  t.true(replaced > 0);
});

test('with workerTimeoutMs 0, no busy worker is terminated', async (t) => {
  const server = await ownServer(t, { workerPath: commands, threads: 1, limits: { workerTimeoutMs: 0 } });
  const ws = await member(t, server);
  const before = await workerIds(server);
  t.true(await ask(ws, { cmd: 'block', ms: 4500 }));
  t.is(await ask(ws, { cmd: 'ping' }), 'pong');
  t.deepEqual(await workerIds(server), before);
});

test('pings are answered while the worker is in an endless loop, until it is replaced', async (t) => {
  const server = await ownServer(t, { workerPath: commands, threads: 1, limits: { workerTimeoutMs: 5000 } });
  const [hung, same] = [await member(t, server), await member(t, server)];
  hung.send(JSON.stringify({ cmd: 'hang', n: 1 }));
  for (const ws of [hung, same]) {
    ws.ping('still');
    t.is((await ws.pong()).toString(), 'still');
  }
  t.is((await same.closed()).code, 1011);
});

test('4 threads, 8 clients: a message reaches all, two failing handlers close only their connections', async (t) => {
  const server = await ownServer(t, { workerPath: commands, threads: 4 });
  const clients = [];
  for (let index = 0; index < 8; index++) clients.push(await member(t, server));
  t.is(new Set(clients.map(({ threadId }) => threadId)).size, 4);
  for (const ws of clients) await ask(ws, { cmd: 'sub', channel: 'everybody' });
  t.is(await ask(clients[0], { cmd: 'pub', channel: 'everybody', data: 'first' }), 8);
  for (const ws of clients) t.is(await ws.text(), 'first');
  for (const ws of clients.slice(0, 2)) ws.send(JSON.stringify({ cmd: 'error', n: 1 }));
  for (const ws of clients.slice(0, 2)) t.is((await ws.closed()).code, 1011);
  t.is(await ask(clients[2], { cmd: 'pub', channel: 'everybody', data: 'second' }), 6);
  for (const ws of clients.slice(2)) t.is(await ws.text(), 'second');
});

test('all of 6 connections on 3 threads report the same start argument', async (t) => {
  const server = await ownServer(t, { workerPath: commands, threads: 3, workerArg: { shared: true } });
  const seen = [];
  for (let index = 0; index < 6; index++) seen.push(await ask(await open(t, server), { cmd: 'getStartupArg' }));
  t.true(seen.every(({ startArg }) => startArg.shared === true));
  t.is(new Set(seen.map(({ threadId }) => threadId)).size, 3);
});

test('100 busy workers are terminated without a crash', async (t) => {
  const server = await ownServer(t);
  const rounds = 10;
  for (let round = 0; round < rounds; round++) {
    const { handle, addresses } = await server.start({ workerPath: commands, threads: 10 });
    const clients = await Promise.all(Array.from({ length: 20 }, () => open(t, server, { address: addresses[0] })));
    const flood = `flood ${'x'.repeat(50)}`;
    for (const ws of clients) for (let index = 0; index < 300; index++) ws.send(flood);
    // The server stops during the flood, without time to drain.
    await Promise.all(clients.map((ws) => ws.text()));
    await server.stop(handle, { drain: 0 });
    await within(Promise.all(clients.map((ws) => ws.closed())), 'all closed');
  }
  t.deepEqual(await server.call('getDebugState', 'workers'), {});
});
