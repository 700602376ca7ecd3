// The same behaviour in every runtime: the server runs there in a child process, and clients connect from here.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { text } from '../support/frames.mjs';
import { handshake } from '../support/http.mjs';
import { inEach, runsTypeScript } from '../support/runtimes.mjs';
import { ask, callIn, member, onThreads, open, worker } from '../support/server.mjs';

const commands = worker('commands');
const workers = async (server) => Object.values(await server.call('getDebugState', 'workers'));
const workerIds = async (server) => Object.keys(await server.call('getDebugState', 'workers')).map(Number);

inEach(test, 'text and binary messages, also empty and non-ASCII ones', async (t, { launch }) => {
  const server = await launch({ workerPath: commands, threads: 1 });
  const ws = await open(t, server);
  for (const message of ['', 'text', 'téxt 漢字 🦀', 'x'.repeat(70_000), 'é'.repeat(70_000)]) {
    ws.send(message);
    t.is(await ws.text(), message);
  }
  for (const message of [Buffer.alloc(0), Buffer.from([0, 255, 128]), Buffer.alloc(70_000, 7)]) {
    ws.send(message);
    t.deepEqual((await ws.next()).data, message);
  }
});

inEach(test, 'broadcasts, virtual sockets, tokens and keys across threads', async (t, { launch }) => {
  const server = await launch({ workerPath: commands, threads: 2 });
  const [one, two] = await onThreads(t, server, 2);
  t.deepEqual(await callIn(one, 'subscribe', [one.id, two.id], 'room'), [one.id, two.id]);
  const virtual = await callIn(two, 'createVirtualSocket', one.id, 'v:');
  t.is(await callIn(two, 'send', ['room', virtual], 'news'), 3);
  t.deepEqual([await one.text(), await one.text()].sort(), ['news', 'v:news']);
  t.is(await two.text(), 'news');
  t.is(await server.call('send', 'room', 'from the main thread'), 2);
  t.is(await one.text(), 'from the main thread');
  t.true(await callIn(one, 'hasSubscriptions', 'room'));
  t.deepEqual(await callIn(one, 'unsubscribe', [one.id, two.id], 'room'), [one.id, two.id]);
  t.is(await server.call('send', 'room', 'nobody'), 0);
  await callIn(two, 'setToken', one.id, 'token');
  t.is((await ask(one, { cmd: 'token' })).toString(), 'token');
  await callIn(one, 'setKey', 'k', 'v');
  t.is((await callIn(two, 'getKey', 'k')).toString(), 'v');
});

inEach(
  test,
  'handlers: in order, one at a time, awaited; the start argument reaches every worker',
  async (t, { launch }) => {
    const server = await launch({ workerPath: commands, threads: 2, workerArg: { some: ['argument', 1n] } });
    for (const ws of await onThreads(t, server, 2)) {
      t.deepEqual((await ask(ws, { cmd: 'getStartupArg' })).startArg, { some: ['argument', 1n] });
      const order = [];
      const slow = ask(ws, { cmd: 'delay', ms: 20, echo: 'awaited' }).then(({ echo }) => order.push(echo));
      const quick = ask(ws, { cmd: 'ping' }).then((pong) => order.push(pong));
      await Promise.all([slow, quick]);
      t.deepEqual(order, ['awaited', 'pong']);
    }
  },
);

inEach(test, 'many messages arrive in order, including large ones', async (t, { launch }) => {
  const server = await launch({ workerPath: commands, threads: 1 });
  const ws = await open(t, server);
  const sizes = Array.from({ length: 500 }, (_, index) => (index % 50 === 49 ? 40_000 : index));
  await ws.raw(Buffer.concat(sizes.map((size, index) => text(`${index} ${'x'.repeat(size)}`))));
  for (const [index, size] of sizes.entries()) t.is(await ws.text(), `${index} ${'x'.repeat(size)}`);
});

