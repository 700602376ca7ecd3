// Channels with history: positions, recovery, gaps, and what is kept, for clients of `millrace.v1`.
import test from 'ava';

import { sharedServer, worker } from '../support/server.mjs';
import { speak } from '../support/v1.mjs';

const ageMs = 3_600_000;
const server = sharedServer(test, {
  workerPath: worker('no-handlers'),
  threads: 1,
  ioThreads: 2,
  channels: [
    ['room:*', { history: { messages: 100, ageMs }, clients: { subscribe: true, publish: true } }],
    ['few:*', { history: { messages: 3, ageMs }, clients: { subscribe: true, publish: { from: true } } }],
    ['plain:*', { clients: { subscribe: true, publish: true } }],
    ['served:*', { history: { messages: 100, ageMs } }],
  ],
});

/** The next publications of a client, without their times. */
async function publications(client, count) {
  const all = [];
  while (all.length < count) {
    const [{ ts, ...header }, ...payload] = await client.next();
    all.push([header, ...payload]);
  }
  return all;
}

test('subscriptions and publications have positions', async (t) => {
  const client = await speak(t, server);
  const { e, ...first } = await client.subscribe('room:1');
  t.deepEqual(first, { t: 'ok', o: 0 });
  t.regex(e, /^[0-9a-f]{16}$/);
  const began = Date.now();
  client.send({ t: 'pub', id: 'p', c: 'room:1' }, 'one');
  const both = [await client.next(), await client.next()];
  const [[answer], [{ ts, ...header }, payload]] = both[0][0].t === 'ok' ? both : both.reverse();
  t.deepEqual(answer, { t: 'ok', id: 'p', e, o: 1 });
  t.deepEqual([header, payload], [{ c: 'room:1', o: 1 }, 'one']);
  t.true(Math.abs(ts - began) < 60_000);
  await server.call('send', 'room:1', 'two');
  t.deepEqual(await publications(client, 1), [[{ c: 'room:1', o: 2 }, 'two']]);
  const other = await speak(t, server);
  t.deepEqual(await other.subscribe('room:1'), { t: 'ok', e, o: 2 });
});

test('where JavaScript subscribes a client, it is told first behind which message that begins', async (t) => {
  const [client, late] = [await speak(t, server), await speak(t, server)];
  const c = 'served:1';
  for (const text of ['one', 'two']) await server.call('send', c, text);
  await server.call('subscribe', Number(client.hi.s), c);
  const [{ e, ...told }] = await client.next();
  t.deepEqual(told, { t: 'sub', c, o: 2 });
  await server.call('send', c, 'three');
  t.deepEqual(await publications(client, 1), [[{ c, o: 3 }, 'three']]);
  // it may read what was before, as no client may that is not subscribed
  t.deepEqual(await client.ask({ t: 'hist', c, since: { e, o: 1 } }), { t: 'ok', e, o: 3, n: 2 });
  const past = await publications(client, 2);
  t.deepEqual(
    past.map(([{ o }, text]) => [o, text]),
    [
      [2, 'two'],
      [3, 'three'],
    ],
  );
  t.is((await late.ask({ t: 'hist', c, since: { e, o: 1 } })).code, 'denied');
  await server.call('subscribe', Number(late.hi.s), c, { since: { epoch: e, offset: 1 } });
  t.deepEqual(await late.next(), [{ t: 'sub', c, e, o: 1 }]);
  t.deepEqual(await publications(late, 2), [
    [{ c, o: 2 }, 'two'],
    [{ c, o: 3 }, 'three'],
  ]);
});

test('a client that has subscribed itself is told so, too, and goes on behind that without its own', async (t) => {
  const client = await speak(t, server);
  const c = 'room:own';
  const { e } = await client.subscribe(c);
  for (const options of [[], [{}]]) {
    const { o } = await client.ask({ t: 'pub', c }, 'own');
    t.deepEqual(await publications(client, 1), [[{ c, o }, 'own']]);
    await server.call('subscribe', Number(client.hi.s), c, ...options);
    t.deepEqual(await client.next(), [{ t: 'sub', c, e, o }]);
    t.deepEqual(await client.ask({ t: 'unsub', c }), { t: 'ok' });
    await server.call('send', c, 'served');
    t.deepEqual(await publications(client, 1), [[{ c, o: o + 1 }, 'served']]);
    t.deepEqual(await client.subscribe(c), { t: 'ok', e, o: o + 1 });
    await server.call('unsubscribe', Number(client.hi.s), c, 1);
  }
});

