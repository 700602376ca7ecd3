// Responses of every kind: used, failing, from other constructors, slow to begin, and those that are no longer read.
import { once } from 'node:events';
import net from 'node:net';
import test from 'ava';

import { ask } from '../support/ask.mjs';
import { until, within } from '../support/deadline.mjs';
import { connectOptions } from '../support/http.mjs';
import { ownServer, sharedServer, worker } from '../support/server.mjs';

const options = { workerPath: worker('fetch'), threads: 1 };
const server = sharedServer(test, options);
const get = (path, more) => ask(server.addresses[0], path, more);
const report = (message, from = server) =>
  until(async () => (await from.errors()).find((error) => message.test(error.message)), `a report like ${message}`);

test('a Response whose body is used or locked is an error, not an empty answer', async (t) => {
  for (const path of ['/used', '/locked']) {
    for (const method of ['GET', 'HEAD']) t.is((await get(path, { method })).status, 500, `${method} ${path}`);
    await report(new RegExp(`GET ${path} failed: the Response's body has been used already`));
  }
});

test('Response.error() is not an answer', async (t) => {
  t.is((await get('/error')).status, 500);
  await report(/GET \/error failed: status must be a whole number from 200 to 599, not 0/);
});

test('redirects, subclasses, and objects that only look like a Response', async (t) => {
  const moved = await get('/moved');
  t.is(moved.status, 307);
  t.is(moved.headers.location, 'http://example.org/there');
  const subclass = await get('/subclass');
  t.is(subclass.status, 203);
  t.is(subclass.text, 'of a subclass');
  const shaped = await get('/shaped');
  t.is(shaped.status, 202);
  t.is(shaped.headers['x-one'], '1');
  t.is(shaped.text, 'shaped');
});

test('a header without a value is named', async (t) => {
  t.is((await get('/no-value')).status, 500);
  await report(/an answer's header 'x-one' must be a string or several, not undefined/);
});

test('HEAD: an endless body is not made, and a length that was given is kept', async (t) => {
  const { status, text } = await get('/endless-text', { method: 'HEAD' });
  t.is(status, 200);
  t.is(text, '');
  t.is((await get('/length-of-head', { method: 'HEAD' })).headers['content-length'], '12345');
  t.is((await get('/length-of-head')).headers['content-length'], '0');
  t.is((await get('/hello')).text, 'hello');
});

test('a single chunk has a Content-Length; a source that fails at once gives 500', async (t) => {
  const one = await get('/one-piece');
  t.is(one.text, 'one piece');
  t.is(one.headers['content-length'], '9');
  t.is((await get('/fails-first')).status, 500);
  await report(/GET \/fails-first failed: no first piece/);
});

test('a stream with a late first chunk is not a late answer', async (t) => {
  const own = await ownServer(t, { ...options, limits: { answerTimeoutMs: 500 } });
  // on a busy machine the whole answer may be late
  const late = await until(async () => {
    const answer = await ask(own.addresses[0], '/late-piece');
    return answer.status !== 503 && answer;
  }, 'an answer in time');
  t.is(late.status, 200);
  t.is(late.text, 'late');
});

/** A client that resets its connection when the handler has begun; what the handler saw of it. */
async function reset(t, path, begun, seen) {
  const own = await ownServer(t, options);
  const [address] = own.addresses;
  const aborts = async () => JSON.parse((await ask(address, '/aborts')).text);
  const socket = net.connect(connectOptions(address));
  await once(socket, 'connect');
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  await until(async () => (await aborts()).includes(begun), 'the handler');
  socket.resetAndDestroy();
  await until(async () => (await aborts()).includes(seen), `${seen} to be seen`);
  return own;
}

for (const [path, begun, seen] of [
  ['/iterator', 'iterating', 'returned'],
  ['/node-stream', 'reading', 'destroyed'],
]) {
  test(`a stream that waits for a chunk is cancelled when the client disconnects: ${path}`, async (t) => {
    const own = await reset(t, path, begun, seen);
    t.deepEqual(await own.errors(), []);
  });
}

test('a handler that aborts because the client disconnected has not failed', async (t) => {
  const own = await reset(t, '/gives-up', 'asked', 'gave up');
  await ask(own.addresses[0], '/throw');
  await report(/thrown/, own);
  for (const { message } of await own.errors()) t.regex(message, /^the handler of GET \/throw failed: thrown/);
});

test('a request can be shown, remade with another URL, and copied', async (t) => {
  const shown = (await get('/shown')).text;
  t.regex(shown, /Request/);
  const remade = await get('/remade?x=1', { method: 'POST', body: 'body', headers: { 'x-one': '1' } });
  t.is(remade.text, `POST http://${server.addresses[0]}/elsewhere?x=1 1 body`);
  const [url, method, headers, text] = JSON.parse((await get('/copied', { method: 'PUT', body: 'body' })).text);
  t.is(url, `http://${server.addresses[0]}/copied`);
  t.is(method, 'PUT');
  t.is(Object.fromEntries(headers).host, server.addresses[0]);
  t.is(text, 'body');
});

test('bytes are bytes of their own', async (t) => {
  const seen = JSON.parse((await get('/own-bytes', { method: 'POST', body: 'four' })).text);
  t.deepEqual(seen, ['Uint8Array', 0, 4, 4]);
});

test('a form with a file', async (t) => {
  const body = [
    '--x\r\nContent-Disposition: form-data; name="title"\r\n\r\nh\u00e9\r\n',
    '--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\nin it\r\n',
    '--x--\r\n',
  ].join('');
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  const { text } = await get('/files', { method: 'POST', body, headers });
  const [title, [name, file, type, content]] = JSON.parse(text);
  t.deepEqual(title, ['title', 'h\u00e9']);
  t.deepEqual([name, file, content], ['file', 'a.txt', 'in it']);
  t.regex(type, /^text\/plain/);
});

test('several cookie lines are one, and a user in a whole URL is nobody', async (t) => {
  const socket = net.connect(connectOptions(server.addresses[0]));
  t.teardown(() => socket.destroy());
  socket.write('GET /about HTTP/1.1\r\nHost: a\r\nCookie: a=1\r\nX-Two: 1\r\nCookie: b=2\r\nX-Two: 2\r\n\r\n');
  socket.write('GET http://me:secret@a/copied HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  let came = '';
  socket.on('data', (piece) => {
    came += piece;
  });
  await within(once(socket, 'end'), 'both answers');
  t.true(came.includes('["cookie","a=1; b=2"]'), came);
  t.true(came.includes('["x-two","1, 2"]'), came);
  t.true(/"http:\/\/a\/copied"|HTTP\/1\.1 400/.test(came), came);
});
