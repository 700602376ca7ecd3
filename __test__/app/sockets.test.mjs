// WebSockets of an app: routed by path to their handlers, and refused on other paths.
import test from 'ava';

import { request } from '../support/app-client.mjs';
import { until } from '../support/deadline.mjs';
import { handshake } from '../support/http.mjs';
import { open, sharedServer, worker } from '../support/server.mjs';

const server = sharedServer(test, { workerPath: worker('app'), threads: 1, limits: { outboxBytes: 64 * 1024 * 1024 } });

test('a path has its handlers, with parameters and query', async (t) => {
  const client = await open(t, server, { path: '/socket/a%20b?x=1&y=2' });
  t.deepEqual(await client.json(), ['a b', '/socket/a%20b', { x: '1', y: '2' }, '127.0.0.1']);
  client.send('hello');
  t.is(await client.text(), 'a b said hello');
  client.send(Buffer.from([1, 2, 3]));
  t.deepEqual([...(await client.next()).data], [1, 2, 3]);
});

test('an unknown path is refused with 404, and open may refuse with another status', async (t) => {
  for (const path of ['/', '/socket', '/socket/a/b', '/users/7']) {
    const { status, body } = await handshake(server.addresses[0], { path });
    t.is(status, 404, path);
    t.is(body, 'Not Found');
  }
  const refused = await handshake(server.addresses[0], { path: '/socket/refused' });
  t.is(refused.status, 402);
  t.is(refused.body, 'pay first');
  t.is((await handshake(server.addresses[0], { path: '/socket/%zz' })).status, 400);
});

test('open may choose a protocol, and take its time', async (t) => {
  const chosen = await open(t, server, { path: '/socket/protocol', protocols: ['first', 'second'] });
  t.is(chosen.headers['sec-websocket-protocol'], 'first');
  const late = await open(t, server, { path: '/socket/async' });
  late.send('there?');
  t.is(await late.text(), 'undefined said there?');
});

test('message takes both kinds; a kind without a handler closes with 1011', async (t) => {
  const both = await open(t, server, { path: '/messages' });
  both.send('a');
  t.is(await both.text(), 'text a');
  both.send(Buffer.from([1, 2]));
  t.is(await both.text(), '2 bytes');
  const deaf = await open(t, server, { path: '/text-only' });
  deaf.send(Buffer.from([1]));
  await until(() => deaf.closeFrame, 'a close frame');
  t.is(deaf.closeFrame.code, 1011);
});

test('sockets publish to each other, unsubscribe and close, and get the close event', async (t) => {
  const [one, two] = [await open(t, server, { path: '/socket/one' }), await open(t, server, { path: '/socket/two' })];
  await one.text();
  await two.text();
  two.send('unsubscribe');
  two.send('ready');
  t.is(await two.text(), 'two said ready');
  one.send('nothing');
  t.is(await one.text(), 'one said nothing');
  two.send('publish to one');
  t.is(await one.text(), 'publish to one');
  one.send('close');
  await until(() => one.closeFrame, 'a close frame');
  t.deepEqual(one.closeFrame, { code: 4000, reason: 'asked to' });
  one.destroy();
  const closed = async (name) => (await request(server.addresses[0], `GET /closed/${name}`)).text;
  await until(() => closed('one'), 'the close handler');
  two.close(4001, 'bye');
  t.is(await until(() => closed('two'), 'the close handler'), '4001 bye');
});

test('requests and sockets share the listener', async (t) => {
  t.is((await request(server.addresses[0], 'GET /users/7')).text, '{"id":"7"}');
  const upgrade = await handshake(server.addresses[0], { path: '/socket/x' });
  t.is(upgrade.status, 101);
});
