// `handleSubscribe` and `handlePublish`: they decide about what clients of `millrace.v1` want in channels.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { ownServer, sharedServer, worker } from '../support/server.mjs';
import { speak } from '../support/v1.mjs';

const both = { subscribe: true, publish: true };
const channels = [
  ['room:*', { clients: both }],
  ['kept:*', { clients: both, history: { messages: 10, ageMs: 60_000 } }],
  ['secret:*', {}],
  ['present:*', { presence: true, clients: both }],
];
const options = { workerPath: worker('v1-handlers'), threads: 1, ioThreads: 2, channels };
const server = sharedServer(test, options);
const denied = { t: 'err', code: 'denied', reason: 'the handler does not allow it' };

/** Answers what a handler of this name waits for with a value. */
async function release(t, own, name, value) {
  const releaser = await speak(t, own);
  const isThere = async () => {
    releaser.send({ t: 'call', id: 'r', m: 'release' }, JSON.stringify({ name, value }));
    return (await releaser.next())[1] === 'true';
  };
  await until(isThere, `${name} to be held`);
  releaser.ws.close();
}

/** What the handlers saw since the last call. */
async function seen(client) {
  client.send({ t: 'call', id: 'seen', m: 'seen' });
  return JSON.parse((await client.next())[1]);
}

/** Sends a message, and resolves with the answer, behind what is told of members meanwhile. */
async function answered(client, header) {
  client.send({ id: 'a', ...header });
  for (;;) {
    const message = await client.next();
    if (message[0].id === 'a') return message;
  }
}

test.serial('the others see of a member what handleSubscribe says', async (t) => {
  const other = await speak(t, server);
  const client = await speak(t, server);
  const c = 'present:1';
  // without `clients.info`, what the client says itself is not shown
  t.is((await answered(other, { t: 'sub', c, info: 'mine' }))[0].t, 'ok');
  t.is((await answered(client, { t: 'sub', c, info: 'member' }))[0].t, 'ok');
  for (;;) {
    const [told] = await other.next();
    const found = told.m.find(({ s }) => s === client.hi.s);
    if (found === undefined) continue;
    t.deepEqual(found, { s: client.hi.s, info: { name: 'me' } });
    break;
  }
  const [, members] = await answered(other, { t: 'pres', c });
  t.deepEqual(JSON.parse(members), [{ s: other.hi.s }, { s: client.hi.s, info: { name: 'me' } }]);
  const [refused] = await answered(client, { t: 'sub', c: 'present:2', info: 'long' });
  t.is(refused.code, 'failed', 'it has 4,097 bytes');
  await answered(client, { t: 'call', m: 'seen' });
});

test.serial('handleSubscribe decides, and gets what the client said', async (t) => {
  const client = await speak(t, server, { headers: { 'x-user': 'ann' } });
  const id = Number(client.hi.s);
  t.deepEqual(await client.subscribe('room:1'), { t: 'ok' });
  t.deepEqual(await client.subscribe('room:2', { info: 'no' }), denied);
  t.deepEqual(await client.subscribe('room:3', { info: 'member' }), { t: 'ok' });
  t.is((await client.subscribe('room:4', { info: 'odd' })).code, 'failed');
  t.deepEqual(await client.subscribe('room:5', { info: 'code banned|for a week' }), {
    t: 'err',
    code: 'banned',
    reason: 'for a week',
  });
  const unknown = await client.subscribe('kept:1', { since: { e: 'epoch', o: 2 ** 33 + 1 } });
  t.like(unknown, { t: 'ok', recovered: false });
  // the terms come first
  t.is((await client.subscribe('secret:1')).code, 'denied');
  t.deepEqual(
    (await seen(client)).map(([kind, ...rest]) => [kind, ...rest]),
    [
      ['sub', 'room:1', id, 'ann', {}],
      ['sub', 'room:2', id, 'ann', { info: 'no' }],
      ['sub', 'room:3', id, 'ann', { info: 'member' }],
      ['sub', 'room:4', id, 'ann', { info: 'odd' }],
      ['sub', 'room:5', id, 'ann', { info: 'code banned|for a week' }],
      ['sub', 'kept:1', id, 'ann', { since: { epoch: 'epoch', offset: 2 ** 33 + 1 } }],
    ],
  );
  for (const [c, count] of Object.entries({ 'room:1': 1, 'room:2': 0, 'room:3': 1, 'room:4': 0, 'room:5': 0 })) {
    t.is(await server.call('send', c, 'x'), count, c);
    if (count > 0) t.deepEqual(await client.next(), [{ c }, 'x']);
  }
  t.is((await client.ask({ t: 'sub', c: 'room:1' })).code, 'bad');
});

