// specs/warpsocket.md §6.3: the handlers of a connection run one after the other, are awaited, and may fail.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { ping, text } from '../support/frames.mjs';
import { ask, forgotten, member, open, ownServer, sharedServer, worker } from '../support/server.mjs';

const server = sharedServer(test, { workerPath: worker('commands'), threads: 1 });
const command = (n, cmd, more) => text(JSON.stringify({ cmd, n, ...more }));
const replies = async (ws, count) => {
  const list = [];
  for (let index = 0; index < count; index++) list.push(await ws.json());
  return list.map(({ re }) => re);
};

test('text arrives as a string, binary as a Uint8Array; both come back unchanged', async (t) => {
  const ws = await open(t, server);
  ws.send('téxt €😀');
  ws.send(Buffer.from([0, 1, 254, 255]));
  ws.send('');
  ws.send(Buffer.alloc(0));
  t.is(await ws.text(), 'téxt €😀');
  t.deepEqual((await ws.next()).data, Buffer.from([0, 1, 254, 255]));
  t.is(await ws.text(), '');
  t.is((await ws.next()).data.length, 0);
});

test('the reply of an async handler arrives after its delay', async (t) => {
  const ws = await open(t, server);
  const before = performance.now();
  t.is((await ask(ws, { cmd: 'delay', ms: 60, echo: 'late' })).echo, 'late');
  t.true(performance.now() - before >= 55);
});

test('three messages with delays 50, 25 and 0 ms are answered in sending order', async (t) => {
  const ws = await open(t, server);
  const answers = Promise.all([50, 25, 0].map((ms) => ask(ws, { cmd: 'delay', ms, echo: ms })));
  const list = await answers;
  t.deepEqual(
    list.map(({ echo }) => echo),
    [50, 25, 0],
  );
  t.true(list[0].at <= list[1].at && list[1].at <= list[2].at);
});

test('sync, async and binary messages in one segment are handled in order', async (t) => {
  const ws = await open(t, server);
  await ws.raw(
    Buffer.concat([
      command(9_000_001, 'delay', { ms: 30 }),
      command(9_000_002, 'ping'),
      command(9_000_003, 'delay', { ms: 5 }),
      command(9_000_004, 'ping'),
      text('plain'),
    ]),
  );
  t.deepEqual(await replies(ws, 4), [9_000_001, 9_000_002, 9_000_003, 9_000_004]);
  t.is(await ws.text(), 'plain');
});

test('a sync message, an async one of 30 ms and a sync one are answered in that order', async (t) => {
  const ws = await open(t, server);
  await ws.raw([command(9_000_001, 'ping'), command(9_000_002, 'delay', { ms: 30 }), command(9_000_003, 'ping')]);
  t.deepEqual(await replies(ws, 3), [9_000_001, 9_000_002, 9_000_003]);
});

test('thenables are awaited like promises', async (t) => {
  const ws = await open(t, server);
  await ws.raw([command(9_000_001, 'thenable', { ms: 30 }), command(9_000_002, 'ping')]);
  t.deepEqual(await replies(ws, 2), [9_000_001, 9_000_002]);
});

test('other connections of the same worker do not wait', async (t) => {
  const [slow, quick] = [await member(t, server), await member(t, server)];
  t.is(slow.threadId, quick.threadId);
  const key = `done of ${slow.id}`;
  let slowDone = false;
  const pending = ask(slow, { cmd: 'gate', key }).then(() => {
    slowDone = true;
  });
  for (let index = 0; index < 20; index++) t.is(await ask(quick, { cmd: 'ping' }), 'pong');
  t.false(slowDone);
  await server.call('setKey', key, 'now');
  await pending;
});

test('2000 messages with handlers of every kind stay in order', async (t) => {
  const ws = await open(t, server);
  const frames = Array.from({ length: 2000 }, (_, index) =>
    index % 97 === 0 ? command(9_000_000 + index, 'delay', { ms: 1 }) : command(9_000_000 + index, 'ping'),
  );
  await ws.raw(Buffer.concat(frames));
  const order = await replies(ws, 2000);
  t.deepEqual(
    order,
    order.map((_, index) => 9_000_000 + index),
  );
});

