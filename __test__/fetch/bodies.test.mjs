// Bodies of requests, small and large, and the `Request` around them.
import net from 'node:net';
import test from 'ava';

import { ask } from '../support/ask.mjs';
import { until } from '../support/deadline.mjs';
import { connectOptions } from '../support/http.mjs';
import { request, talk } from '../support/http-connection.mjs';
import { ownServer, sharedServer, worker } from '../support/server.mjs';

const LIMIT = 1_000_000;
const server = sharedServer(test, { workerPath: worker('fetch'), threads: 1, limits: { bodyBytes: LIMIT } });
const post = (path, body, options) => ask(server.addresses[0], path, { method: 'POST', body, ...options });

/** The same bytes in chunks, without a length. */
async function* inChunks(bytes, size) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Bytes that are not all the same, so that none can be lost or doubled unseen. */
const pattern = (length) => Buffer.from(Uint8Array.from({ length }, (_, index) => (index * 7 + (index >> 8)) & 255));

test('a request is a Request, with its client and its headers', async (t) => {
  const { text } = await ask(server.addresses[0], '/about?a=1&b=%20', { headers: { 'X-One': 'é', cookie: 'a=1' } });
  const about = JSON.parse(text);
  t.is(about.isRequest, true);
  t.is(about.method, 'GET');
  t.is(about.url, `http://${server.addresses[0]}/about?a=1&b=%20`);
  t.is(about.ip, '127.0.0.1');
  t.is(about.version, '1.1');
  const headers = Object.fromEntries(about.headers);
  t.is(headers['x-one'], 'é');
  t.is(headers.cookie, 'a=1');
  t.is(headers.host, server.addresses[0]);
});

test('bodies of every size come whole, with a length and in chunks', async (t) => {
  for (const length of [0, 1, 16_384, 16_385, 70_000, 700_000]) {
    const bytes = pattern(length);
    t.deepEqual((await post('/echo', bytes)).bytes, bytes, `${length} bytes`);
    t.deepEqual((await post('/echo', inChunks(bytes, 5_000))).bytes, bytes, `${length} bytes in chunks`);
    t.is((await post('/length', bytes)).text, String(length));
    t.is((await post('/count', inChunks(bytes, 70_000))).text, length === 0 ? '0' : String(length));
  }
});

test('text, JSON, forms', async (t) => {
  t.is((await post('/text', 'héllo')).text, 'héllo');
  t.deepEqual(JSON.parse((await post('/parsed', '{"a":[1]}')).text), { a: [1] });
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  t.deepEqual(JSON.parse((await post('/form', 'a=1&b=%20', { headers })).text), [
    ['a', '1'],
    ['b', ' '],
  ]);
});

test('a body is read once, unless the request is cloned first', async (t) => {
  t.is((await post('/twice', 'body')).text, 'TypeError true');
  t.is((await post('/clone', 'body')).text, 'true body body');
});

test('a body above the limit is refused, announced or not', async (t) => {
  const within = pattern(LIMIT);
  t.is((await post('/length', within)).text, String(LIMIT));
  t.is((await post('/length', inChunks(pattern(LIMIT + 1), 100_000))).status, 413);
  // an announced one is refused before it is sent
  const { status } = await announced(server.addresses[0], LIMIT + 1);
  t.is(status, 413);
  t.is((await post('/text', 'still here')).text, 'still here');
});

/** Announces a body and sends none of it. */
function announced(address, length) {
  return new Promise((resolve, reject) => {
    const socket = net.connect(connectOptions(address));
    socket.on('error', reject);
    socket.write(`POST /length HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`);
    let seen = '';
    socket.on('data', (data) => {
      seen += data;
      const status = /^HTTP\/1\.1 (\d+) /.exec(seen)?.[1];
      if (status === undefined) return;
      socket.destroy();
      resolve({ status: Number(status) });
    });
  });
}

test('a handler need not read the body', async (t) => {
  t.is((await post('/hello', pattern(10_000))).text, 'hello');
  // nor need it come: the answer does not wait for it, and is the last
  const half = request('POST /hello HTTP/1.1', ['Content-Length: 900000'], { body: pattern(100_000) });
  const client = talk(t, server.addresses[0]).write(half);
  const { status, headers, body } = await client.answer();
  t.deepEqual({ status, body, connection: headers.connection }, { status: 200, body: 'hello', connection: 'close' });
  t.is(await client.closed(), '');
});

