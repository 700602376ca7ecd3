// Requests while servers stop, workers are replaced or die, and queues are full; and which endpoint answers on a shared
// port.
import http from 'node:http';
import test from 'ava';

import { everything } from '../support/app-client.mjs';
import { ask } from '../support/ask.mjs';
import { until } from '../support/deadline.mjs';
import { connectOptions, handshake } from '../support/http.mjs';
import { open, ownServer, worker } from '../support/server.mjs';

const options = { workerPath: worker('fetch'), threads: 1 };

/** A request whose handler has begun. */
async function begun(server, ms) {
  const answer = ask(server.addresses[0], `/later?ms=${ms}`);
  answer.catch(() => {});
  const isBegun = async () => String((await server.call('getKey', 'begun')) ?? '').endsWith(`=${ms}`);
  await until(isBegun, 'the handler to begin');
  // in an object, because the promise is not to be awaited here
  return { answer };
}

test('stop lets a running request finish', async (t) => {
  const server = await ownServer(t, options);
  const { answer } = await begun(server, 300);
  await server.stop();
  t.is((await answer).text, 'in the end');
});

test('stop cuts a request at the drain deadline', async (t) => {
  const server = await ownServer(t, options);
  const { answer } = await begun(server, 60_000);
  await server.stop(undefined, { drain: 100 });
  await t.throwsAsync(answer);
});

test('replaceWorkers lets the requests of the one before finish', async (t) => {
  const server = await ownServer(t, options);
  const before = (await ask(server.addresses[0], '/thread')).text;
  const { answer } = await begun(server, 400);
  await server.replaceWorkers();
  t.is((await answer).text, 'in the end');
  t.not((await ask(server.addresses[0], '/thread')).text, before);
});

test('a worker that dies answers 502 for its requests, and the next ones are answered', async (t) => {
  const server = await ownServer(t, { ...options, threads: 1 });
  const { answer } = await begun(server, 60_000);
  t.is((await ask(server.addresses[0], '/exit')).status, 502);
  t.is((await answer).status, 502);
  await until(async () => (await ask(server.addresses[0], '/hello')).status === 200, 'another worker');
});

test('more requests than a worker may have to answer get 503', async (t) => {
  const server = await ownServer(t, { ...options, limits: { workerRequests: 2 } });
  const first = await begun(server, 60_000);
  const second = await begun(server, 60_001);
  t.is((await ask(server.addresses[0], '/hello')).status, 503);
  await server.stop(undefined, { drain: 0 });
  await t.throwsAsync(first.answer);
  await t.throwsAsync(second.answer);
});

test('pipelined requests are answered in order', async (t) => {
  const server = await ownServer(t, { ...options, threads: 3 });
  const paths = ['/later?ms=30', '/hello', '/later?ms=1', '/json'];
  const bytes = paths.map((path, index) => {
    const connection = index === paths.length - 1 ? 'close' : 'keep-alive';
    return `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: ${connection}\r\n\r\n`;
  });
  const came = (await everything(server.addresses[0], bytes.join(''))).toString();
  t.deepEqual(came.match(/in the end|hello(?=HTTP)|\{"hello"/g), ['in the end', 'hello', 'in the end', '{"hello"']);
});

test('many requests at once over many connections', async (t) => {
  const server = await ownServer(t, { ...options, threads: 3, limits: { keepAliveTimeoutMs: 600_000 } });
  const agent = new http.Agent({ keepAlive: true, maxSockets: 50 });
  t.teardown(() => agent.destroy());
  const answers = await Promise.all(
    Array.from({ length: 1000 }, (_, index) =>
      ask(server.addresses[0], '/text', { method: 'POST', body: `number ${index}`, agent }),
    ),
  );
  for (const [index, { text }] of answers.entries()) t.is(text, `number ${index}`);
});

test('WebSockets open on the configured paths, everything else is for fetch', async (t) => {
  const server = await ownServer(t, { ...options, websocketPath: ['/ws', '/other'] });
  const [address] = server.addresses;
  for (const path of ['/ws', '/other?room=1']) {
    const socket = await open(t, server, { path });
    socket.send('x');
    t.is(await socket.text(), 'x');
  }
  t.is((await handshake(address, { path: '/hello' })).body, 'hello');
  t.is((await handshake(address, { path: '/nowhere' })).status, 404);
  t.is((await ask(address, '/ws')).status, 404);
  t.is((await ask(address, '/ws')).text, 'no such page');
});

test('a listener for WebSockets only answers as ever, and 404 beside its paths', async (t) => {
  const server = await ownServer(t, {
    bind: ['127.0.0.1:0', { address: '127.0.0.1:0', websocketPath: '/ws' }],
    workerPath: worker('echo'),
    threads: 1,
  });
  const [any, one] = server.addresses;
  t.is((await ask(any, '/')).status, 426);
  t.is((await ask(one, '/ws')).status, 426);
  t.is((await ask(one, '/')).status, 404);
  t.is((await handshake(one, { path: '/' })).status, 404);
});

test('a request on a unix socket has no address', async (t) => {
  const path = `/tmp/millrace-fetch-${process.pid}.sock`;
  const server = await ownServer(t, { ...options, bind: `unix:${path}` });
  t.deepEqual(connectOptions(server.addresses[0]), { path });
  const about = JSON.parse((await ask(server.addresses[0], '/about', { headers: { host: 'named' } })).text);
  t.is(about.ip, '');
  t.is(about.url, 'http://named/about');
});

test('clients with one request and one socket each are dealt to all workers', async (t) => {
  const server = await ownServer(t, { ...options, threads: 2 });
  for (let client = 0; client < 6; client++) {
    t.is((await ask(server.addresses[0], '/hello')).text, 'hello');
    await open(t, server);
  }
  const sockets = Object.values(await server.call('getDebugState', 'sockets'));
  const [one] = sockets;
  t.is(sockets.length, 6);
  t.is(sockets.filter(({ workerId }) => workerId === one.workerId).length, 3);
});
