// specs/warpsocket.md §2, §4.1: starting, binding, several starts, failed starts and their cleanup, stopping.
import { mkdtempSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

import test from 'ava';

import { exchange, handshake } from '../support/http.mjs';
import { unixTests } from '../support/platforms.mjs';
import { freePort } from '../support/ports.mjs';
import { ask, leave, member, open, ownServer, worker } from '../support/server.mjs';
import { remove } from '../support/teardown.mjs';

const scratch = mkdtempSync(path.join(tmpdir(), 'millrace-start-'));
test.after.always(() => remove(scratch));

const commands = worker('commands');
const loopback = '127.0.0.1:0';
const portOf = (address) => Number(address.slice(address.lastIndexOf(':') + 1));

/** A port that is in use for the rest of the test. */
async function takenPort(t) {
  const blocker = net.createServer();
  await new Promise((resolve) => blocker.listen(0, '127.0.0.1', resolve));
  t.teardown(() => blocker.close());
  return blocker.address().port;
}

test('start resolves with the addresses when workers and addresses are ready', async (t) => {
  const server = await ownServer(t);
  const { addresses } = await server.start({ workerPath: commands, threads: 2 });
  t.is(addresses.length, 1);
  t.regex(addresses[0], /^127\.0\.0\.1:\d+$/);
  t.true(portOf(addresses[0]) > 0);
  t.is(Object.keys(await server.call('getDebugState', 'workers')).length, 2);
  const ws = await member(t, server);
  t.is(ws.ip, '127.0.0.1');
});

test('bind takes a list; all addresses share everything', async (t) => {
  const server = await ownServer(t);
  const { addresses } = await server.start({ bind: [loopback, loopback, '[::1]:0'], workerPath: commands, threads: 1 });
  t.is(addresses.length, 3);
  t.is(new Set(addresses).size, 3);
  t.regex(addresses[2], /^\[::1\]:\d+$/);
  const clients = await Promise.all(addresses.map((address) => member(t, server, { address })));
  t.is(clients[2].ip, '::1');
  for (const ws of clients) await ask(ws, { cmd: 'sub', channel: 'shared' });
  t.is(await server.call('send', 'shared', 'to all'), 3);
  for (const ws of clients) t.is(await ws.text(), 'to all');
});

for (const bind of ['localhost:0', ':0', '[::]:0', '0.0.0.0:0']) {
  test(`bind ${bind}`, async (t) => {
    const server = await ownServer(t);
    const { addresses } = await server.start({ bind, workerPath: commands, threads: 1 });
    t.true(portOf(addresses[0]) > 0);
    const host = bind === '[::]:0' ? '[::1]' : '127.0.0.1';
    const reached = addresses[0].startsWith('[::1]') ? addresses[0] : `${host}:${portOf(addresses[0])}`;
    t.is((await handshake(reached)).status, 101);
  });
}

unixTests(test)('bind to a unix socket', async (t) => {
  const server = await ownServer(t);
  const file = path.join(scratch, 'gateway.sock');
  const { addresses } = await server.start({ bind: `unix:${file}`, workerPath: commands, threads: 1 });
  t.deepEqual(addresses, [`unix:${file}`]);
  const ws = await member(t, server);
  t.is(await ask(ws, { cmd: 'ping' }), 'pong');
  t.is(typeof ws.ip, 'string');
});

test('bind takes a listener object', async (t) => {
  const server = await ownServer(t);
  const { addresses } = await server.start({
    bind: [{ address: loopback, protocol: 'http' }],
    workerPath: commands,
    threads: 1,
  });
  t.is((await handshake(addresses[0])).status, 101);
});

test('with an empty bind, start resolves without binding anything', async (t) => {
  const server = await ownServer(t);
  const { addresses } = await server.start({ bind: [], workerPath: commands, threads: 1 });
  t.deepEqual(addresses, []);
  t.is(Object.keys(await server.call('getDebugState', 'workers')).length, 1);
});

test('a later start without workerPath adds an address', async (t) => {
  const server = await ownServer(t, { workerPath: commands, threads: 2 });
  const { addresses } = await server.start({});
  t.not(addresses[0], server.addresses[0]);
  t.is(Object.keys(await server.call('getDebugState', 'workers')).length, 2);
  const [one, two] = await Promise.all(server.addresses.map((address) => member(t, server, { address })));
  await ask(one, { cmd: 'sub', channel: 'both' });
  await ask(two, { cmd: 'sub', channel: 'both' });
  t.is(await server.call('send', 'both', 'x'), 2);
});

test('a later start with workerPath adds workers to the same pool', async (t) => {
  const server = await ownServer(t, { workerPath: commands, threads: 1 });
  await server.start({ workerPath: worker('classic').replace('.mjs', '.cjs'), threads: 2 });
  t.is(Object.keys(await server.call('getDebugState', 'workers')).length, 3);
  const answers = new Set();
  for (let index = 0; index < 3; index++) {
    const ws = await open(t, server);
    ws.send('hi');
    answers.add(await ws.text());
  }
  t.deepEqual([...answers].sort(), ['cjs hi', 'hi']);
});

test('in a later start, threads without workerPath is a TypeError', async (t) => {
  const server = await ownServer(t, { workerPath: commands, threads: 1 });
  await t.throwsAsync(server.start({ threads: 2 }), { name: 'TypeError', message: /threads/ });
  t.is(Object.keys(await server.call('getDebugState', 'workers')).length, 1);
});

test('a later start cannot change the options that the first one fixed', async (t) => {
  const server = await ownServer(t, { workerPath: commands, threads: 1, ioThreads: 1 });
  await t.throwsAsync(server.start({ ioThreads: 2 }), { code: 'ERR_MILLRACE_ALREADY_STARTED' });
  await t.throwsAsync(server.start({ ioUring: false }), {
    code: 'ERR_MILLRACE_ALREADY_STARTED',
    message: /ioUring/,
  });
  await server.start({ ioThreads: 1 });
  t.is(server.addresses.length, 2);
});

test('workerPath may be relative to the working directory, absolute or a file: URL', async (t) => {
  const server = await ownServer(t);
  await server.start({ workerPath: path.relative(process.cwd(), commands), threads: 1 });
  await server.start({ workerPath: new URL(`file://${commands}`), threads: 1 });
  t.is(Object.keys(await server.call('getDebugState', 'workers')).length, 2);
});

test('without threads, there are at least four workers', async (t) => {
  const server = await ownServer(t, { workerPath: commands });
  t.true(Object.keys(await server.call('getDebugState', 'workers')).length >= 4);
});

test('workerArg is cloned to every worker', async (t) => {
  const workerArg = { a: [1, 'two', { three: 3 }], bytes: Buffer.from('bytes'), date: new Date(12_345) };
  const server = await ownServer(t, { workerPath: commands, threads: 2, workerArg });
  for (const ws of [await open(t, server), await open(t, server)]) {
    const { startArg, startCalls } = await ask(ws, { cmd: 'getStartupArg' });
    t.is(startCalls, 1);
    t.deepEqual({ ...startArg, bytes: Buffer.from(startArg.bytes) }, workerArg);
  }
});

test('without a workerArg, handleStart gets undefined', async (t) => {
  const server = await ownServer(t, { workerPath: commands, threads: 1 });
  const { startArg, startCalls } = await ask(await open(t, server), { cmd: 'getStartupArg' });
  t.is(startArg, undefined);
  t.is(startCalls, 1);
});

const FAILURES = {
  'a worker module that throws': [{ workerPath: worker('broken-throws') }, /this module throws/],
  'a worker module that does not exist': [{ workerPath: worker('does-not-exist') }, /does-not-exist/],
  'a worker module with a syntax error': [
    () => {
      const file = path.join(scratch, 'syntax.mjs');
      writeFileSync(file, 'export const = 1;');
      return { workerPath: file };
    },
    /syntax|unexpected/i,
  ],
  'a handler that is not a function': [{ workerPath: worker('broken-handler') }, /handleTextMessage/],
  'a handleStart that rejects': [{ workerPath: worker('broken-start') }, /handleStart rejects/],
  'an address that is no address': [{ bind: 'not an address', workerPath: commands }, /not an address/],
  'a host name': [{ bind: 'example.org:80', workerPath: commands }, /example\.org/],
  'a port out of range': [{ bind: '127.0.0.1:65536', workerPath: commands }, /65536/],
  'an address of another machine': [{ bind: '192.0.2.1:0', workerPath: commands }, /192\.0\.2\.1/],
  'no workerPath on the first call': [{}, /workerPath/],
  'a workerArg that cannot be cloned': [{ workerPath: commands, workerArg: Symbol('no') }, /clone/i],
};

for (const [name, [options, message]] of Object.entries(FAILURES)) {
  test(`start rejects and can be retried: ${name}`, async (t) => {
    const server = await ownServer(t);
    const given = typeof options === 'function' ? options() : options;
    await t.throwsAsync(server.start({ threads: 2, ...given }), { message });
    t.deepEqual(await server.call('getDebugState', 'workers'), {});
    await server.start({ workerPath: commands, threads: 1 });
    t.is(await ask(await open(t, server), { cmd: 'ping' }), 'pong');
    t.is(Object.keys(await server.call('getDebugState', 'workers')).length, 1);
  });
}

test('a workerArg that cannot be cloned is a DataCloneError', async (t) => {
  const server = await ownServer(t);
  const error = await t.throwsAsync(server.start({ workerPath: commands, threads: 1, workerArg: () => {} }));
  t.is(error.name, 'DataCloneError');
});

test('if an address is in use, the error names it, and the other address does not stay bound', async (t) => {
  const server = await ownServer(t);
  const taken = await takenPort(t);
  const free = await freePort();
  const bind = [`127.0.0.1:${free}`, `127.0.0.1:${taken}`];
  await t.throwsAsync(server.start({ bind, workerPath: commands, threads: 1 }), {
    code: 'ERR_MILLRACE_ADDRESS_IN_USE',
    message: new RegExp(`127\\.0\\.0\\.1:${taken}`),
  });
  const { status, closed } = await exchange(`127.0.0.1:${free}`, 'GET / HTTP/1.1\r\n\r\n');
  t.is(status, 0);
  t.true(closed);
  t.deepEqual(await server.call('getDebugState', 'workers'), {});
  await server.start({ bind: `127.0.0.1:${free}`, workerPath: commands, threads: 1 });
  t.is(await ask(await open(t, server), { cmd: 'ping' }), 'pong');
});

test('a failed later start leaves the earlier one running', async (t) => {
  const server = await ownServer(t, { workerPath: commands, threads: 1 });
  await t.throwsAsync(server.start({ workerPath: worker('broken-start'), threads: 2 }));
  await t.throwsAsync(server.start({ bind: 'nonsense' }));
  t.is(Object.keys(await server.call('getDebugState', 'workers')).length, 1);
  t.is(await ask(await open(t, server), { cmd: 'ping' }), 'pong');
});

test('start does not change the options object', async (t) => {
  const server = await ownServer(t);
  t.deepEqual(await server.run('options-untouched', path.relative(process.cwd(), commands)), {
    unchanged: true,
    frozen: true,
  });
});

test('workers get connections round-robin; a request without an upgrade takes no turn and no id', async (t) => {
  const server = await ownServer(t, { workerPath: commands, threads: 3 });
  const clients = [];
  for (let index = 0; index < 6; index++) {
    clients.push(await member(t, server));
    t.is((await exchange(server.addresses[0], 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')).status, 426);
  }
  const workers = clients.map(({ workerId }) => workerId);
  t.deepEqual(workers.slice(0, 3), workers.slice(3));
  t.is(new Set(workers).size, 3);
  const ids = clients.map(({ id }) => id);
  t.deepEqual(
    ids,
    ids.map((_, index) => ids[0] + index),
  );
});

test('socket ids are positive integers, unique among real and virtual sockets, and never reused', async (t) => {
  const server = await ownServer(t, { workerPath: commands, threads: 1 });
  const seen = new Set();
  const fresh = (id) => {
    t.true(Number.isSafeInteger(id) && id > 0);
    t.false(seen.has(id), `id ${id} was reused`);
    seen.add(id);
  };
  for (let round = 0; round < 80; round++) {
    const ws = await member(t, server);
    fresh(ws.id);
    for (let index = 0; index < 3; index++) {
      const virtual = await server.call('createVirtualSocket', ws.id);
      fresh(virtual);
      if (index > 0) t.true(await server.call('deleteVirtualSocket', virtual));
    }
    await leave(ws, server);
  }
});

test('stop: clients get 1001, the port is free, the process can start again and exit by itself', async (t) => {
  // a port that the system assigns to no other program in the meantime
  const server = await ownServer(t, { bind: `127.0.0.1:${await freePort()}`, workerPath: commands, threads: 2 });
  const [address] = server.addresses;
  const ws = await member(t, server);
  const waiting = ws.closed();
  await server.stop();
  t.is((await waiting).code, 1001);
  t.is((await exchange(address, 'GET / HTTP/1.1\r\n\r\n')).status, 0);
  t.deepEqual(await server.call('getDebugState', 'workers'), {});
  await server.start({ bind: address, workerPath: commands, threads: 1 });
  t.is(await ask(await open(t, server, { address }), { cmd: 'ping' }), 'pong');
});

test('stop of one start ends only its own listeners and connections', async (t) => {
  const server = await ownServer(t, { workerPath: commands, threads: 1 });
  const second = await server.start({});
  const [one, two] = await Promise.all(server.addresses.map((address) => member(t, server, { address })));
  const ended = two.closed();
  await server.stop(second.handle);
  t.is((await ended).code, 1001);
  t.is(await ask(one, { cmd: 'ping' }), 'pong');
  t.is((await exchange(server.addresses[1], 'GET / HTTP/1.1\r\n\r\n')).status, 0);
  await member(t, server);
});

test('the functions work before start', async (t) => {
  const server = await ownServer(t);
  t.is(await server.call('send', 'nobody', 'x'), 0);
  t.is(await server.call('send', 1, 'x'), 0);
  t.false(await server.call('hasSubscriptions', 'nobody'));
  t.is(await server.call('setKey', 'k', 'v'), undefined);
  t.is((await server.call('getKey', 'k')).toString(), 'v');
  t.deepEqual(await server.call('getDebugState', 'sockets'), {});
  await server.start({ workerPath: commands, threads: 1 });
  t.is((await ask(await open(t, server), { cmd: 'kvGet', key: 'k' })).toString(), 'v');
});

test('start inside a worker rejects', async (t) => {
  const server = await ownServer(t, { workerPath: commands, threads: 1 });
  const ws = await open(t, server);
  const error = await t.throwsAsync(ask(ws, { cmd: 'startHere', bind: loopback }));
  t.regex(error.message, /worker/i);
});
