// threads: 0: the handlers run on the calling thread, without workers.
import path from 'node:path';
import test from 'ava';

import { folderFor, write } from '../support/files.mjs';
import { handshake } from '../support/http.mjs';
import { ask, callIn, member, open, ownServer, worker } from '../support/server.mjs';

const options = { workerPath: worker('commands'), threads: 0 };

test('handlers run on the main thread with all functions', async (t) => {
  const server = await ownServer(t, options);
  const [one, two] = [await member(t, server), await member(t, server)];
  t.is(one.threadId, 0);
  t.is(Object.keys(await server.call('getDebugState', 'workers')).length, 1);
  await ask(one, { cmd: 'sub', channel: 'room' });
  await ask(two, { cmd: 'sub', channel: 'room' });
  t.is(await ask(one, { cmd: 'pub', channel: 'room', data: 'x' }), 2);
  t.is(await two.text(), 'x');
  t.is(await server.call('send', 'room', 'from the same thread'), 2);
  t.is((await ask(two, { cmd: 'delay', ms: 20, echo: 'e' })).echo, 'e');
  t.is((await callIn(one, 'getDebugState', 'workers', one.workerId)).hasTextHandler, true);
});

test('handleStart gets the workerArg', async (t) => {
  const server = await ownServer(t, { ...options, workerArg: { for: 'main' } });
  const { startArg, startCalls, threadId } = await ask(await open(t, server), { cmd: 'getStartupArg' });
  t.deepEqual(startArg, { for: 'main' });
  t.is(startCalls, 1);
  t.is(threadId, 0);
});

test('a handler that throws closes only its connection; the process continues', async (t) => {
  const server = await ownServer(t, options);
  const [one, two] = [await member(t, server), await member(t, server)];
  one.send(JSON.stringify({ cmd: 'error', n: 1 }));
  t.is((await one.closed()).code, 1011);
  t.is(await ask(two, { cmd: 'ping' }), 'pong');
});

test('a busy main thread is not terminated, and pings are answered in the meantime', async (t) => {
  const folder = folderFor(t, {});
  const server = await ownServer(t, options);
  const ws = await member(t, server);
  // longer than the default limit for workers
  const blocked = server.block(4000, path.join(folder, 'answered'));
  ws.ping('while busy');
  t.is((await ws.pong()).toString(), 'while busy');
  write(folder, 'answered', '');
  await blocked;
  t.is(await ask(ws, { cmd: 'ping' }), 'pong');
});

test('start rejects if the module cannot be imported, and can be retried', async (t) => {
  const server = await ownServer(t);
  for (const broken of ['broken-throws', 'broken-start', 'broken-handler', 'does-not-exist']) {
    await t.throwsAsync(server.start({ workerPath: worker(broken), threads: 0 }));
    t.deepEqual(await server.call('getDebugState', 'workers'), {});
  }
  await server.start(options);
  t.is(await ask(await open(t, server), { cmd: 'ping' }), 'pong');
});

test('a syntax error names the file of the worker module', async (t) => {
  const folder = folderFor(t, { 'misprinted.mjs': 'export default { handleOpen( {' });
  const workerPath = path.join(folder, 'misprinted.mjs');
  const server = await ownServer(t);
  for (const threads of [0, 1]) {
    await t.throwsAsync(server.start({ workerPath, threads }), {
      code: 'ERR_MILLRACE_WORKER_FAILED',
      message: /^a worker could not be started: .*misprinted\.mjs/s,
    });
  }
});

test('handleOpen can refuse connections on the main thread, too', async (t) => {
  const server = await ownServer(t, { workerPath: worker('admission'), threads: 0 });
  t.is((await handshake(server.addresses[0], { path: '/refuse' })).status, 403);
  t.is((await handshake(server.addresses[0], { path: '/throw' })).status, 500);
  t.is((await handshake(server.addresses[0], { path: '/later' })).status, 101);
});

test('negative, fractional and other threads are TypeErrors', async (t) => {
  const server = await ownServer(t);
  for (const threads of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '3', null, {}]) {
    await t.throwsAsync(server.start({ workerPath: worker('commands'), threads }), {
      name: 'TypeError',
      message: /threads/,
    });
  }
});

test('stop runs handleClose and handleStop on the main thread, then the process exits by itself', async (t) => {
  const server = await ownServer(t, { workerPath: worker('stopping'), threads: 0 });
  const ws = await open(t, server);
  ws.send('x');
  await ws.text();
  await server.stop();
  t.is((await ws.closed()).code, 1001);
  t.is((await server.call('getKey', 'record')).toString(), 'close stop ');
});