test.serial('handlePublish decides, and may replace what is published', async (t) => {
  const client = await speak(t, server);
  const reader = await speak(t, server);
  await reader.subscribe('room:pub');
  const published = [
    ['as it is', 'as it is'],
    [Buffer.from([0xff, 1]), Buffer.from([0xff, 1])],
    ['', ''],
    ['up higher', 'UP HIGHER'],
    ['json', '{"a":1}'],
    ['bytes', Buffer.from([0xff, 10])],
  ];
  for (const [given, got] of published) {
    t.deepEqual(await client.ask({ t: 'pub', c: 'room:pub' }, given), { t: 'ok' });
    t.deepEqual(await reader.next(), [{ c: 'room:pub' }, got]);
  }
  t.deepEqual(await client.ask({ t: 'pub', c: 'room:pub' }, 'no'), denied);
  for (const wish of ['nothing', 'throw', 'reject']) {
    t.is((await client.ask({ t: 'pub', c: 'room:pub' }, wish)).code, 'failed');
  }
  t.is((await client.ask({ t: 'pub', c: 'room:pub' }, 'reject code')).code, 'mine');
  // without an id nothing is said
  for (const wish of ['no', 'throw', 'last']) client.send({ t: 'pub', c: 'room:pub' }, wish);
  t.deepEqual(await reader.next(), [{ c: 'room:pub' }, 'last']);
  t.deepEqual(await client.all(), []);
});

test.serial('a publication that a handler let pass has its position and its key', async (t) => {
  const client = await speak(t, server);
  const { e } = await client.ask({ t: 'pub', c: 'kept:pub', key: 'k' }, 'up one');
  t.deepEqual(await client.ask({ t: 'pub', c: 'kept:pub', key: 'k' }, 'up one'), { t: 'ok', e, o: 1 });
  t.deepEqual(await client.ask({ t: 'pub', c: 'kept:pub' }, 'two'), { t: 'ok', e, o: 2 });
  // the handler decides about the past, too
  t.is((await client.ask({ t: 'hist', c: 'kept:pub' })).code, 'denied');
  t.like(await client.subscribe('kept:pub', { last: 2 }), { t: 'ok', o: 2 });
  t.is((await client.next())[1], 'UP ONE');
  t.is((await client.next())[1], 'two');
  t.is((await client.ask({ t: 'hist', c: 'kept:pub' })).n, 2);
  t.like(await client.next(), [{ o: 1 }]);
  t.like(await client.next(), [{ o: 2 }]);
});

test.serial('what a client wants of one channel keeps its order, and nothing else waits', async (t) => {
  const client = await speak(t, server);
  client.send({ t: 'sub', id: 'n1', c: 'room:order', info: 'hold order' });
  client.send({ t: 'pub', id: 'n2', c: 'room:order' }, 'up a');
  client.send({ t: 'pub', id: 'n3', c: 'room:order' }, 'b');
  client.send({ t: 'unsub', id: 'n4', c: 'room:order' });
  client.send({ t: 'pub', id: 'n5', c: 'room:order' }, 'nobody hears it');
  client.send({ t: 'sub', id: 'n6', c: 'room:order' });
  t.deepEqual(await client.subscribe('room:aside'), { t: 'ok' });
  client.send({ t: 'pub', c: 'room:aside' }, 'aside');
  t.deepEqual(await client.next(), [{ c: 'room:aside' }, 'aside']);
  t.deepEqual(await client.all(), []);
  await release(t, server, 'hold order', true);
  const messages = [];
  while (messages.at(-1)?.[0].id !== 'n6') messages.push(await client.next());
  t.deepEqual(
    messages.filter(([{ t: kind }]) => kind === 'ok').map(([{ id }]) => id),
    ['n1', 'n2', 'n3', 'n4', 'n5', 'n6'],
  );
  t.deepEqual(
    messages.filter(([{ c }]) => c !== undefined).map(([, payload]) => payload),
    ['UP A', 'b'],
  );
  const ended = messages.findIndex(([{ id }]) => id === 'n4');
  t.true(messages.slice(ended).every(([{ c }]) => c === undefined));
});

test.serial('publications of one client in one channel keep their order behind a slow handler', async (t) => {
  const client = await speak(t, server);
  const reader = await speak(t, server);
  await reader.subscribe('room:slow');
  client.send({ t: 'pub', id: 0, c: 'room:slow' }, 'hold slow');
  for (let id = 1; id <= 300; id++) client.send({ t: 'pub', id, c: 'room:slow' }, `${id}`);
  await release(t, server, 'hold slow', { data: '0' });
  for (let id = 0; id <= 300; id++) {
    t.deepEqual(await reader.next(), [{ c: 'room:slow' }, `${id}`]);
    t.deepEqual(await client.next(), [{ t: 'ok', id }]);
  }
});

