// Hooks of crossws on Millrace, with handlers on the calling thread: every rule that its own adapters follow.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { handshake } from '../support/http.mjs';
import { open as connect, sharedServer, worker } from '../support/server.mjs';

const server = sharedServer(test, { workerPath: worker('crossws'), threads: 0 });

const get = async (path) => (await fetch(`http://${server.addresses[0]}${path}`)).json();

/** A client in a namespace of its own, whose greeting is read. */
let count = 0;
async function open(t, { path = `/room-${++count}`, query = '', ...options } = {}) {
  const client = await connect(t, server, { path: `${path}?open=quiet${query}`, ...options });
  client.path = path;
  [, client.id] = (await client.text()).split(' ');
  return client;
}

/** The answer to a command. */
async function ask(client, command) {
  client.send(command);
  return client.json();
}

/** Waits until the hook `close` was called for a client. */
const closedOf = (client) =>
  until(async () => (await get('/closed')).find(({ id }) => id === client.id), 'the hook close');

test('open greets before the first message, and peers publish to the others of their namespace', async (t) => {
  const [path, other] = ['/chat', '/other'];
  const one = await connect(t, server, { path });
  const [, id] = (await one.text()).split(' ');
  t.regex(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4/);
  const stranger = await open(t, { path: other });
  const two = await connect(t, server, { path });
  const [, second] = (await two.text()).split(' ');
  t.is(await one.text(), `${second} joined`);
  two.send('hello');
  t.is(await one.text(), 'hello');
  one.send('binary');
  t.deepEqual((await one.next()).data, Buffer.from('some bytes'));
  stranger.send('publish chat unheard');
  t.is(await stranger.text(), 'published');
  t.deepEqual([one.inbox, two.inbox], [[], []]);
});

test('the answer to the handshake has the headers of the hook', async (t) => {
  const { status, headers } = await handshake(server.addresses[0], { path: '/headers' });
  t.is(status, 101);
  t.is(headers['x-powered-by'], 'hooks');
  t.regex(headers['set-cookie'], /a=1; Secure/);
  t.truthy(headers['sec-websocket-accept']);
  const { status: unchanged } = await handshake(server.addresses[0], { path: '/headers?upgrade=nothing' });
  t.is(unchanged, 101);
});

test('a subprotocol is agreed on by a header, by the hook, or by handleProtocols', async (t) => {
  const agreed = async (protocols, query = '') =>
    (await connect(t, server, { path: `/protocol?open=quiet${query}`, protocols })).headers['sec-websocket-protocol'];
  t.is(await agreed(['supported']), 'supported');
  t.is(await agreed(['unsupported']), undefined);
  t.is(await agreed(['first', 'second']), 'second');
  t.is(await agreed(['first', 'second'], '&upgrade=protocol&protocol=first'), 'first');
  const { status } = await handshake(server.addresses[0], { path: '/?upgrade=protocol&protocol=other' });
  t.is(status, 500, 'it was not offered');
});

test('a response refuses the handshake, whether it is thrown, carried by an error, returned or late', async (t) => {
  for (const how of ['throw', 'carry', 'return', 'late']) {
    const { status, headers, body } = await handshake(server.addresses[0], { path: `/refused?upgrade=${how}` });
    t.is(status, 401, how);
    t.is(headers['x-error'], 'unauthorized');
    t.is(headers['www-authenticate'], 'Bearer realm="hooks"');
    t.regex(headers['content-type'], /^text\/plain/);
    t.is(body, 'unauthorized');
  }
});

test('what cannot be done is answered with 500, reported, and leaves no peer', async (t) => {
  for (const [how, expected] of [
    ['fail', /upgrade failed/],
    ['ok', /a status from 300 to 599, not 200/],
    ['handled', /'handled' is not available/],
  ]) {
    const { status } = await handshake(server.addresses[0], { path: `/failing?upgrade=${how}` });
    t.is(status, 500, how);
    await until(async () => (await server.errors()).some(({ message }) => expected.test(message)), `a report: ${how}`);
  }
  t.is((await handshake(server.addresses[0], { path: '/failing?upgrade=header' })).status, 500);
  await until(async () => !(await get('/namespaces')).includes('/failing'), 'no peer of a failed handshake');
});

test('a peer shows request, address, context, and what the client offered', async (t) => {
  const client = await open(t, {
    query: '&foo=bar',
    headers: { 'X-Test': '1', 'Sec-WebSocket-Protocol': 'crossws', 'Sec-WebSocket-Extensions': 'permessage-deflate' },
  });
  const peer = await ask(client, 'describe');
  const url = `://localhost${client.path}?open=quiet&foo=bar`;
  t.is(peer.id, client.id);
  t.is(peer.text, client.id);
  t.is(peer.namespace, client.path);
  t.is(peer.remoteAddress, '127.0.0.1');
  t.deepEqual(peer.context, { test: '1' });
  t.deepEqual(peer.topics, ['chat']);
  t.is(peer.bufferedAmount, 0);
  t.is(peer.request.url, `http${url}`);
  t.is(peer.request.method, 'GET');
  t.regex(peer.request.headers.connection, /^upgrade$/i);
  t.is(peer.request.headers['x-test'], '1');
  t.deepEqual(peer.websocket, {
    readyState: 1,
    protocol: 'crossws',
    extensions: 'permessage-deflate',
    url: `ws${url}`,
    bufferedAmount: 0,
  });
});

