// `createSplice`: multiplexers in a program, with clients and targets of the ws package.
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import test from 'ava';
import { WebSocket } from 'ws';

import { ask } from '../support/ask.mjs';
import { folderWith, Millrace } from '../support/cli.mjs';
import { until, within } from '../support/deadline.mjs';
import { createSplice } from '../support/millrace-splice.mjs';
import { unixTests } from '../support/platforms.mjs';
import { freePort } from '../support/ports.mjs';
import { inEach } from '../support/runtimes.mjs';
import { echoTarget, reach, Session } from '../support/splice-ws.mjs';

/** What the thread of a multiplexer does. */
const BUSY = 1;
const DONE = 2;
const LOCAL = '127.0.0.1:0';

/** One that is stopped with the test. */
async function made(t, options) {
  const server = await createSplice({ bind: LOCAL, privateTargets: true, ioThreads: 1, ...options });
  t.teardown(() => server.stop({ drain: 0 }));
  return server;
}

/** Why a handshake fails: its status, or the error. */
async function refusal(url, options) {
  const ws = new WebSocket(url, options);
  const failed = once(ws, 'error').then(([error]) => /response: (\d+)/.exec(error.message)?.[1] ?? error.message);
  try {
    return await within(Promise.race([failed, once(ws, 'open').then(() => 'open')]), 'an answer');
  } finally {
    ws.on('error', () => {});
    ws.terminate();
  }
}

inEach(test, 'it relays, several listeners, and stops with sessions open', async (t, { launch }) => {
  const [target, server] = [await echoTarget(t), await launch()];
  const addresses = await server.run('splice-own', 'start', {
    bind: [`127.0.0.1:${await freePort()}`, 'localhost:0'],
    privateTargets: true,
  });
  t.is(addresses.length, 2);
  const sessions = [];
  for (const address of addresses) {
    const session = await Session.open(t, address);
    const { index, closed } = await reach(session, target);
    t.deepEqual(await session.echo(index, 'grüße'), { index, text: 'grüße', isBinary: false });
    sessions.push({ session, closed });
  }
  t.true(await server.run('splice-own', 'stop', addresses[0]));
  for (const { session, closed } of sessions) {
    t.deepEqual(await within(session.closed, 'the end of the session'), { code: 1001, reason: '' });
    t.is((await within(closed, 'the end of the target')).code, 1001);
  }
  t.regex(await refusal(`ws://${addresses[0]}`), /ECONNREFUSED/);
});

for (const runtime of ['node', 'bun', 'deno']) {
  inEach(
    test,
    'it keeps the process running until it is stopped',
    async (t) => {
      const cwd = folderWith(t, { 'main.mjs': KEEPS });
      const run = new Millrace(t, [], { runtime, cwd, program: path.join(cwd, 'main.mjs') });
      const [, address] = await run.prints(/listens on (\S+)\n/);
      const session = await Session.open(t, address);
      session.ws.close();
      await within(session.closed, 'the end of the session');
      // only the listener is left, and it still works
      t.is((await ask(address, '/')).status, 400);
      writeFileSync(path.join(cwd, 'stop'), '');
      t.is(await run.exit(), 0);
      t.regex(run.out, /stopped\n$/);
    },
    { only: runtime },
  );
}

/** Ends by itself if nothing keeps it running. It stops when a certain file exists. */
const KEEPS = `
import { existsSync } from 'node:fs';
import { createSplice } from '${new URL('../../js/dist/splice.mjs', import.meta.url)}';
const server = await createSplice({ bind: '127.0.0.1:0' });
const looking = setInterval(async () => {
  if (!existsSync('stop')) return;
  clearInterval(looking);
  await server.stop();
  console.log('stopped');
}, 5);
looking.unref();
console.log('listens on ' + server.addresses[0]);
`;

test('two in one process are independent', async (t) => {
  const target = await echoTarget(t);
  const [one, two] = [await made(t), await made(t)];
  const [first, second] = [await Session.open(t, one.addresses[0]), await Session.open(t, two.addresses[0])];
  await reach(first, target);
  const { index } = await reach(second, target);
  t.is(one.stats().connections, 2);
  await one.stop();
  t.is((await within(first.closed, 'the end of the session')).code, 1001);
  t.is((await second.echo(index, 'still here')).text, 'still here');
});

