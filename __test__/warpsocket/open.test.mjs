// specs/warpsocket.md §6.1, §6.2: handleOpen, which runs before the answer to the upgrade.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { text } from '../support/frames.mjs';
import { handshake } from '../support/http.mjs';
import { member, open, ownServer, sharedServer, worker } from '../support/server.mjs';
import { WsClient } from '../support/ws-client.mjs';

const server = sharedServer(test, { workerPath: worker('admission'), threads: 2 });
const shake = (path, headers) => handshake(server.addresses[0], { path, headers });

for (const path of ['/accept', '/undefined', '/null', '/zero', '/later', '/']) {
  test(`accepted: ${path}`, async (t) => {
    const ws = await open(t, server, { path });
    ws.send('hello');
    t.is(await ws.text(), 'hello');
  });
}

for (const path of ['/refuse', '/refuse-later']) {
  test(`false refuses before the upgrade: ${path}`, async (t) => {
    const { status, body } = await shake(path);
    t.is(status, 403);
    t.is(body, 'Connection rejected');
  });
}

for (const path of ['/throw', '/reject']) {
  test(`throwing refuses with 500: ${path}`, async (t) => {
    t.is((await shake(path)).status, 500);
    const message = path === '/throw' ? /handleOpen threw/ : /handleOpen rejected/;
    await until(async () => (await server.errors()).some((error) => message.test(error.message)), 'the report');
    const ws = await open(t, server, { path: '/accept' });
    ws.send('the worker lives on');
    t.is(await ws.text(), 'the worker lives on');
  });
}

test('a handleOpen that never settles: 500 after the handler timeout', async (t) => {
  const own = await ownServer(t, { workerPath: worker('admission'), threads: 1, limits: { handlerTimeoutMs: 500 } });
  t.is((await handshake(own.addresses[0], { path: '/never' })).status, 500);
});

test('a rejection cannot set a wrong length or keep the connection open', async (t) => {
  const { status, headers, body } = await shake('/lie');
  t.is(status, 400);
  t.is(body, 'short');
  t.is(headers['content-length'], '5');
  t.is(headers.connection, 'close');
});

for (const status of [400, 401, 404, 429, 503]) {
  test(`a rejection with status ${status}, headers and body`, async (t) => {
    const answer = await shake(`/status?arg=${status}`);
    t.is(answer.status, status);
    t.is(answer.body, 'not today');
    t.is(answer.headers['x-why'], 'because');
    t.is(answer.headers['content-type'], 'text/plain');
  });

  test(`a rejection with only the status ${status}`, async (t) => {
    t.is((await shake(`/status-only?arg=${status}`)).status, status);
  });
}

for (const status of [0, 101, 200, 302, 99, 600, 1000]) {
  test(`a rejection with the status ${status}: never an upgrade`, async (t) => {
    const answer = await shake(`/status-only?arg=${status}`);
    t.not(answer.status, 101);
    t.true([302, 500].includes(answer.status), String(answer.status));
  });
}

test('an acceptance may set headers', async (t) => {
  const ws = await open(t, server, { path: '/headers' });
  t.is(ws.headers['x-millrace'], 'yes');
  t.is(ws.headers['set-cookie'], 'a=b');
});

test('an acceptance may set the token; setToken works in handleOpen, too', async (t) => {
  for (const path of ['/token?arg=first', '/set-token?arg=first']) {
    const ws = await open(t, server, { path, after: text('token') });
    t.is(await ws.text(), 'token first');
  }
});

test('handleOpen gets id, ip, headers and request; the socket is listed while it runs', async (t) => {
  const ws = await open(t, server, {
    path: '/inspect?a=1&b=two%20words',
    protocols: ['p1', 'p2'],
    headers: {
      'X-Custom': 'Value',
      'X-Twice': ['one', 'two'],
      Cookie: ['a=1', 'b=2'],
      'X-Latin': 'caf\xe9',
      Origin: 'https://o.example',
    },
  });
  const seen = await ws.json();
  t.is(seen.count, 4);
  t.is(seen.id, 'number');
  t.is(seen.ip, '127.0.0.1');
  t.is(seen.path, '/inspect');
  t.regex(seen.query, /^\??a=1&b=two(%20|\+)words$/);
  t.deepEqual(seen.protocols, ['p1', 'p2']);
  t.is(seen.headers['x-custom'], 'Value');
  t.is(seen.headers['x-twice'], 'one, two');
  t.is(seen.headers.cookie, 'a=1; b=2');
  t.is(seen.headers.origin, 'https://o.example');
  t.is(seen.headers.host, 'localhost');
  t.false('x-latin' in seen.headers);
  t.deepEqual(
    Object.keys(seen.headers),
    Object.keys(seen.headers).map((name) => name.toLowerCase()),
  );
  t.true(seen.listed);
});