for (const [what, headers, pieces] of [
  ['of a few announced bytes', ['Content-Length: 11'], ['', 'half', ' a', ' body']],
  ['of many announced bytes', ['Content-Length: 20000'], ['', 'half', 'x'.repeat(19_996)]],
  ['in chunks', ['Transfer-Encoding: chunked'], ['', '4\r\nhalf\r\n', '7\r\n a body\r\n', '0\r\n\r\n']],
]) {
  test(`a body ${what} streams to its handler from its first part`, async (t) => {
    const client = talk(t, server.addresses[0]).write(
      request('POST /echo HTTP/1.1', [...headers, 'Connection: close']),
    );
    for (const piece of pieces) {
      client.write(piece);
      const text = /[a-wyz ]{2,}/.exec(piece)?.[0] ?? '';
      // what was sent comes back before the rest is sent
      await until(
        () => client.seen.includes(text),
        () => `${text} in ${client.seen.toString('latin1')}`,
      );
    }
    t.regex(await client.closed(), /\r\n0\r\n\r\n$/);
  });
}

test('a handler that needs no body is asked before it comes', async (t) => {
  const client = talk(t, server.addresses[0]).write(request('POST /hello HTTP/1.1', ['Content-Length: 10']));
  t.is((await client.answer()).body, 'hello');
});

for (const [what, status, headers, body, ends] of [
  ['of a few bytes stands still', 408, ['Content-Length: 10'], 'half'],
  ['stands still', 408, ['Content-Length: 100000'], 'half'],
  ['stands still between chunks', 408, ['Transfer-Encoding: chunked'], '4\r\nhalf\r\n'],
  ['ends too early', 400, ['Content-Length: 100000'], 'half', true],
  ['ends between chunks', 400, ['Transfer-Encoding: chunked'], '4\r\nhalf\r\n', true],
  ['has an invalid chunk', 400, ['Transfer-Encoding: chunked'], '4\r\nhalf\r\nno chunk\r\n'],
]) {
  test(`${status}: a body that a handler reads ${what}`, async (t) => {
    // what is at fault is found before the time is over
    const limits = { bodyTimeoutMs: status === 408 ? 300 : 60_000 };
    const own = await ownServer(t, { workerPath: worker('fetch'), threads: 1, limits });
    const client = talk(t, own.addresses[0]).write(request('POST /text HTTP/1.1', headers, { body }));
    if (ends) client.half();
    const answer = await client.answer();
    t.is(answer.status, status);
    t.is(answer.headers.connection, 'close');
    t.is(await client.closed(), '');
    t.is((await ask(own.addresses[0], '/hello')).text, 'hello');
  });
}

test('the signal aborts when the client leaves, and so does an endless answer', async (t) => {
  const own = await ownServer(t, { workerPath: worker('fetch'), threads: 1 });
  const [address] = own.addresses;
  const aborts = async () => JSON.parse((await ask(address, '/aborts')).text);
  const waiting = net.connect(connectOptions(address));
  waiting.write('GET /abort HTTP/1.1\r\nHost: a\r\n\r\n');
  await until(async () => (await aborts()).includes('asked'), 'the handler to wait');
  waiting.destroy();
  await until(async () => (await aborts()).includes('AbortError'), 'the signal to abort');

  const reading = net.connect(connectOptions(address));
  reading.write('GET /endless HTTP/1.1\r\nHost: a\r\n\r\n');
  reading.pause();
  const endless = async () => (await aborts()).at(-1);
  // it is written as far as the kernel takes it, and no further
  let before = -1;
  await until(async () => {
    const { pulled } = await endless();
    const stands = pulled === before && pulled > 0;
    before = pulled;
    return stands;
  }, 'the answer to stand still');
  t.true(before < 32 * 2 ** 20, `${before} bytes were taken from a stream that nobody reads`);
  reading.destroy();
  await until(async () => (await endless()).cancelled, 'the stream to be cancelled');
  t.deepEqual(await own.errors(), []);
});
