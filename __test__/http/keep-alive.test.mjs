// How long an HTTP connection stays open, and the headers about it in answers. The endpoint is that of WebSockets,
// which answers GET with 426.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { handshake, handshakeBytes } from '../support/http.mjs';
import { request, talk } from '../support/http-connection.mjs';
import { ownServer, sharedServer, worker } from '../support/server.mjs';

const ECHO = { workerPath: worker('echo'), threads: 1 };
const server = sharedServer(test, ECHO);
const GET = request('GET / HTTP/1.1');
const limited = (t, limits) => ownServer(t, { ...ECHO, limits });
const tokens = ({ connection }) => connection.split(/,\s*/);

// The headers of a request, and whether the connection stays open.
for (const [name, version, connection, stays] of [
  ['1.1', '1.1', undefined, true],
  ['1.1 with keep-alive', '1.1', 'keep-alive', true],
  ['1.1 with close', '1.1', 'close', false],
  ['1.1 with close in another case', '1.1', 'CLOSE', false],
  ['1.1 with close in a list', '1.1', 'close, TE', false],
  ['1.1 with close at the end of a list', '1.1', 'TE , close', false],
  ['1.1 with a token that only begins like close', '1.1', 'closed', true],
  ['1.0', '1.0', undefined, false],
  ['1.0 with keep-alive', '1.0', 'keep-alive', true],
  ['1.0 with keep-alive in a list in another case', '1.0', 'TE, Keep-Alive', true],
  ['1.0 with both', '1.0', 'keep-alive, close', false],
]) {
  test(`HTTP/${name}: ${stays ? 'stays' : 'is closed'}`, async (t) => {
    const bytes = request(`GET / HTTP/${version}`, connection === undefined ? [] : [`Connection: ${connection}`]);
    const client = talk(t, server.addresses[0]).write(bytes);
    const { headers, version: answered } = await client.answer();
    t.is(answered, 'HTTP/1.1');
    t.is(tokens(headers).includes('keep-alive'), stays);
    t.is(tokens(headers).includes('close'), !stays);
    t.is(headers['keep-alive'], stays ? 'timeout=5, max=1000' : undefined);
    if (stays) t.is((await client.write(bytes).answer()).status, 426);
    else t.is(await client.closed(), '');
  });
}

test('an idle connection is closed without an answer', async (t) => {
  const own = await limited(t, { keepAliveTimeoutMs: 300 });
  const client = talk(t, own.addresses[0]).write(GET);
  t.is((await client.answer()).headers['keep-alive'], 'timeout=0, max=1000');
  t.is(await client.closed(), '');
  t.false(client.reset);
});

test('by default it is closed after five seconds', async (t) => {
  const before = performance.now();
  const client = talk(t, server.addresses[0]).write(GET);
  await client.answer();
  t.is(await client.closed(), '');
  t.true(performance.now() - before > 4_900);
});