test('large messages (outside of the batch) keep their place among small ones', async (t) => {
  const ws = await open(t, server);
  const sizes = [10, 20_000, 5, 16_384, 16_385, 300_000, 1, 0, 100_000];
  await ws.raw(Buffer.concat(sizes.flatMap((size) => [text('x'.repeat(size)), text('é'.repeat(size))])));
  for (const size of sizes) {
    t.is(await ws.text(), 'x'.repeat(size));
    t.is(await ws.text(), 'é'.repeat(size));
  }
});

const THROWN = {
  'an Error': [{ $: 'error', name: 'Error', message: 'deliberate failure' }, /deliberate failure/],
  'a string': ['a plain string', /a plain string/],
  'a number': [4711, /4711/],
  undefined: [{ $: 'undefined' }, /undefined/],
  null: [null, /null/],
  'an object': [{ $: 'object', entries: [['reason', 'in an object']] }, /in an object/],
  'a symbol': [{ $: 'symbol' }, /Symbol\(test\)/],
};

for (const [name, [value, pattern]] of Object.entries(THROWN)) {
  for (const cmd of ['throwValue', 'reject']) {
    test(`${cmd === 'reject' ? 'a rejection with' : 'throwing'} ${name}: 1011, reported, the worker stays`, async (t) => {
      const [ws, bystander] = [await member(t, server), await member(t, server)];
      await ws.raw(
        Buffer.concat([command(1, cmd, { value }), command(2, 'kvSet', { key: `${cmd} ${name}`, value: 'handled' })]),
      );
      t.like(await ws.closed(), { code: 1011, reason: 'Internal server error (message handler)' });
      await until(async () => (await server.errors()).some(({ message }) => pattern.test(message)), 'the report');
      t.is(await ask(bystander, { cmd: 'ping' }), 'pong');
      t.is(
        await server.call('getKey', `${cmd} ${name}`),
        undefined,
        'the next message of the failed connection is not handled',
      );
      await forgotten(server, ws.id);
    });
  }
}

test('a handler over its time limit: 1011, handleClose, a late result is ignored, the worker continues', async (t) => {
  const own = await ownServer(t, { workerPath: worker('commands'), threads: 1, limits: { handlerTimeoutMs: 2000 } });
  const [watcher, ws, quick] = [await member(t, own), await member(t, own), await member(t, own)];
  await own.call('subscribe', watcher.id, 'log');
  await ws.raw([command(1, 'delay', { ms: 3000 }), command(2, 'kvSet', { key: 'behind', value: 'x' })]);
  t.like(await ws.closed(), { code: 1011, reason: 'Internal server error (message handler)' });
  t.like(await watcher.json(), { event: 'close', socketId: ws.id, code: 1011 });
  t.deepEqual(ws.inbox, []);
  t.is((await ask(quick, { cmd: 'delay', ms: 200, echo: 'fine' })).echo, 'fine');
  // Longer than the first handler takes to complete.
  for (let round = 0; round < 8; round++) await ask(quick, { cmd: 'delay', ms: 200 });
  t.is(await own.call('getKey', 'behind'), undefined);
  t.is(await ask(quick, { cmd: 'ping' }), 'pong');
});

test('the default limit of a handler is 5 s', async (t) => {
  const own = await ownServer(t, { workerPath: worker('commands'), threads: 1 }, { patient: false });
  const ws = await open(t, own);
  const before = performance.now();
  await ws.raw(command(1, 'delay', { ms: 120_000 }));
  const end = await ws.closed();
  t.is(end.code, 1011);
  t.regex(end.reason, /Internal server error/);
  const took = performance.now() - before;
  t.true(took > 4500 && took < 30_000, `${Math.round(took)} ms`);
});

