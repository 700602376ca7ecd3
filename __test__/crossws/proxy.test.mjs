// `createWebSocketProxy` of crossws on Millrace: what its tests check of its own adapters.
import { once } from 'node:events';
import net from 'node:net';

import test from 'ava';
import { WebSocketServer } from 'ws';

import { until, within } from '../support/deadline.mjs';
import { open as connect, sharedServer, worker } from '../support/server.mjs';

const server = sharedServer(test, { workerPath: worker('crossws-proxy'), threads: 0 });

/** An upstream that greets and echoes, what it was offered, and how its connections ended. */
async function upstream(t) {
  const wss = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: ([first]) => first });
  t.teardown(() => {
    for (const client of wss.clients) client.terminate();
    wss.close();
  });
  const seen = { offers: [], closes: [], clients: wss.clients };
  wss.on('connection', (client, request) => {
    seen.offers.push(request.headers['sec-websocket-protocol']);
    client.send('welcome');
    client.on('message', (data, isBinary) => {
      const [command, code, reason] = isBinary ? [] : data.toString().split(':');
      if (command === 'close') client.close(code && Number(code), reason);
      else if (command === 'terminate') client.terminate();
      else client.send(isBinary ? data : `echo ${data}`);
    });
    client.on('close', (code, reason) => seen.closes.push({ code, reason: reason.toString() }));
  });
  await once(wss, 'listening');
  return { ...seen, url: `ws://127.0.0.1:${wss.address().port}/` };
}

const open = (t, url, path = '/', options = {}) =>
  connect(t, server, { path: `${path}?to=${encodeURIComponent(url)}`, ...options });

/** A client that the upstream has greeted. */
async function greeted(t, url, path, options) {
  const client = await open(t, url, path, options);
  t.is(await client.text(), 'welcome');
  return client;
}

for (const path of ['/', '/async']) {
  test(`text and bytes pass both ways, also those that come before the upstream is open (${path})`, async (t) => {
    const { url } = await upstream(t);
    const client = await open(t, url, path);
    client.send('early');
    t.is(await client.text(), 'welcome');
    t.is(await client.text(), 'echo early');
    for (const data of [Buffer.from([0, 255, 7]), Buffer.alloc(0), Buffer.alloc(100_000, 1)]) {
      client.send(data);
      t.deepEqual(await client.next(), { kind: 'binary', data });
    }
    client.send('é\u{1f980}');
    t.is(await client.text(), 'echo é\u{1f980}');
  });
}

test('the first subprotocol is agreed on, and all are offered to the upstream', async (t) => {
  const { url, offers } = await upstream(t);
  const client = await greeted(t, url, '/', { protocols: ['chat', 'other'] });
  t.is(client.headers['sec-websocket-protocol'], 'chat');
  t.is(offers[0].replaceAll(' ', ''), 'chat,other');
  const renamed = await greeted(t, url, '/renaming', { protocols: ['outer'] });
  t.is(renamed.headers['sec-websocket-protocol'], 'outer');
  t.is(offers[1], 'inner');
});

for (const [command, code, reason] of [
  ['close:4321:bye', 4321, 'bye'],
  ['close:1001:going', 1001, 'going'],
  ['close:1000', 1000, ''],
  // without a code
  ['close', 1000, ''],
  ['terminate', 1011, ''],
]) {
  test(`the close of the upstream reaches the client (${command})`, async (t) => {
    const { url } = await upstream(t);
    const client = await greeted(t, url);
    client.send(command);
    await client.closed();
    t.is(client.closeFrame.code, code);
    if (code !== 1011) t.is(client.closeFrame.reason, reason);
  });
}

test('the close of the client reaches the upstream', async (t) => {
  const { url, closes } = await upstream(t);
  const client = await greeted(t, url);
  client.close(4000, 'done');
  await until(() => closes.length === 1, 'the close');
  t.deepEqual(closes[0], { code: 4000, reason: 'done' });
  const other = await greeted(t, url);
  other.reset();
  await until(() => closes.length === 2, 'the end');
  // a client may not send 1006
  t.is(closes[1].code, 1000);
});

/** An address that accepts connections and says nothing. */
async function silent(t) {
  const listener = net.createServer((socket) => {
    t.teardown(() => socket.destroy());
    socket.on('error', () => {});
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  t.teardown(() => listener.close());
  return `ws://127.0.0.1:${listener.address().port}/`;
}

test('an upstream that is away, silent, unknown or no WebSocket closes with 1011', async (t) => {
  const listener = net.createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const away = `ws://127.0.0.1:${listener.address().port}/`;
  await new Promise((resolve) => listener.close(resolve));
  for (const [url, path] of [
    [away, '/'],
    [await silent(t), '/hasty'],
    [away, '/rejecting'],
    ['nothing:', '/'],
    ['no url', '/'],
  ]) {
    const client = await open(t, url, path);
    t.is((await within(client.closed(), `the close for ${path}`)).code, 1011, `${url} ${path}`);
  }
});

test('what waits for the upstream has a bound', async (t) => {
  const client = await open(t, await silent(t), '/limited');
  client.send('aaaaa');
  const { code, reason } = await client.closed();
  t.deepEqual({ code, reason }, { code: 1009, reason: 'Proxy buffer limit exceeded' });
});