test('it relays while its thread is busy: no JavaScript runs for traffic', async (t) => {
  const entry = JSON.stringify(new URL('../../js/dist/splice.mjs', import.meta.url).href);
  const code = `
    const { parentPort, workerData: state } = require('node:worker_threads');
    import(${entry}).then(async ({ createSplice }) => {
      const server = await createSplice({ bind: '127.0.0.1:0', privateTargets: true, ioThreads: 1 });
      parentPort.postMessage(server.addresses[0]);
      Atomics.store(state, 0, ${BUSY});
      Atomics.wait(state, 0, ${BUSY});
      await server.stop();
    });
  `;
  const state = new Int32Array(new SharedArrayBuffer(4));
  const [target, thread] = [await echoTarget(t), new Worker(code, { eval: true, workerData: state })];
  t.teardown(() => thread.terminate());
  const exited = once(thread, 'exit');
  const [address] = await within(once(thread, 'message'), 'its address');
  await until(() => Atomics.load(state, 0) === BUSY, 'the thread to be busy');
  const session = await Session.open(t, address);
  const { index } = await reach(session, target);
  t.is((await session.echo(index, 'hello')).text, 'hello');
  Atomics.store(state, 0, DONE);
  Atomics.notify(state, 0);
  t.is((await within(session.closed, 'the end of the session')).code, 1001);
  const [status] = await within(exited, 'the end of the thread');
  t.is(status, 0, 'nothing holds it any more');
});

test('several calls of stop are one stop', async (t) => {
  const server = await made(t);
  const stopping = server.stop();
  await Promise.all([stopping, server.stop(), server.stop({ drain: 0 })]);
  await t.throwsAsync(server.stop({ drain: -1 }), { instanceOf: TypeError, message: /options\.drain must be/ });
});

test("a listener's own options override the common ones", async (t) => {
  const target = await echoTarget(t);
  const bind = [LOCAL, { address: LOCAL, privateTargets: false, metrics: '/m', origins: '*' }];
  const [open, strict] = (await made(t, { bind, metrics: true })).addresses;
  t.is((await ask(open, '/metrics')).status, 200);
  t.is((await ask(strict, '/metrics')).status, 400);
  t.is((await ask(strict, '/m')).status, 200);
  const [one, two] = [await Session.open(t, open), await Session.open(t, strict)];
  t.is((await reach(one, target)).index, 0);
  t.like(await two.call('connect', { url: target.url() }), { error: { code: 4006 } });
  t.is(await refusal(`ws://${open}`, { origin: 'https://elsewhere.example' }), '403');
  t.is(await refusal(`ws://${open}`, { origin: `http://${open}` }), 'open', 'the same host');
  t.is(await refusal(`ws://${strict}`, { origin: 'https://elsewhere.example' }), 'open');
});

unixTests(test)('on a unix socket', async (t) => {
  const target = await echoTarget(t);
  const file = path.join(os.tmpdir(), `millrace-splice-${process.pid}`);
  const { addresses } = await made(t, { bind: `unix:${file}` });
  t.deepEqual(addresses, [`unix:${file}`]);
  const session = await Session.open(t, addresses[0]);
  const { index } = await reach(session, target);
  t.is((await session.echo(index, 'hello')).text, 'hello');
});

test('on other addresses than loopback it reaches listed hosts, or any public host', async (t) => {
  await t.throwsAsync(createSplice({ bind: ':0' }), { instanceOf: TypeError, message: /is not a loopback address/ });
  const target = await echoTarget(t);
  const port = async (options) => {
    const { addresses } = await made(t, { bind: '0.0.0.0:0', privateTargets: undefined, ...options });
    return Session.open(t, `127.0.0.1:${addresses[0].split(':').at(-1)}`);
  };
  const listed = await port({ allowedHostnames: ['a.example, 127.0.0.1', 'b.example'] });
  t.is((await reach(listed, target)).index, 0);
  t.like(await listed.call('connect', { url: target.url('localhost') }), { error: { code: 4006, path: 'url' } });
  const any = await port({ anyTarget: true });
  t.like(await any.call('connect', { url: target.url() }), { error: { code: 4006, path: 'url' } });
  const anything = await port({ anyTarget: true, privateTargets: true });
  t.is((await reach(anything, target)).index, 0);
});