test('while a handler runs, pings are answered and a disconnect is noticed', async (t) => {
  const [watcher, ws] = [await member(t, server), await member(t, server)];
  const key = `done of ${ws.id}`;
  const pending = ask(ws, { cmd: 'gate', key });
  pending.catch(() => {});
  await ws.raw(ping('during'));
  t.is((await ws.pong()).toString(), 'during');
  ws.destroy();
  await until(
    async () => (await server.call('getDebugState', 'sockets', ws.id)) === undefined,
    'the socket to be gone',
  );
  await server.call('setKey', key, 'now');
  t.is(await ask(watcher, { cmd: 'ping' }), 'pong');
});

for (const [module, kind, data] of [
  ['no-handlers', 'text', 'x'],
  ['no-handlers', 'binary', Buffer.from('x')],
  ['text-only', 'binary', Buffer.from('x')],
]) {
  test(`no handler for ${kind} (${module}): 1011`, async (t) => {
    const own = await ownServer(t, { workerPath: worker(module), threads: 1 });
    const ws = await open(t, own);
    ws.send(data);
    t.like(await ws.closed(), { code: 1011, reason: 'Server worker has no handler' });
  });
}

test('a module without a text handler still receives broadcasts', async (t) => {
  const own = await ownServer(t, { workerPath: worker('no-handlers'), threads: 1 });
  const ws = await open(t, own);
  const [id] = Object.keys(await own.call('getDebugState', 'sockets'));
  await own.call('subscribe', Number(id), 'news');
  t.is(await own.call('send', 'news', 'hello'), 1);
  t.is(await ws.text(), 'hello');
});

test('handlers are called with `this` undefined; a default export is ignored', async (t) => {
  const own = await ownServer(t, { workerPath: worker('default-export'), threads: 1 });
  const ws = await open(t, own);
  ws.send('x');
  t.is(await ws.text(), 'this is undefined');
  const [state] = Object.values(await own.call('getDebugState', 'workers'));
  t.false(state.hasBinaryHandler);
  ws.send(Buffer.from('x'));
  t.is((await ws.closed()).code, 1011);
});

test('texts of every length and script, mixed in one batch, come back unchanged', async (t) => {
  const own = await ownServer(t, { workerPath: worker('echo'), threads: 1 });
  const ws = await open(t, own);
  const scripts = ['ascii-', 'größer-', '日本語-', '🎈🎉-', '\u0000\u007f', '\ufffd\uffff'];
  const lengths = [0, 1, 12, 13, 511, 512, 513, 1024, 1025, 2047, 2048, 2049, 4095, 16_384, 16_385, 70_000];
  const texts = [];
  for (let round = 0; round < 4; round++) {
    for (const length of lengths) {
      for (const script of scripts) texts.push(script.repeat(Math.ceil(length / script.length)).slice(0, length));
      texts.push(`${length}`);
    }
  }
  const whole = texts.map((one) => one.toWellFormed?.() ?? Buffer.from(one).toString());
  await ws.raw(Buffer.concat(whole.map((one) => text(one))));
  for (const one of whole) t.true((await ws.text()) === one, `${one.length} of ${one.slice(0, 9)}`);
});

test('a worker module may be CommonJS', async (t) => {
  const own = await ownServer(t, { workerPath: worker('classic').replace('.mjs', '.cjs'), threads: 1 });
  const ws = await open(t, own);
  ws.send('hi');
  t.is(await ws.text(), 'cjs hi');
});

test('a handler may keep and transfer its data; later messages are not lost', async (t) => {
  const own = await ownServer(t, { workerPath: worker('transfer'), threads: 1 });
  const ws = await open(t, own);
  const count = 200;
  await ws.raw(
    Buffer.concat(Array.from({ length: count }, (_, index) => Buffer.concat([text(`t ${index}`), binaryOf(index)]))),
  );
  for (let index = 0; index < count; index++) {
    t.is(await ws.text(), `t ${index}`);
    t.is(await ws.text(), `b ${index} transferred`);
  }
  ws.send('kept');
  const kept = await ws.json();
  t.deepEqual(
    kept,
    Array.from({ length: count }, (_, index) => `binary ${index}`),
  );
});

function binaryOf(index) {
  return text(Buffer.from(`binary ${index}`), { opcode: 2 });
}