test('a request in time keeps it open', async (t) => {
  const own = await limited(t, { keepAliveTimeoutMs: 8_000 });
  const [client, witness] = [talk(t, own.addresses[0]), talk(t, own.addresses[0])];
  await witness.write(GET).answer();
  let rounds = 0;
  // as long as the witness, who is silent, is there, and then once more
  while (!witness.over) {
    t.is((await client.write(GET).answer()).status, 426);
    rounds++;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  t.true(rounds > 5);
  t.is((await client.write(GET).answer()).status, 426);
});

test('the answer to the last request has Connection: close', async (t) => {
  const own = await limited(t, { keepAliveRequests: 3 });
  const client = talk(t, own.addresses[0]).write(Buffer.concat([GET, GET, GET, GET]));
  for (const stays of [true, true, false]) {
    const { headers } = await client.answer();
    t.is(headers['keep-alive'], stays ? 'timeout=5, max=3' : undefined);
    t.is(tokens(headers).includes('close'), !stays);
  }
  t.is(await client.closed(), '');
  t.false(client.reset);
});

test('the thousandth request is the last by default', async (t) => {
  const client = talk(t, server.addresses[0]).write(Buffer.concat(Array.from({ length: 1001 }, () => GET)));
  for (let count = 1; count <= 1000; count++) {
    t.is(tokens((await client.answer()).headers).includes('close'), count === 1000, `answer ${count}`);
  }
  t.is(await client.closed(), '');
});

test('one request and no keep-alive', async (t) => {
  const own = await limited(t, { keepAliveRequests: 1 });
  const client = talk(t, own.addresses[0]).write(GET);
  t.true(tokens((await client.answer()).headers).includes('close'));
  t.is(await client.closed(), '');
});

test('pipelined requests are answered in order, whole or in pieces', async (t) => {
  const methods = ['GET', 'POST', 'GET', 'DELETE', 'PUT', 'GET'];
  const bytes = Buffer.concat(
    methods.map((method) => request(`${method} / HTTP/1.1`, ['Content-Length: 2'], { body: 'hi' })),
  );
  for (const size of [bytes.length, 7, 100]) {
    const client = talk(t, server.addresses[0]);
    for (let at = 0; at < bytes.length; at += size) client.write(bytes.subarray(at, at + size));
    for (const method of methods) t.is((await client.answer()).status, method === 'GET' ? 426 : 405);
  }
});

test('a request after the answers, then an upgrade', async (t) => {
  const client = talk(t, server.addresses[0]).write(Buffer.concat([GET, GET]));
  t.is((await client.answer()).status, 426);
  t.is((await client.answer()).status, 426);
  client.write(handshakeBytes());
  t.is((await client.answer()).status, 101);
});

test('a handshake that is refused ends its connection', async (t) => {
  const client = talk(t, server.addresses[0]).write(handshakeBytes({ headers: { 'Sec-WebSocket-Key': 'short' } }));
  const { status, headers } = await client.answer();
  t.is(status, 400);
  t.is(headers.connection, 'close');
  t.is(await client.closed(), '');
});

test('a client that ends its sending side gets the answer', async (t) => {
  const client = talk(t, server.addresses[0])
    .write(Buffer.concat([GET, GET]))
    .half();
  t.is((await client.answer()).status, 426);
  t.is((await client.answer()).status, 426);
  t.is(await client.closed(), '');
  t.false(client.reset);
});

test('a client that ends in the middle of a request gets 400', async (t) => {
  for (const part of [GET.subarray(0, 20), request('POST / HTTP/1.1').subarray(0, -1)]) {
    const client = talk(t, server.addresses[0]).write(part).half();
    t.is((await client.answer()).status, 400);
    t.is(await client.closed(), '');
  }
});

test('nothing follows an answer that says close, not even a refusal', async (t) => {
  const bytes = [request('GET / HTTP/1.1', ['Connection: close']), Buffer.from('nonsense\r\n\r\n')];
  const client = talk(t, server.addresses[0]).write(Buffer.concat(bytes));
  t.is((await client.answer()).status, 426);
  t.is(await client.closed(), '');
});

test('a client that sends nothing is closed without an answer', async (t) => {
  const own = await limited(t, { firstRequestTimeoutMs: 200 });
  const client = talk(t, own.addresses[0]);
  t.is(await client.closed(), '');
  t.false(client.reset);
});

test('by default it is closed after two seconds', async (t) => {
  const own = await ownServer(t, { ...ECHO, limits: { handshakeTimeoutMs: 86_400_000 } }, { patient: false });
  const before = performance.now();
  const client = talk(t, own.addresses[0]);
  t.is(await client.closed(), '');
  const took = performance.now() - before;
  t.true(took > 1_900, `${took} ms: not at once`);
});

test('an incomplete first request in HTTP/1.0 is closed after two seconds, one in HTTP/1.1 later', async (t) => {
  const limits = { handshakeTimeoutMs: 86_400_000, bodyTimeoutMs: 86_400_000 };
  const own = await ownServer(t, { workerPath: worker('fetch'), threads: 1, limits }, { patient: false });
  const begin = (text) => talk(t, own.addresses[0]).write(text);
  const before = performance.now();
  const newer = ['GET /hello HTTP/1.1\r\nHost: ', 'GET /hello HTTP/1.', 'GET /hel'].map(begin);
  const older = ['GET / HTTP/1.0\r\nHost: ', 'GET / HTTP/1.0\r', 'GET / HTTP/1.0'].map(begin);
  const body = begin('POST /text HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 10\r\n\r\nhalf');
  for (const client of older) {
    t.is(await client.closed(), '', 'without a word');
    const took = performance.now() - before;
    t.true(took > 1_900, `${took} ms: not at once`);
  }
  t.is((await body.answer()).status, 408, 'somebody may read it already');
  t.is(await body.closed(), '');
  for (const [index, rest] of ['x\r\n\r\n', '1\r\nHost: x\r\n\r\n', 'lo HTTP/1.1\r\nHost: x\r\n\r\n'].entries()) {
    t.is((await newer[index].write(rest).answer()).body, 'hello');
  }
});

test('a later request in HTTP/1.0 has as long as one in HTTP/1.1', async (t) => {
  const own = await limited(t, { firstRequestTimeoutMs: 3_000, handshakeTimeoutMs: 60_000 });
  const [client, silent] = [talk(t, own.addresses[0]), talk(t, own.addresses[0])];
  const bytes = request('GET / HTTP/1.0', ['Connection: keep-alive']);
  t.is((await client.write(bytes).answer()).status, 426);
  client.write(bytes.subarray(0, 30));
  t.is(await silent.closed(), '');
  await talk(t, own.addresses[0]).closed();
  t.is((await client.write(bytes.subarray(30)).answer()).status, 426);
});

test('an incomplete head is answered with 408', async (t) => {
  const own = await limited(t, { handshakeTimeoutMs: 5_000 });
  const first = talk(t, own.addresses[0]).write(GET.subarray(0, 20));
  const second = talk(t, own.addresses[0]).write(GET);
  t.is((await second.answer()).status, 426);
  second.write(GET.subarray(0, 20));
  for (const client of [first, second]) {
    const { status, headers } = await client.answer();
    t.is(status, 408);
    t.is(headers.connection, 'close');
    t.is(await client.closed(), '');
    t.false(client.reset);
  }
});

test('a head that arrives byte by byte is answered with 408, too', async (t) => {
  const own = await limited(t, { handshakeTimeoutMs: 6_000, firstRequestTimeoutMs: 5_000 });
  const client = talk(t, own.addresses[0]).write('GET / HTTP/1.1\r\nX: ');
  const drip = setInterval(() => client.over || client.write('y'), 20);
  t.teardown(() => clearInterval(drip));
  t.is((await client.answer()).status, 408);
});

test('a handshake may arrive byte by byte for longer than a client may be silent', async (t) => {
  const own = await limited(t, { firstRequestTimeoutMs: 5_000, handshakeTimeoutMs: 60_000 });
  const [client, silent] = [talk(t, own.addresses[0]), talk(t, own.addresses[0])];
  const bytes = handshakeBytes();
  client.write(bytes.subarray(0, 10));
  t.is(await silent.closed(), '');
  client.write(bytes.subarray(10));
  t.is((await client.answer()).status, 101);
});

test('an incomplete body is answered with 408', async (t) => {
  const own = await limited(t, { bodyTimeoutMs: 300 });
  const client = talk(t, own.addresses[0]).write(request('POST / HTTP/1.1', ['Content-Length: 10'], { body: 'half' }));
  const { status, headers } = await client.answer();
  // an endpoint that does not want the body answers without it
  t.true([405, 408].includes(status));
  t.is(headers.connection, 'close');
  t.is(await client.closed(), '');
});

test('an unread body does not affect the answer', async (t) => {
  const body = Buffer.alloc(300_000, 'x');
  const bytes = request('POST / HTTP/1.1', [`Content-Length: ${body.length}`], { body });
  const client = talk(t, server.addresses[0]).write(Buffer.concat([bytes, GET]));
  t.is((await client.answer()).status, 405);
  await client.closed();
  t.false(client.reset);
});

test('stop ends idle connections at once', async (t) => {
  const own = await limited(t, {
    keepAliveTimeoutMs: 60_000,
    firstRequestTimeoutMs: 60_000,
    handshakeTimeoutMs: 60_000,
  });
  const [silent, half, idle] = Array.from({ length: 3 }, () => talk(t, own.addresses[0]));
  half.write(GET.subarray(0, 20));
  await idle.write(GET).answer();
  await until(async () => (await own.call('stats')).connections === 3, 'three connections');
  const stopped = own.stop(undefined, { drain: 60_000 });
  for (const client of [silent, half, idle]) t.is(await client.closed(), '');
  await stopped;
});

test('a request that is being answered when the server stops is answered with Connection: close', async (t) => {
  const own = await ownServer(t, { workerPath: worker('gate'), threads: 1 });
  const pending = handshake(own.addresses[0]);
  await until(async () => Object.keys(await own.call('getDebugState', 'sockets')).length === 1, 'handleOpen');
  await own.stop(undefined, { drain: 10_000 });
  const { status, headers } = await pending;
  t.is(status, 503);
  t.is(headers.connection, 'close');
});

test('invalid limits are TypeErrors that name them', async (t) => {
  const own = await ownServer(t);
  for (const [name, value] of [
    ['keepAliveTimeoutMs', 0],
    ['keepAliveRequests', 0],
    ['firstRequestTimeoutMs', -1],
    ['bodyBytes', '1'],
    ['bodyTimeoutMs', 0],
    ['requestHeaders', 0],
    ['requestTargetBytes', 100_000],
  ]) {
    await t.throwsAsync(own.start({ ...ECHO, limits: { [name]: value } }), {
      name: 'TypeError',
      message: new RegExp(`limits.${name}`),
    });
  }
});
