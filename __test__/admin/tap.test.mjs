// A tap of the admin page: the messages of a channel as they pass, and what a browser that reads slowly misses.
import { once } from 'node:events';
import net from 'node:net';
import test from 'ava';

import { get, json, Tap, TOKEN, withAdmin } from '../support/admin.mjs';
import { until } from '../support/deadline.mjs';
import { ask, callIn, member, ownServer } from '../support/server.mjs';

const taps = async (server) => (await json(server, '/state')).taps;

test('texts and binary messages pass in order, as lines', async (t) => {
  const server = await ownServer(t, withAdmin());
  const ws = await member(t, server);
  const tap = await Tap.open(t, server, 'room%3A1');
  t.is(tap.answer.headers.get('content-type'), 'application/x-ndjson');
  t.is(tap.answer.headers.get('cache-control'), 'no-store');
  const hostile = '<img src=x onerror="alert(1)">\n\0';
  t.is(await callIn(ws, 'send', 'room:1', hostile), 1, 'the tap is a subscriber like any other');
  await callIn(ws, 'send', 'room:1', Buffer.from([0, 159, 255]));
  await callIn(ws, 'send', 'room:2', 'of another channel');
  await callIn(ws, 'send', 'room:1', 'é'.repeat(5000));
  await tap.until(() => tap.messages().length === 3, 'three messages');
  t.deepEqual(tap.messages(), [
    { kind: 'text', bytes: Buffer.byteLength(hostile), text: hostile },
    { kind: 'binary', bytes: 3, hex: '009fff' },
    { kind: 'text', bytes: 10_000, text: 'é'.repeat(1024) },
  ]);
  t.is(await taps(server), 1);
  tap.close();
  await until(async () => (await taps(server)) === 0, 'the tap to go');
  await until(async () => (await callIn(ws, 'send', 'room:1', 'x')) === 0, 'its subscription to go');
});

test('a message of a channel with history has its number and its time', async (t) => {
  const server = await ownServer(t, withAdmin());
  const ws = await member(t, server);
  await callIn(ws, 'publish', 'kept:1', 'before');
  const tap = await Tap.open(t, server, 'kept%3A1');
  await callIn(ws, 'publish', 'kept:1', 'now');
  await tap.until(() => tap.messages().length === 1, 'the message');
  const [{ at, ...message }] = tap.messages();
  t.deepEqual(message, { kind: 'text', bytes: 3, offset: 2, text: 'now' });
  t.true(Math.abs(Date.now() - at) < 60_000);
});

test('a channel may have any bytes as its name', async (t) => {
  const server = await ownServer(t, withAdmin());
  const ws = await member(t, server);
  for (const [written, name] of [
    ['%61%ff%00', Buffer.from([0x61, 0xff, 0])],
    ['', ''],
    ['a+b%2B%26', 'a b+&'],
  ]) {
    const tap = await Tap.open(t, server, written);
    await callIn(ws, 'send', name, 'x');
    await tap.until(() => tap.messages().length === 1, `a message of ${written}`);
    t.deepEqual(tap.messages(), [{ kind: 'text', bytes: 1, text: 'x' }], written);
  }
});

test('without a channel, with a broken escape, or with too many taps there is none', async (t) => {
  const server = await ownServer(t, withAdmin());
  for (const where of ['/tap', '/tap?chanel=x', '/tap?channel=%4']) {
    t.is((await get(server, where)).status, 400, where);
  }
  const all = [];
  for (let count = 0; count < 16; count++) all.push(await Tap.open(t, server, 'room'));
  const late = await get(server, '/tap?channel=room');
  t.deepEqual([late.status, await late.text()], [503, 'Too many taps are open']);
  t.is(await taps(server), 16);
  all[3].close();
  await until(async () => (await taps(server)) === 15, 'a place');
  t.true((await Tap.open(t, server, 'room')).answer.ok);
});

test('a browser that does not read loses messages, which are counted, and nobody else does', async (t) => {
  const server = await ownServer(t, withAdmin({ threads: 1, limits: { writeTimeoutMs: 600_000 } }));
  const ws = await member(t, server);
  const [host, port] = server.addresses[0].split(':');
  const slow = net.connect({ host, port: Number(port) });
  t.teardown(() => slow.destroy());
  await once(slow, 'connect');
  let text = '';
  slow.setEncoding('latin1');
  slow.on('data', (piece) => {
    text += piece;
  });
  // HTTP/1.0, so that the body has no chunks
  slow.write(`GET /admin/tap?channel=hot HTTP/1.0\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`);
  await until(() => text.includes('{"tap":"open"}'), 'the begin of the tap');
  slow.pause();
  // more than the kernel takes for it, on any system
  let sent = 0;
  for (let round = 0; round < 60; round++) {
    sent += await ask(ws, { cmd: 'flood', who: 'hot', count: 500, prefix: String(round), size: 1500 });
  }
  t.is(sent, 30_000);
  const { stats } = await json(server, '/state');
  t.deepEqual([stats.droppedByOverflow, stats.overflowCloses], [0, 0], 'its outbox is not full');
  t.true(stats.outboxBytes < 4 * 1024 * 1024);
  slow.resume();
  await callIn(ws, 'send', 'hot', 'the last one');
  const count = () => text.split('{"kind":').length - 1;
  const dropped = () => Number(/.*"dropped":(\d+)/s.exec(text)?.[1] ?? 0);
  await until(
    () => dropped() > 0 && count() + dropped() >= sent,
    () => `${sent} messages: ${count()} and ${dropped()}`,
  );
  // the last one passed or was dropped, too
  await until(
    () => count() + dropped() === sent + 1,
    () => `each to be counted once: ${sent + 1}, not ${count()} and ${dropped()}`,
  );
});

test('a tap is told why it ends', async (t) => {
  const server = await ownServer(t, withAdmin());
  const tap = await Tap.open(t, server, 'room');
  await server.stop();
  await tap.ended;
  t.is(tap.error, undefined);
  t.deepEqual(tap.lines.at(-1), { closed: 1001, reason: '' });
});