test('a client goes on where it left off, and live messages follow', async (t) => {
  const publisher = await speak(t, server);
  for (let number = 1; number <= 50; number++) await publisher.ask({ t: 'pub', c: 'room:2' }, `${number}`);
  const { e } = await publisher.subscribe('room:2');
  const client = await speak(t, server);
  const answer = await client.subscribe('room:2', { since: { e, o: 20 } });
  t.deepEqual(answer, { t: 'ok', e, o: 50, recovered: true });
  await server.call('send', 'room:2', '51');
  const expected = Array.from({ length: 31 }, (_, index) => [{ c: 'room:2', o: 21 + index }, `${21 + index}`]);
  t.deepEqual(await publications(client, 31), expected);
  const newcomer = await speak(t, server);
  const { recovered, o } = await newcomer.subscribe('room:2', { last: 2 });
  t.deepEqual([recovered, o], [undefined, 51]);
  t.deepEqual(await publications(newcomer, 2), [
    [{ c: 'room:2', o: 50 }, '50'],
    [{ c: 'room:2', o: 51 }, '51'],
  ]);
});

test('what cannot be recovered is told', async (t) => {
  const publisher = await speak(t, server);
  for (let number = 1; number <= 5; number++) await publisher.ask({ t: 'pub', c: 'few:1' }, `${number}`);
  const { e } = await publisher.subscribe('few:1');
  for (const since of [
    { e, o: 1 },
    { e: '0000000000000000', o: 4 },
    { e: 'not an epoch', o: 4 },
  ]) {
    const client = await speak(t, server);
    t.deepEqual(await client.subscribe('few:1', { since }), { t: 'ok', e, o: 5, recovered: false });
    t.deepEqual(await client.all(), [], 'nothing of the past');
  }
});

test('what is kept can be asked for', async (t) => {
  const client = await speak(t, server);
  for (const payload of ['a', Buffer.from([0xff]), 'c']) await client.ask({ t: 'pub', c: 'few:2' }, payload);
  const from = client.hi.s;
  const { e, ...answer } = await client.ask({ t: 'hist', c: 'few:2' });
  t.deepEqual(answer, { t: 'ok', o: 3, n: 3 });
  const all = await publications(client, 3);
  const re = all[0][0].re;
  const expected = ['a', Buffer.from([0xff]), 'c'].map((payload, index) => [
    { c: 'few:2', o: index + 1, f: from, re },
    payload,
  ]);
  t.deepEqual(all, expected);
  t.is((await client.ask({ t: 'hist', c: 'few:2', limit: 1, reverse: true })).n, 1);
  t.is((await publications(client, 1))[0][0].o, 3);
  t.is((await client.ask({ t: 'hist', c: 'few:2', since: { e, o: 2 } })).n, 1);
  t.is((await publications(client, 1))[0][0].o, 3);
  t.is((await client.ask({ t: 'hist', c: 'plain:1' })).code, 'not_found');
});

test('the headers of an answer count towards what it may have', async (t) => {
  const client = await speak(t, server);
  const name = `room:${'n'.repeat(6_000)}`;
  for (let count = 0; count < 100; count++) await server.call('send', name, 'x');
  const { n } = await client.ask({ t: 'hist', c: name });
  t.true(n > 30 && n * name.length < 256 * 1024, `${n} publications`);
  const all = await publications(client, n);
  t.deepEqual(
    all.map(([{ o }]) => o),
    Array.from({ length: n }, (_, index) => index + 1),
  );
});

test('a publication with a key is not doubled', async (t) => {
  const client = await speak(t, server);
  const first = await client.ask({ t: 'pub', c: 'room:3', key: 'k' }, 'once');
  t.deepEqual(await client.ask({ t: 'pub', c: 'room:3', key: 'k' }, 'again'), first);
  t.is((await client.ask({ t: 'pub', c: 'room:3', key: 'other' }, 'two')).o, 2);
});

test('a subscriber that is left out sees no hole', async (t) => {
  const [one, other] = [await speak(t, server), await speak(t, server)];
  await one.subscribe('room:4');
  await other.subscribe('room:4');
  await server.call('send', 'room:4', 'not for one', { except: [Number(one.hi.s)] });
  await server.call('send', 'room:4', 'for both');
  t.deepEqual(await publications(one, 2), [[{ c: 'room:4', o: 1, x: 1 }], [{ c: 'room:4', o: 2 }, 'for both']]);
  t.deepEqual(await publications(other, 2), [
    [{ c: 'room:4', o: 1 }, 'not for one'],
    [{ c: 'room:4', o: 2 }, 'for both'],
  ]);
});

test('a virtual socket that is left out takes no number of the client', async (t) => {
  const client = await speak(t, server);
  const alias = await server.call('createVirtualSocket', Number(client.hi.s));
  await server.call('subscribe', alias, 'room:virtual');
  await client.subscribe('room:virtual');
  await server.call('send', 'room:virtual', 'for the socket itself', { except: [alias] });
  const [[header, payload]] = await publications(client, 1);
  t.deepEqual([header, payload], [{ c: 'room:virtual', o: 1 }, 'for the socket itself']);
});