test('headers named like object properties are ordinary headers', async (t) => {
  const ws = await open(t, server, { path: '/inspect', headers: { __proto__x: 'a', constructor: 'b', 'x-a': 'c' } });
  const { headers } = await ws.json();
  t.is(headers.constructor, 'b');
  t.is(headers['x-a'], 'c');
});

test('no subprotocols offered: an empty list', async (t) => {
  const ws = await open(t, server, { path: '/inspect' });
  t.deepEqual((await ws.json()).protocols, []);
});

test('messages that handleOpen sends or subscribes to arrive in order after the handshake', async (t) => {
  const ws = await open(t, server, { path: '/greet?arg=you', after: text('message') });
  t.is(await ws.text(), 'hello you');
  t.is(await ws.text(), 'still in handleOpen');
  t.is(await ws.text(), 'by channel');
  t.is(await ws.text(), 'message');
  t.is(await server.call('send', 'greeted', 'later'), 1);
  t.is(await ws.text(), 'later');
});

test('a refused connection leaves no socket and no subscription, and has no handleClose', async (t) => {
  const own = await ownServer(t, { workerPath: worker('admission'), threads: 1 });
  const watcher = await open(t, own);
  await own.call('subscribe', 1, 'log');
  t.is((await handshake(own.addresses[0], { path: '/greet-refuse' })).status, 403);
  t.is((await handshake(own.addresses[0], { path: '/throw' })).status, 500);
  const sockets = async () => Object.keys(await own.call('getDebugState', 'sockets'));
  await until(async () => (await sockets()).length === 1, 'the refused sockets to be gone');
  t.deepEqual(await sockets(), ['1']);
  const channel = () => own.call('getDebugState', 'channels', 'refused');
  await until(async () => (await channel()) === undefined, 'their subscriptions to be gone');
  const accepted = await open(t, own);
  accepted.close(4000);
  t.deepEqual(await watcher.json(), { event: 'close', socketId: 4, code: 4000 });
});

test('without a handleOpen, every connection is accepted', async (t) => {
  const own = await ownServer(t, { workerPath: worker('text-only'), threads: 1 });
  const ws = await open(t, own, { path: '/whatever' });
  ws.send('ok');
  t.is(await ws.text(), 'ok');
});

test('if a client disconnects while handleOpen is pending, only handleClose runs, at most once', async (t) => {
  const own = await ownServer(t, { workerPath: worker('admission'), threads: 1 });
  const watcher = await open(t, own);
  await own.call('subscribe', 1, 'log');
  for (let round = 0; round < 10; round++) {
    const leaving = new WsClient(own.addresses[0], { path: '/later' });
    await until(
      async () => Object.keys(await own.call('getDebugState', 'sockets')).length > 1,
      'handleOpen to be pending',
    );
    leaving.destroy();
    await until(
      async () => Object.keys(await own.call('getDebugState', 'sockets')).length === 1,
      'the socket to be gone',
    );
  }
  const last = await open(t, own);
  last.close(4001);
  const seen = [];
  for (;;) {
    const entry = await watcher.json();
    if (entry.code === 4001) break;
    seen.push(entry);
  }
  t.is(new Set(seen.map(({ socketId }) => socketId)).size, seen.length, 'twice closed');
  t.true(seen.every(({ code }) => code === 1006));
  t.is(Object.keys(await own.call('getDebugState', 'sockets')).length, 1);
});

test('without a worker, the answer is 503', async (t) => {
  const own = await ownServer(t, { workerPath: worker('fragile-start'), threads: 1 });
  const ws = await member(t, own);
  await own.call('setKey', 'fail-starts', 'x'.repeat(1000));
  ws.send(JSON.stringify({ cmd: 'exit', n: 1 }));
  t.is((await ws.closed()).code, 1011);
  t.is((await handshake(own.addresses[0])).status, 503);
  await own.call('setKey', 'fail-starts', undefined);
});
