// Malformed messages of clients of `millrace.v1`, and the limits.
import test from 'ava';

import { open, ownServer, sharedServer, worker } from '../support/server.mjs';
import { speak } from '../support/v1.mjs';

const options = {
  workerPath: worker('no-handlers'),
  threads: 1,
  channels: { 'room:*': { clients: { subscribe: true, publish: true } } },
};
const server = sharedServer(test, options);

const BAD = [
  'hello',
  '',
  '\n{"t":"ping"}',
  '{"t":"ping"',
  '[]',
  '{"t":"dance","id":1}',
  '{"id":1}',
  '{"t":"sub","c":"room:1"}',
  '{"t":"sub","id":1}',
  '{"t":"sub","id":1.5,"c":"room:1"}',
  '{"t":"sub","id":-1,"c":"room:1"}',
  `{"t":"sub","id":"${'x'.repeat(65)}","c":"room:1"}`,
  '{"t":"sub","id":1,"c":"room:1","cb":"YQ=="}',
  '{"t":"sub","id":1,"cb":"room:1"}',
  '{"t":"sub","id":1,"c":"\\ud800"}',
  '{"t":"sub","id":1,"p":"room:*"}',
  '{"t":"sub","id":1,"c":"room:1","since":{"e":"a","o":1.5}}',
  `{"t":"ping","x":"${'x'.repeat(8192)}"}`,
];

test('every malformed message is answered with bad, and with its id if that could be read', async (t) => {
  for (const message of BAD) {
    const client = await speak(t, server);
    client.send(message);
    const [{ t: kind, code, id, reason }, ...payload] = await client.next();
    const withId = /"id":1,/.test(message) || /"id":1}/.test(message);
    t.deepEqual({ kind, code, id, payload }, { kind: 'err', code: 'bad', id: withId ? 1 : undefined, payload: [] });
    t.is(typeof reason, 'string');
    client.send({ t: 'ping' });
    t.deepEqual(await client.next(), [{ t: 'pong' }]);
    client.ws.terminate();
  }
});

test('a second sub is bad', async (t) => {
  const client = await speak(t, server);
  await client.subscribe('room:1');
  t.is((await client.subscribe('room:1')).code, 'bad');
  await client.ask({ t: 'unsub', c: 'room:1' });
  t.deepEqual(await client.subscribe('room:1'), { t: 'ok' });
});

test('the tenth bad message is answered and closes the connection', async (t) => {
  const client = await speak(t, server);
  for (let count = 0; count < 12; count++) {
    t.is((await client.subscribe('other')).code, 'denied', 'only bad ones count');
    client.send({ t: 'ok', id: 7 });
    client.send({ t: 'err', id: 8, code: 'late' });
  }
  for (let count = 0; count < 10; count++) client.send('bad');
  for (let count = 0; count < 10; count++) t.is((await client.next())[0].code, 'bad');
  t.deepEqual(await client.ended, { code: 1008, reason: 'Too many bad messages' });
});

test('a ping is answered by the protocol, too', async (t) => {
  const client = await speak(t, server);
  t.deepEqual(await client.all(), []);
  const pong = new Promise((resolve) => client.ws.once('pong', resolve));
  client.ws.ping('x');
  t.is((await pong).toString(), 'x');
});

test('a socket has no more subscriptions than the limit', async (t) => {
  const own = await ownServer(t, { ...options, limits: { subscriptionsPerSocket: 3 } });
  const client = await speak(t, own);
  for (const name of ['1', '2', '3']) await client.subscribe(`room:${name}`);
  const { code, reason } = await client.subscribe('room:4');
  t.deepEqual([code, reason], ['limit', 'a socket cannot have more than 3 subscriptions']);
  await client.ask({ t: 'unsub', c: 'room:2' });
  t.deepEqual(await client.subscribe('room:4'), { t: 'ok' });
});

test('messages per second are limited by reading', async (t) => {
  const own = await ownServer(t, { ...options, limits: { messagesPerSecond: 50 } });
  const client = await speak(t, own);
  const began = performance.now();
  for (let count = 0; count < 150; count++) client.send({ t: 'ping' });
  for (let count = 0; count < 150; count++) await client.next();
  t.true(performance.now() - began > 1000, 'the messages of two more seconds had to wait');
});

test('JavaScript gets no message of such a client', async (t) => {
  const own = await ownServer(t, { ...options, workerPath: worker('echo') });
  const client = await speak(t, own);
  await client.subscribe('room:1');
  client.send({ t: 'pub', c: 'room:1' }, 'hello');
  t.deepEqual(await client.next(), [{ c: 'room:1' }, 'hello']);
  t.deepEqual(await client.all(), []);
  const raw = await open(t, own);
  raw.send('hello');
  t.is(await raw.text(), 'hello');
});