inEach(test, 'handleOpen decides before the upgrade', async (t, { launch }) => {
  const server = await launch({ workerPath: worker('admission'), threads: 2 });
  t.is((await handshake(server.addresses[0], { path: '/refuse' })).status, 403);
  t.is((await handshake(server.addresses[0], { path: '/throw' })).status, 500);
  const ws = await open(t, server, { path: '/greet?arg=you', after: text('message') });
  const seen = [await ws.text(), await ws.text(), await ws.text(), await ws.text()];
  t.deepEqual(seen, ['hello you', 'still in handleOpen', 'by channel', 'message']);
});

inEach(test, 'failing handlers and workers that exit or hang do not affect others', async (t, { launch }) => {
  const server = await launch({ workerPath: commands, threads: 2, limits: { workerTimeoutMs: 3000 } });
  const healthy = await member(t, server);
  const harms = { error: {}, exit: { code: 1 }, uncaught: {}, hang: {} };
  for (const [cmd, message] of Object.entries(harms)) {
    await until(async () => (await workers(server)).length === 2, 'two workers');
    let victim = await member(t, server);
    while (victim.workerId === healthy.workerId) victim = await member(t, server);
    victim.send(JSON.stringify({ cmd, n: 1, ...message }));
    t.is((await victim.closed()).code, 1011, cmd);
    t.is(await ask(healthy, { cmd: 'ping' }), 'pong');
    if (cmd === 'error') continue;
    await until(async () => !(await workerIds(server)).includes(victim.workerId), 'the worker to be gone');
    await until(async () => (await workers(server)).length === 2, 'its replacement');
  }
  t.true((await workerIds(server)).includes(healthy.workerId));
  const codes = (await server.errors()).map(({ code }) => code);
  for (const code of ['HANDLER_FAILED', 'WORKER_EXITED', 'WORKER_UNRESPONSIVE']) {
    t.true(codes.includes(`ERR_MILLRACE_${code}`), `${code} in ${codes}`);
  }
  // the replacements serve with the same settings as the workers before them
  await server.call('subscribe', healthy.id, 'room');
  for (const ws of await onThreads(t, server, 2)) t.is(await callIn(ws, 'send', 'room', 'new'), 1);
  t.deepEqual([await healthy.text(), await healthy.text()], ['new', 'new']);
});

inEach(test, 'handleClose runs for a lost connection, even if its worker ended with it', async (t, { launch }) => {
  const server = await launch({ workerPath: commands, threads: 2 });
  const [watcher, victim] = await onThreads(t, server, 2);
  await ask(watcher, { cmd: 'sub', channel: 'log' });
  victim.send(JSON.stringify({ cmd: 'exit', n: 1 }));
  t.is((await victim.closed()).code, 1011);
  const isAboutVictim = ({ event, socketId }) => event === 'close' && socketId === victim.id;
  for (let entry = await watcher.json(); ; entry = await watcher.json()) if (isAboutVictim(entry)) break;
  t.is(await ask(watcher, { cmd: 'ping' }), 'pong');
});

inEach(test, 'threads: 0 runs the handlers on the calling thread', async (t, { launch }) => {
  const server = await launch({ workerPath: commands, threads: 0 });
  const [one, two] = [await member(t, server), await member(t, server)];
  t.deepEqual([one.threadId, two.threadId], [0, 0]);
  t.is((await workers(server)).length, 1);
  await ask(one, { cmd: 'sub', channel: 'room' });
  two.send(Buffer.from([0, 255]));
  t.deepEqual((await two.next()).data, Buffer.from([0, 255]));
  t.is(await ask(two, { cmd: 'pub', channel: 'room', data: 'x' }), 1);
  t.is(await one.text(), 'x');
  t.is((await ask(two, { cmd: 'delay', ms: 20, echo: 'e' })).echo, 'e');
  two.send(JSON.stringify({ cmd: 'error', n: 1 }));
  t.is((await two.closed()).code, 1011);
  t.is(await ask(one, { cmd: 'ping' }), 'pong');
  await server.stop();
  t.is((await one.closed()).code, 1001);
  await server.end();
  t.is((await server.exited).code, 0);
});

inEach(test, 'inherited properties of options and limits are ignored', async (t, { launch }) => {
  const server = await launch();
  t.is(await server.run('polluted-prototype'), 2);
});