test('the URL of the request is https behind a proxy that ends TLS', async (t) => {
  const proxied = await open(t, { headers: { 'X-Forwarded-Proto': 'https' } });
  t.regex((await ask(proxied, 'describe')).request.url, /^https:\/\/localhost\//);
  t.regex((await ask(proxied, 'describe')).websocket.url, /^wss:/);
});

test('the hook upgrade may take its time', async (t) => {
  const client = await open(t, { query: '&upgrade=slow' });
  t.deepEqual((await ask(client, 'describe')).context, { test: 'slow' });
});

test('send takes everything that crossws takes, and refuses other objects', async (t) => {
  const client = await open(t);
  client.send('kinds');
  const got = [];
  while (got.length < 10) got.push((await client.next()).data);
  t.deepEqual(got.slice(0, 6), ['', '', '12', 'true', '7', '{"a":[1]}']);
  t.deepEqual(got[6], Buffer.from([1, 2]));
  t.is(got[7], '');
  t.deepEqual(got[8], Buffer.from([8, 7]));
  t.regex(got[9], /^TypeError: argument 'data' must be text, bytes, or a plain object/);
});

test('a message has text, bytes, a buffer of its own, and JSON', async (t) => {
  const client = await open(t);
  const bytes = [...Buffer.from('hällo')];
  client.send(Buffer.from('hällo'));
  client.send(Buffer.from([1, 2, 3]));
  const first = await client.json();
  t.like(first, {
    text: 'hällo',
    string: 'hällo',
    bytes,
    buffer: bytes,
    isWhole: true,
    rawData: 'object',
  });
  t.is(first.peer, client.id);
  t.is(first.ids[0].length, 36);
  t.is(first.ids[0], first.ids[1]);
  t.like(await client.json(), { bytes: [1, 2, 3], buffer: [1, 2, 3], isWhole: true });
  t.like(await ask(client, 'forms ü'), { text: 'forms ü', rawData: 'string', bytes: [...Buffer.from('forms ü')] });
  t.deepEqual(await ask(client, '{"a":1}'), { json: { a: 1 } });
});

test('peers are those of the namespace, and the adapter has all of this thread', async (t) => {
  const one = await open(t);
  const two = await open(t, { path: one.path });
  t.deepEqual(await ask(one, 'peers'), { peers: [one.id, two.id] });
  const all = await get('/peers');
  t.true(all.includes(`${one.path} ${one.id}`));
  t.true(all.includes(`${two.path} ${two.id}`));
  two.close(1000);
  await closedOf(two);
  t.deepEqual(await ask(one, 'peers'), { peers: [one.id] });
  one.destroy();
  await closedOf(one);
  t.false((await get('/namespaces')).includes(one.path), 'a namespace without peers is not kept');
});

test('the hook may choose the namespace', async (t) => {
  const one = await open(t, { query: '&namespace=blue' });
  const two = await open(t, { query: '&namespace=blue' });
  one.send('publish chat to-blue');
  t.is(await two.text(), 'to-blue');
  t.is((await ask(two, 'describe')).namespace, 'blue');
});

test('the adapter publishes to every namespace, or to one', async (t) => {
  const one = await open(t);
  const two = await open(t);
  for (const client of [one, two]) {
    client.send('subscribe news');
    t.is(await client.text(), 'subscribed');
  }
  await get('/publish?topic=news&text=to-all');
  t.is(await one.text(), 'to-all');
  t.is(await two.text(), 'to-all');
  await get(`/publish?topic=news&text=to-one&namespace=${one.path}`);
  await get('/publish?topic=news&text=again');
  t.is(await one.text(), 'to-one');
  t.is(await one.text(), 'again');
  t.is(await two.text(), 'again');
});

test('topics are sets: one unsubscription ends two subscriptions', async (t) => {
  const one = await open(t);
  const two = await open(t, { path: one.path });
  two.send('subscribe topic');
  t.is(await two.text(), 'subscribed');
  one.send('publish topic once');
  t.is(await one.text(), 'published');
  t.is(await two.text(), 'once');
  two.send('unsubscribe topic');
  t.is(await two.text(), 'unsubscribed');
  await get('/publish?topic=topic&text=unheard');
  one.send('publish topic unheard');
  t.is(await one.text(), 'published');
  t.deepEqual((await ask(two, 'describe')).topics, ['chat']);
});

test('an object is published as JSON in a text message', async (t) => {
  const one = await open(t);
  const two = await open(t, { path: one.path });
  one.send('object chat');
  t.deepEqual(await two.next(), { kind: 'text', data: '{"hello":"world"}' });
});

test('the channel of a topic is open to the functions of millrace', async (t) => {
  const client = await open(t);
  client.send('subscribe outside');
  t.is(await client.text(), 'subscribed');
  const channel = await get(`/channel?topic=outside&namespace=${encodeURIComponent(client.path)}`);
  t.is(await server.call('send', channel, 'from outside'), 1);
  t.is(await client.text(), 'from outside');
  t.is(await server.call('send', await get('/channel?topic=outside'), 'to all'), 1);
  t.is(await client.text(), 'to all');
});

test('a peer closes with code and reason, and the hook close gets those of the client', async (t) => {
  const one = await open(t);
  one.send('close 4001 enough');
  await until(() => one.closeFrame, 'a close frame');
  t.deepEqual(one.closeFrame, { code: 4001, reason: 'enough' });
  one.destroy();
  t.like(await closedOf(one), { readyState: 3, among: false });
  const two = await open(t);
  two.close(4444, 'bye');
  t.like(await closedOf(two), { code: 4444, reason: 'bye' });
  const three = await open(t);
  three.send('socket');
  t.is(await three.text(), 'by the socket');
  await until(() => three.closeFrame, 'a close frame');
  t.is(three.closeFrame.code, 4002);
});

test('terminate ends a connection without a close frame', async (t) => {
  const client = await open(t);
  client.send('terminate');
  t.like(await client.closed(), { code: 1006 });
  t.like(await closedOf(client), { code: 1006 });
});

test('open may close or terminate the connection: the handshake is answered first', async (t) => {
  const one = await connect(t, server, { path: '/at-once?open=close' });
  t.regex(await one.text(), /^welcome/);
  await until(() => one.closeFrame, 'a close frame');
  t.deepEqual(one.closeFrame, { code: 4001, reason: 'not now' });
  const two = await connect(t, server, { path: '/at-once?open=terminate' });
  t.like(await two.closed(), { code: 1006 });
});

test('a hook that fails is reported, the hook error is called, and the connection closed with 1011', async (t) => {
  for (const [command, expected] of [
    ['throw', 'a hook threw'],
    ['reject', 'a hook rejected'],
  ]) {
    const client = await open(t);
    client.send(command);
    await until(() => client.closeFrame, 'a close frame');
    t.is(client.closeFrame.code, 1011);
    const failure = (await get('/failures')).find(({ id }) => id === client.id);
    t.like(failure, { name: 'WSError', message: expected });
    t.true(
      (await server.errors()).some(
        ({ code, message }) => code === 'ERR_MILLRACE_HANDLER_FAILED' && message.includes(expected),
      ),
    );
  }
  const opened = await connect(t, server, { path: '/?open=throw' });
  t.regex(await opened.text(), /^welcome/);
  await until(() => opened.closeFrame, 'a close frame');
  t.is(opened.closeFrame.code, 1011);
});

test('a message does not wait for the promise of the one before', async (t) => {
  const client = await open(t);
  client.send('slow');
  client.send('release');
  t.is(await client.text(), 'released');
});

test('waitForDrain resolves when nothing is queued', async (t) => {
  const client = await open(t);
  client.send('drained');
  t.is(await client.text(), 'drained');
});

for (const threshold of [0, 256 * 1024]) {
  test(`a loop that sends and waits for the drain is held back by a slow reader (threshold: ${threshold})`, async (t) => {
    const client = await open(t);
    client.pause();
    client.send(`stream 300 65536 ${threshold}`);
    const stream = async () => (await get('/streams')).find(({ id }) => id === client.id);
    const { sent } = await until(async () => {
      const now = await stream();
      return now?.queued > threshold && now;
    }, 'a backlog');
    t.true(sent < 300, `${sent} were sent to a client that does not read`);
    client.resume();
    for (let received = 0; received < 300; received++) {
      const { data } = await client.next();
      if (data.length !== 65536) t.fail(`${data.length} bytes`);
    }
    const { most } = await client.json();
    t.true(most < 1024 * 1024, `${most} bytes were queued`);
    t.is(client.closeFrame, undefined);
  });
}

test('pings and pongs of the client reach their hooks, and a peer pings', async (t) => {
  const client = await open(t);
  client.ping('from the client');
  t.is(await client.text(), 'ping from the client');
  t.is(String(await client.pong()), 'from the client', 'it is also answered');
  client.ping('');
  t.is(await client.text(), 'ping ');
  client.send('ping from-the-server');
  t.is(await client.text(), 'pong from-the-server');
  t.deepEqual(client.pings.map(String), ['from-the-server']);
  client.send(`ping ${'x'.repeat(126)}`);
  await until(async () => (await get('/failures')).some(({ id }) => id === client.id), 'the hook error');
  t.deepEqual((await ask(client, 'peers')).peers, [client.id], 'the connection stays');
});
