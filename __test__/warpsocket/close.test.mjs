// specs/warpsocket.md §6.4 and §8: how connections end, the arguments of handleClose, close codes and statuses.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { frame, text } from '../support/frames.mjs';
import { ask, forgotten, member, open, ownServer, sharedServer, worker } from '../support/server.mjs';

const server = sharedServer(test, { workerPath: worker('closing'), threads: 1, limits: { messageBytes: 1024 } });

/** A client, its id, and a watcher that receives the report of handleClose for that client. */
async function watched(t, options) {
  const watcher = await open(t, server);
  watcher.send('watch');
  t.is(await watcher.text(), 'watching');
  const ws = await open(t, server, options);
  ws.send('id');
  const id = Number(await ws.text());
  const report = async () => {
    for (;;) {
      const entry = await watcher.json();
      if (entry.socketId === id) return entry;
    }
  };
  return { ws, id, report, watcher };
}

const WAYS = {
  'a client close with a code': [(ws) => ws.close(4321, 'because'), 4321, { code: 4321, reason: 'because' }],
  'a client close without a code': [(ws) => ws.close(), 1005, { code: 1005, reason: '' }],
  'a client close with 1000': [(ws) => ws.close(1000), 1000, { code: 1000, reason: '' }],
  'a TCP end': [(ws) => ws.end(), 1006, { code: 1006 }],
  'a TCP reset': [(ws) => ws.reset(), 1006, { code: 1006 }],
  'a protocol error': [(ws) => ws.raw(frame({ opcode: 3 })), 1002, { code: 1002 }],
  'an unmasked frame': [(ws) => ws.raw(text('x', { masked: false })), 1002, { code: 1002 }],
  'invalid UTF-8': [(ws) => ws.raw(text(Buffer.from([0xff]))), 1007, { code: 1007 }],
  'a message that is too big': [(ws) => ws.send('x'.repeat(1025)), 1009, { code: 1009 }],
  'a handler that throws': [(ws) => ws.send('throw'), 1011, { code: 1011 }],
  'close() in its own handler': [(ws) => ws.send('close me'), 4100, { code: 4100, reason: 'as asked' }],
};

for (const [name, [act, code, expected]] of Object.entries(WAYS)) {
  test(`${name}: the client gets ${code}, handleClose runs once`, async (t) => {
    const { ws, id, report } = await watched(t);
    await act(ws);
    t.is((await ws.closed()).code, code);
    const entry = await report();
    t.like(entry, { ...expected, socketId: id, sendCount: 0, listed: false });
    t.is(entry.calls, 1);
  });
}

test('handleClose may unsubscribe the socket; afterwards its subscriptions are gone', async (t) => {
  const { ws, id, report } = await watched(t);
  const stays = await open(t, server);
  stays.send('id');
  const staysId = Number(await stays.text());
  await server.call('subscribe', [id, staysId], `room of ${id}`);
  ws.close(1000);
  const entry = await report();
  t.true(entry.unsubscribed.every((one) => one === id));
  const subscribers = async () => (await server.call('getDebugState', 'channels', `room of ${id}`)).subscribers;
  await until(async () => Object.keys(await subscribers()).length === 1, 'its subscription to be gone');
  t.deepEqual(await subscribers(), { [staysId]: 1 });
});

test('a broadcast in handleClose reaches the others', async (t) => {
  const { ws, report } = await watched(t);
  ws.destroy();
  t.is((await report()).event, 'close');
});

test('a handleClose that throws is reported and called once, and the worker continues', async (t) => {
  const { ws, id, report, watcher } = await watched(t);
  ws.send('throw at close');
  t.is(await ws.text(), 'will throw');
  ws.close(1000);
  t.is((await report()).calls, 1);
  const failed = ({ message }) => message.includes(`handleClose of ${id} failed`);
  await until(async () => (await server.errors()).some(failed), 'the report');
  watcher.send('alive');
  await watcher.when(() => watcher.inbox.some(({ data }) => data === 'alive'), 'the echo');
});

test('close() resolves virtual sockets, and returns false for closed, unknown and dangling ids', async (t) => {
  const { ws, id } = await watched(t);
  const virtual = await server.call('createVirtualSocket', id);
  t.true(await server.call('close', virtual));
  t.is((await ws.closed()).code, 1000);
  await forgotten(server, id);
  t.false(await server.call('close', id));
  t.false(await server.call('close', virtual));
  t.false(await server.call('close', 9_999_999));
});

for (const [code, reason, argument] of [
  [999, '', /code/],
  [1005, '', /code/],
  [1006, '', /code/],
  [1015, '', /code/],
  [2999, '', /code/],
  [5000, '', /code/],
  [1000.5, '', /code/],
  ['1000', '', /code/],
  [null, '', /code/],
  [4000, 'x'.repeat(124), /reason/],
  [4000, 'é'.repeat(62), /reason/],
  [4000, 5, /reason/],
  [4000, null, /reason/],
]) {
  test(`close with code ${code} and reason ${String(reason).slice(0, 5)}… is a TypeError`, async (t) => {
    const { ws, id } = await watched(t);
    await t.throwsAsync(server.call('close', id, code, reason), { name: 'TypeError', message: argument });
    ws.send('still open');
    t.is(await ws.text(), 'still open');
  });
}

test('messages pipelined after the one that calls close() are handled before handleClose or not at all', async (t) => {
  const { ws, report, id, watcher } = await watched(t);
  await ws.raw(Buffer.concat([text('close me'), text('mark'), text('mark'), text(`marks of ${id}`)]));
  t.is((await ws.closed()).code, 4100);
  const { marks } = await report();
  t.is(await server.call('send', id, 'x'), 0);
  watcher.send(`marks of ${id}`);
  await watcher.when(() => watcher.inbox.some(({ data }) => data === `marks ${marks}`), `still ${marks} marks`);
});

test('handleClose runs exactly once for each of 200 connections that close in all ways at the same time', async (t) => {
  const own = await ownServer(t, { workerPath: worker('commands'), threads: 3 });
  const watcher = await member(t, own);
  await own.call('subscribe', watcher.id, 'log');
  const clients = await Promise.all(Array.from({ length: 200 }, () => member(t, own)));
  const ways = [
    (ws) => ws.close(1000),
    (ws) => ws.end(),
    (ws) => ws.reset(),
    (ws) => ws.raw(frame({ opcode: 5 })),
    (ws) => own.call('close', ws.id),
  ];
  await Promise.all(clients.map((ws, index) => ways[index % ways.length](ws)));
  const closes = new Map(clients.map(({ id }) => [id, 0]));
  while ([...closes.values()].some((count) => count === 0)) {
    const entry = await watcher.json();
    if (entry.event === 'close') closes.set(entry.socketId, closes.get(entry.socketId) + 1);
  }
  for (const client of await Promise.all(Array.from({ length: 3 }, () => member(t, own))))
    await ask(client, { cmd: 'ping' });
  await ask(watcher, { cmd: 'ping' });
  const extra = watcher.inbox
    .map(({ data }) => JSON.parse(data))
    .filter(({ event, socketId }) => event === 'close' && closes.has(socketId));
  t.deepEqual(extra, []);
  t.true([...closes.values()].every((count) => count === 1));
});