inEach(test, 'a worker module in CommonJS', async (t, { launch }) => {
  const server = await launch({ workerPath: worker('classic').replace('.mjs', '.cjs'), threads: 2 });
  const ws = await open(t, server);
  ws.send('hello');
  t.regex(await ws.text(), /hello/);
});

inEach(test, 'a worker module in TypeScript, if the runtime supports it', async (t, { runtime, launch }) => {
  const options = { workerPath: worker('typed').replace('.mjs', '.ts'), threads: 2 };
  if (!runsTypeScript(runtime)) {
    const server = await launch();
    const error = await t.throwsAsync(server.start(options), { code: 'ERR_MILLRACE_WORKER_FAILED' });
    t.regex(error.message, /\.ts/);
    return;
  }
  const server = await launch(options);
  const [one, two] = [await open(t, server), await open(t, server)];
  one.send('héllo');
  const greeting = await one.json();
  t.is(greeting.text, 'héllo');
  t.deepEqual(await two.json(), greeting);
});

inEach(
  test,
  'two gateways in one process do not share channels, sockets and keys with each other',
  async (t, { launch }) => {
    const server = await launch({ workerPath: commands, threads: 2 });
    const other = await server.start({ workerPath: commands, threads: 2 }, { gateway: 'other' });
    const here = await member(t, server);
    const there = await member(t, server, { address: other.addresses[0] });
    for (const ws of [here, there]) await ask(ws, { cmd: 'sub', channel: 'room' });
    t.is(await server.call('send', 'room', 'default'), 1);
    t.is(await server.callOn('other', 'send', 'room', 'other'), 1);
    t.is(await callIn(here, 'send', 'room', 'default again'), 1);
    t.is(await callIn(there, 'send', 'room', 'other again'), 1);
    t.deepEqual([await here.text(), await here.text()], ['default', 'default again']);
    t.deepEqual([await there.text(), await there.text()], ['other', 'other again']);
    await callIn(here, 'setKey', 'k', 'default');
    t.is(await callIn(there, 'getKey', 'k'), undefined);
    t.is((await server.callOn('other', 'getDebugState', 'channels')).length, 1);
    await server.stop(other.handle);
    t.is((await there.closed()).code, 1001);
    t.is(await ask(here, { cmd: 'ping' }), 'pong');
  },
);

inEach(test, 'start fails cleanly, stop ends everything and the process exits by itself', async (t, { launch }) => {
  const server = await launch();
  await t.throwsAsync(server.start({ workerPath: worker('broken-throws'), threads: 2 }), {
    message: /this module throws/,
  });
  await server.start({ workerPath: commands, threads: 2 });
  const ws = await member(t, server);
  await server.stop();
  t.is((await ws.closed()).code, 1001);
  await server.end();
  t.is((await server.exited).code, 0);
});

inEach(test, 'stop lets every handleClose and handleStop finish', async (t, { launch }) => {
  const server = await launch({ workerPath: worker('stopping'), threads: 2 });
  const clients = await Promise.all(Array.from({ length: 10 }, () => open(t, server)));
  for (const ws of clients) ws.send('ready');
  for (const ws of clients) t.is(await ws.text(), 'ready');
  await server.stop();
  const record = (await server.call('getKey', 'record')).toString().trim().split(' ');
  t.deepEqual(record.sort(), [...Array(10).fill('close'), 'stop', 'stop']);
  t.deepEqual(await workers(server), []);
});

inEach(
  test,
  'stop terminates a worker in an endless loop as soon as it counts as unresponsive',
  async (t, { launch }) => {
    // if only the handlers' time limit applied, stop would take longer than the test waits
    const limits = { workerTimeoutMs: 2000, handlerTimeoutMs: 3_600_000 };
    const server = await launch({ workerPath: commands, threads: 2, limits });
    const [stuck, fine] = await onThreads(t, server, 2);
    stuck.send(JSON.stringify({ cmd: 'hang', n: 1 }));
    await ask(fine, { cmd: 'ping' });
    await server.stop(undefined, { drain: 0 });
    const isReport = ({ code }) => code === 'ERR_MILLRACE_WORKER_UNRESPONSIVE';
    await until(async () => (await server.errors()).some(isReport), 'the report');
    t.deepEqual(await workers(server), []);
  },
);