test('a control message may be as long as frameSizeLimit', async (t) => {
  const { addresses } = await made(t, { frameSizeLimit: '1KB' });
  const session = await Session.open(t, addresses[0]);
  session.control('x'.repeat(1024));
  t.like(await session.event(), { method: 'warn', params: { code: 4000 } });
  session.control('x'.repeat(1025));
  t.is((await within(session.closed, 'the end of the session')).code, 1009);
});

test('a frameSizeLimit above the limit of messages holds', async (t) => {
  const { addresses } = await made(t, { frameSizeLimit: '17MB' });
  const session = await Session.open(t, addresses[0]);
  session.control('x'.repeat(17 * 1024 * 1024));
  t.like(await session.event(), { method: 'warn', params: { code: 4000 } });
});

test('dialTimeout bounds the wait for a target, whatever the client asks for', async (t) => {
  const mute = net.createServer((socket) => socket.on('error', () => {}));
  mute.listen(0, '127.0.0.1');
  t.teardown(() => mute.close());
  await once(mute, 'listening');
  const { addresses } = await made(t, { dialTimeout: '100ms' });
  const session = await Session.open(t, addresses[0]);
  const url = `ws://127.0.0.1:${mute.address().port}/`;
  for (const params of [{ url }, { url, timeout: 3_600_000 }]) {
    t.deepEqual(await session.call('connect', params), {
      error: { code: 4007, message: 'client timeout', path: 'url' },
    });
  }
});

test('requests other than WebSocket handshakes are refused', async (t) => {
  const [address] = (await made(t)).addresses;
  const upgrade = { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==' };
  t.like(await ask(address, '/any/path'), { status: 400, text: 'bad "Upgrade" header' });
  t.is((await ask(address, '/', { method: 'POST', body: 'x' })).status, 400);
  const version = await ask(address, '/', { headers: { ...upgrade, 'Sec-WebSocket-Version': '8' } });
  t.is(version.status, 426);
  t.is(version.headers['sec-websocket-version'], '13');
  const bad = await ask(address, '/', {
    headers: { ...upgrade, 'Sec-WebSocket-Version': '13', 'Sec-WebSocket-Key': 'x' },
  });
  t.is(bad.status, 400);
});

unixTests(test)('of several listeners none is left where one cannot be', async (t) => {
  const [address] = (await made(t)).addresses;
  const file = path.join(os.tmpdir(), `millrace-splice-taken-${process.pid}`);
  const both = createSplice({ bind: [`unix:${file}`, address] });
  await t.throwsAsync(both, { code: 'ERR_MILLRACE_ADDRESS_IN_USE' });
  t.false(existsSync(file));
});

test('errors of the native side are reported', async (t) => {
  const [address] = (await made(t)).addresses;
  await t.throwsAsync(createSplice({ bind: address }), { code: 'ERR_MILLRACE_ADDRESS_IN_USE' });
  await t.throwsAsync(createSplice({ bind: LOCAL, allowedHostnames: 'http://a.example' }), {
    code: 'ERR_MILLRACE_INVALID_OPTION',
    message: /^allowedHostnames: 'http:\/\/a\.example' is no host/,
  });
});

test('sessions are in the log at the level debug', async (t) => {
  const lines = [];
  const { addresses } = await made(t, { onLog: (line) => lines.push(line), logLevel: 'debug' });
  const session = await Session.open(t, addresses[0]);
  session.ws.close(1000);
  await within(session.closed, 'the end of the session');
  const logged = (message) => lines.find((line) => line.message === message && line.target === 'millrace::connection');
  await until(() => logged('closed'), 'a line about the end');
  t.like(logged('closed'), {
    level: 'debug',
    fields: { socket: logged('opened').fields.socket, code: 1000, by_peer: true },
  });
  t.like(
    lines.find(({ message }) => message === 'listening'),
    { level: 'info', fields: { address: addresses[0] } },
  );
});
