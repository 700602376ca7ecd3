// Clients of `millrace.v1` that subscribe and publish without any JavaScript of the server.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { member, ownServer, sharedServer, worker } from '../support/server.mjs';
import { speak } from '../support/v1.mjs';

const channels = [
  ['room:*', { clients: { subscribe: true, publish: true } }],
  ['score:*', { clients: { subscribe: true } }],
  ['drop:*', { clients: { publish: true } }],
  ['secret:*', {}],
  ['named:*', { clients: { subscribe: true, publish: { from: true } } }],
];
const server = sharedServer(test, { workerPath: worker('no-handlers'), threads: 1, ioThreads: 2, channels });

test('hi comes first, with the socket id and the interval of pings', async (t) => {
  const client = await speak(t, server);
  const { s, ...rest } = client.hi;
  t.deepEqual(rest, { t: 'hi', v: 1, ping: 25_000 });
  t.not(await server.call('getDebugState', 'sockets', Number(s)), undefined);
  await server.call('send', Number(s), 'only for you');
  t.deepEqual(await client.next(), [{}, 'only for you']);
});

test('a publication reaches all subscribers, the publisher too, as it was sent', async (t) => {
  const clients = await Promise.all(Array.from({ length: 4 }, () => speak(t, server)));
  for (const client of clients) t.deepEqual(await client.subscribe('room:all'), { t: 'ok' });
  const payloads = ['text', '', '{"a":1}\n\n', 'é\u{1f980}', Buffer.from([0xff, 10, 0]), Buffer.alloc(0)];
  payloads.push('x'.repeat(100_000), Buffer.alloc(70_000, 7));
  for (const payload of payloads) {
    const [publisher] = clients;
    publisher.send({ t: 'pub', id: 'p', c: 'room:all' }, payload);
    for (const client of clients) {
      const messages = [await client.next()];
      // the answer has no order against the publisher's own copy
      if (client === publisher) messages.push(await client.next());
      const answer = messages.findIndex(([header]) => header.t === 'ok');
      if (client === publisher) t.deepEqual(messages.splice(answer, 1), [[{ t: 'ok', id: 'p' }]]);
      t.deepEqual(messages, [[{ c: 'room:all' }, payload]]);
    }
  }
});

test('what JavaScript and other protocols publish comes in the same form, and the other way round', async (t) => {
  const own = await ownServer(t, { workerPath: worker('commands'), threads: 1, channels });
  const client = await speak(t, own);
  const raw = await member(t, own);
  await own.call('subscribe', raw.id, 'room:mixed');
  await client.subscribe('room:mixed');
  await own.call('send', 'room:mixed', 'from the server');
  t.deepEqual(await client.next(), [{ c: 'room:mixed' }, 'from the server']);
  t.is(await raw.text(), 'from the server');
  client.send({ t: 'pub', c: 'room:mixed' }, 'from a client');
  t.deepEqual(await client.next(), [{ c: 'room:mixed' }, 'from a client']);
  t.is(await raw.text(), 'from a client');
});

test('nothing of a channel comes in front of the answer to sub, or behind that to unsub', async (t) => {
  const client = await speak(t, server);
  const publisher = await speak(t, server);
  for (let round = 0; round < 50; round++) {
    for (let index = 0; index < 10; index++) publisher.send({ t: 'pub', c: 'room:edge' }, `${round} ${index}`);
    client.send({ t: 'sub', id: 's', c: 'room:edge' });
    for (let index = 10; index < 20; index++) publisher.send({ t: 'pub', c: 'room:edge' }, `${round} ${index}`);
    client.send({ t: 'unsub', id: 'u', c: 'room:edge' });
    client.send({ t: 'ping' });
    const kinds = [];
    for (let kind; kind !== 'pong'; kinds.push(kind)) kind = (await client.next())[0].t;
    t.is(kinds[0], 'ok');
    t.deepEqual(kinds.slice(-2), ['ok', 'pong']);
    t.true(kinds.slice(1, -2).every((kind) => kind === undefined));
  }
  t.deepEqual(await client.ask({ t: 'unsub', c: 'room:never' }), { t: 'ok' });
});

test('what the terms do not allow is denied, before anything is said about the channel', async (t) => {
  const client = await speak(t, server);
  const denied = { t: 'err', code: 'denied', reason: "the channel's terms do not allow it" };
  for (const c of ['drop:1', 'secret:1', 'other', '']) {
    for (const kind of ['sub', 'hist', 'pres']) t.deepEqual(await client.ask({ t: kind, c }), denied);
  }
  for (const c of ['score:1', 'secret:1', 'other']) {
    t.deepEqual(await client.ask({ t: 'pub', c }, 'x'), denied);
    t.deepEqual(await client.ask({ t: 'info', c, info: 1 }), denied);
    client.send({ t: 'pub', c }, 'without an id, nothing is said');
  }
  t.deepEqual(await client.ask({ t: 'pub', c: 'drop:1' }, 'x'), { t: 'ok' });
  for (const kind of ['hist', 'pres']) t.is((await client.ask({ t: kind, c: 'room:1' })).code, 'not_found');
  t.is((await client.ask({ t: 'call', m: 'buy' })).code, 'not_found');
});