test.serial('a subscription that a handler decided about recovers without a gap', async (t) => {
  const publisher = await speak(t, server);
  const { e } = await publisher.ask({ t: 'pub', c: 'kept:gap' }, '1');
  await publisher.ask({ t: 'pub', c: 'kept:gap' }, '2');
  const client = await speak(t, server);
  client.send({ t: 'sub', id: 1, c: 'kept:gap', since: { e, o: 1 }, info: 'hold gap' });
  await publisher.ask({ t: 'pub', c: 'kept:gap' }, '3');
  await release(t, server, 'hold gap', true);
  t.deepEqual(await client.next(), [{ t: 'ok', id: 1, e, o: 3, recovered: true }]);
  await publisher.ask({ t: 'pub', c: 'kept:gap' }, '4');
  for (const o of [2, 3, 4]) t.like(await client.next(), [{ o }, `${o}`]);
});

test('a handler that takes too long answers timeout, and its late answer changes nothing', async (t) => {
  const own = await ownServer(t, { ...options, limits: { handlerTimeoutMs: 300 } });
  const client = await speak(t, own);
  const late = { t: 'err', code: 'timeout', reason: 'the handler took too long' };
  t.deepEqual(await client.subscribe('room:late', { info: 'hold late' }), late);
  t.deepEqual(await client.ask({ t: 'pub', c: 'room:late' }, 'hold later'), late);
  await release(t, own, 'hold late', true);
  await release(t, own, 'hold later', true);
  t.deepEqual(await client.all(), []);
  t.is(await own.call('send', 'room:late', 'nobody'), 0);
  t.deepEqual(await client.subscribe('room:late'), { t: 'ok' });
});

test('a worker that dies answers what waits in channels with failed, in order', async (t) => {
  const own = await ownServer(t, options);
  const client = await speak(t, own);
  client.send({ t: 'sub', id: 1, c: 'room:gone', info: 'hold gone' });
  client.send({ t: 'pub', id: 2, c: 'room:gone' }, 'x');
  client.send({ t: 'call', id: 3, m: 'exit' });
  for (const id of [1, 2, 3]) t.like(await client.next(), [{ t: 'err', id, code: 'failed' }]);
  t.is((await client.ended).code, 1011);
});

test('what the terms allow never enters a worker without handlers for it', async (t) => {
  const own = await ownServer(t, { ...options, workerPath: worker('v1-busy') });
  const client = await speak(t, own);
  client.send({ t: 'call', id: 'busy', m: 'spin' });
  await until(async () => (await own.call('getKey', 'spins')) !== undefined, 'the worker to be busy');
  const { e } = await client.ask({ t: 'pub', c: 'kept:1', key: 'k' }, 'x');
  t.deepEqual(await client.subscribe('kept:1', { last: 1 }), { t: 'ok', e, o: 1, last: 1 });
  t.is((await client.next())[1], 'x');
  t.is((await client.ask({ t: 'hist', c: 'kept:1', limit: 0 })).n, 0);
  t.is((await client.ask({ t: 'pres', c: 'kept:1' })).code, 'not_found');
  t.deepEqual(await client.ask({ t: 'unsub', c: 'kept:1' }), { t: 'ok' });
  await own.call('setKey', 'go', '1');
  t.deepEqual(await client.next(), [{ t: 'ok', id: 'busy' }, 'done']);
});

test.serial('everything that a client has published before it closes is published', async (t) => {
  const reader = await speak(t, server);
  t.is((await reader.subscribe('room:last')).t, 'ok');
  const client = await speak(t, server);
  // one handler is asked at a time, and one waits for something
  const texts = ['1', 'up x', '2', '3', 'up y', '4'];
  for (const text of texts) client.send({ t: 'pub', c: 'room:last' }, text);
  client.ws.close(1000);
  for (const text of texts) t.deepEqual((await reader.next())[1], text.startsWith('up ') ? text.toUpperCase() : text);
  t.is((await client.ended).code, 1000);
});

test.serial(
  'what a client publishes behind the end of a subscription is published, too, if it closes then',
  async (t) => {
    const reader = await speak(t, server);
    t.is((await reader.subscribe('room:end')).t, 'ok');
    const client = await speak(t, server);
    t.is((await client.subscribe('room:end')).t, 'ok');
    client.send({ t: 'unsub', id: 1, c: 'room:end' });
    for (const text of ['1', '2']) client.send({ t: 'pub', c: 'room:end' }, text);
    client.ws.close(1000);
    for (const text of ['1', '2']) t.is((await reader.next())[1], text);
    t.is((await client.ended).code, 1000);
  },
);