test('what JavaScript subscribes is told to the client, and is a subscription of its own', async (t) => {
  const client = await speak(t, server);
  const id = Number(client.hi.s);
  await server.call('subscribe', id, 'room:two');
  t.deepEqual(await client.next(), [{ t: 'sub', c: 'room:two' }]);
  t.deepEqual(await client.subscribe('room:two'), { t: 'ok' });
  await server.call('send', 'room:two', 'once');
  t.deepEqual(await client.next(), [{ c: 'room:two' }, 'once']);
  // the client's own has ended, that of JavaScript has not
  t.deepEqual(await client.ask({ t: 'unsub', c: 'room:two' }), { t: 'ok' });
  await server.call('send', 'room:two', 'again');
  t.deepEqual(await client.next(), [{ c: 'room:two' }, 'again']);
  await client.subscribe('room:two');
  await server.call('unsubscribe', id, 'room:two', 5);
  await server.call('send', 'room:two', 'still');
  t.deepEqual(await client.next(), [{ c: 'room:two' }, 'still']);
  // it is told again when that of JavaScript begins again, once
  for (let time = 0; time < 2; time++) await server.call('subscribe', id, 'room:two');
  t.deepEqual(await client.next(), [{ t: 'sub', c: 'room:two' }]);
  await server.call('unsubscribe', id, 'room:two', 2);
  await client.ask({ t: 'unsub', c: 'room:two' });
  await until(async () => (await server.call('send', 'room:two', 'nobody')) === 0, 'no subscription to be left');
  t.deepEqual(await client.all(), []);
  // patterns and channels without terms are told of as well
  await server.call('subscribe', id, 'other');
  t.deepEqual(await client.next(), [{ t: 'sub', c: 'other' }]);
  await server.call('send', 'other', 'by JavaScript');
  t.deepEqual(await client.next(), [{ c: 'other' }, 'by JavaScript']);
});

test('the id of a subscription whose answer waits for its place is in use', async (t) => {
  const client = await speak(t, server);
  await server.call('subscribe', Number(client.hi.s), 'room:twice');
  t.deepEqual(await client.next(), [{ t: 'sub', c: 'room:twice' }]);
  // in one write, so that the second one is read before the first is answered
  client.ws._socket.cork();
  client.send({ t: 'sub', id: 1, c: 'room:twice' });
  client.send({ t: 'pub', id: 1, c: 'room:twice' }, 'refused');
  client.ws._socket.uncork();
  t.deepEqual(await client.next(), [{ t: 'err', code: 'bad', reason: 'the id is in use' }]);
  t.deepEqual(await client.next(), [{ t: 'ok', id: 1 }]);
  t.deepEqual(await client.all(), []);
});

test('the mark of a virtual socket is a field of the header', async (t) => {
  const client = await speak(t, server);
  const id = Number(client.hi.s);
  for (const [annotation, mark] of [
    [7, { v: 7 }],
    ['pre:', { v: 'pre:' }],
    [Buffer.from([0xff]), { vb: '/w==' }],
  ]) {
    const alias = await server.call('createVirtualSocket', id, annotation);
    await server.call('subscribe', alias, 'room:marked');
    await server.call('send', 'room:marked', 'no object');
    t.deepEqual(await client.next(), [{ c: 'room:marked', ...mark }, 'no object']);
    await server.call('deleteVirtualSocket', alias);
  }
});

test('subscribers see who has published where the terms say so', async (t) => {
  const [one, other] = [await speak(t, server), await speak(t, server)];
  for (const client of [one, other]) {
    await client.subscribe('named:1');
    await client.subscribe('room:unnamed');
  }
  for (const payload of ['text', Buffer.from([1, 2])]) {
    one.send({ t: 'pub', c: 'named:1' }, payload);
    for (const client of [one, other]) t.deepEqual(await client.next(), [{ c: 'named:1', f: one.hi.s }, payload]);
  }
  other.send({ t: 'pub', c: 'named:1' }, 'mine');
  t.deepEqual(await one.next(), [{ c: 'named:1', f: other.hi.s }, 'mine']);
  other.send({ t: 'pub', c: 'room:unnamed' }, 'not said');
  t.deepEqual(await one.next(), [{ c: 'room:unnamed' }, 'not said']);
  await server.call('send', 'named:1', 'by the server');
  t.deepEqual(await one.next(), [{ c: 'named:1' }, 'by the server']);
});

test('names are bytes', async (t) => {
  const client = await speak(t, server);
  const name = Buffer.concat([Buffer.from('room:'), Buffer.from([0xff, 0x00, 0xfe])]);
  t.deepEqual(await client.ask({ t: 'sub', cb: name.toString('base64') }), { t: 'ok' });
  await server.call('send', name, 'bytes');
  t.deepEqual(await client.next(), [{ cb: name.toString('base64') }, 'bytes']);
  const odd = 'room:"\\\u0001\u2028é*';
  await client.subscribe(odd);
  await server.call('send', odd, 'text');
  t.deepEqual(await client.next(), [{ c: odd }, 'text']);
  // an asterisk in a name means itself
  await server.call('send', 'room:"\\\u0001\u2028éx', 'not for it');
  t.deepEqual(await client.all(), []);
});

test('subscriptions end with the connection', async (t) => {
  const client = await speak(t, server);
  for (let index = 0; index < 100; index++) await client.subscribe(`room:end:${index}`);
  t.is(await server.call('send', 'room:end:5', 'x'), 1);
  client.ws.close();
  t.is((await client.ended).code, 1005);
  await until(async () => !(await server.call('hasSubscriptions', 'room:end:5')), 'its subscriptions to end');
});
