// `fetch` handlers in every runtime: the server is started there in a child process and asked from here.

import net from 'node:net';
import test from 'ava';
import { ask } from '../support/ask.mjs';
import { until } from '../support/deadline.mjs';
import { connectOptions } from '../support/http.mjs';

import { inEach } from '../support/runtimes.mjs';
import { open, worker } from '../support/server.mjs';

inEach(test, 'an app of Hono runs unchanged', async (t, { launch }) => {
  const server = await launch({ workerPath: worker('hono'), threads: 2 });
  const get = (path, options) => ask(server.addresses[0], path, options);
  t.is((await get('/')).text, 'Hello Hono');
  const user = await get('/api/users/7?q=x', { headers: { origin: 'https://example.org' } });
  t.deepEqual(JSON.parse(user.text), { id: '7', q: 'x', ip: '127.0.0.1' });
  t.is(user.headers['access-control-allow-origin'], '*');
  t.is((await get('/api/users/7', { method: 'OPTIONS' })).status, 204);
  const json = { 'content-type': 'application/json' };
  const created = await get('/api/users', { method: 'POST', headers: json, body: '{"name":"Ann"}' });
  t.is(created.status, 201);
  t.deepEqual(JSON.parse(created.text), { created: { name: 'Ann' } });
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const parsed = await get('/form', { method: 'POST', headers: form, body: 'a=1&b=2' });
  t.deepEqual(JSON.parse(parsed.text), { a: '1', b: '2' });
  t.is((await get('/header', { headers: { 'X-One': '1' } })).text, '1');
  const cookies = await get('/cookies');
  t.is(cookies.status, 204);
  t.deepEqual(cookies.headers['set-cookie'], ['a=1', 'b=2']);
  t.is((await get('/stream')).text, 'one two three');
  const limited = (body) => get('/limited', { method: 'POST', headers: { 'x-one': '1' }, body });
  t.is((await limited('short')).text, 'short of 1');
  t.is((await limited(inPieces('in ', 'pieces'))).text, 'in pieces of 1');
  t.is((await limited(inPieces('too much of it', ' to be taken'))).text, 'too much');
  const mounted = await get('/mounted/a?b=1', { method: 'POST', body: 'body' });
  t.is(mounted.text, `POST http://${server.addresses[0]}/a?b=1 body`);
  const twice = await get('/twice', { method: 'POST', headers: json, body: '{"a":1}' });
  t.deepEqual(JSON.parse(twice.text), [{ a: 1 }, '{"a":1}']);
  t.is((await get('/events')).text, 'event: tick\ndata: one\n\n');
  t.is((await get('/redirect')).headers.location, '/');
  t.is((await get('/forbidden')).status, 403);
  t.is((await get('/broken')).text, 'caught');
  t.is((await get('/nowhere')).text, 'nothing here');
  t.is((await get('/', { method: 'HEAD' })).text, '');
  const socket = await open(t, server);
  socket.send('beside it');
  t.is(await socket.text(), 'beside it');
  t.deepEqual(await server.errors(), []);
});

inEach(test, 'requests, answers and failures are the same', async (t, { launch }) => {
  const server = await launch({ workerPath: worker('fetch'), threads: 1, limits: { bodyBytes: 1_000_000 } });
  const get = (path, options) => ask(server.addresses[0], path, options);
  const { headers } = await get('/hello');
  t.is(headers['content-length'], '5');
  t.regex(headers['content-type'], /^text\/plain; ?charset=utf-8$/i);
  const json = await get('/json');
  t.deepEqual(JSON.parse(json.text), { hello: 'world' });
  t.regex(json.headers['content-type'], /^application\/json/);
  t.deepEqual([(await get('/kept')).text, (await get('/kept')).status], ['kept', 500], 'sent once');
  t.is((await get('/typed')).headers['content-type'], 'text/css');
  t.deepEqual((await get('/plain')).headers['set-cookie'], ['a=1', 'b=2']);
  t.deepEqual((await get('/cookies')).headers['set-cookie'], ['a=1', 'b=2']);
  t.is((await get('/pieces')).text, 'one two three');
  t.is((await get('/generator')).text, 'one two');
  const about = JSON.parse((await get('/about?x=1')).text);
  t.is(about.url, `http://${server.addresses[0]}/about?x=1`);
  t.true(about.isRequest);
  const body = Buffer.alloc(700_000, 'abcdefg');
  for (const path of ['/echo', '/text']) {
    t.deepEqual((await get(path, { method: 'POST', body })).bytes, body, path);
  }
  t.is((await get('/count', { method: 'POST', body })).text, '700000');
  t.is((await get('/clone', { method: 'POST', body: 'body' })).text, 'true body body');
  t.is((await get('/form', { method: 'POST', body: 'a=1', headers: FORM })).text, '[["a","1"]]');
  t.regex((await get('/shown')).text, /Request/);
  const remade = await get('/remade?x=1', { method: 'POST', body: 'body', headers: { 'x-one': '1' } });
  t.is(remade.text, `POST http://${server.addresses[0]}/elsewhere?x=1 1 body`);
  const passed = await get('/passed-on', { method: 'POST', body: 'passed on', headers: { 'x-one': '1' } });
  t.is(passed.text, 'POST passed on 1 true');
  t.is((await get('/around', { headers: { 'x-one': '1' } })).text, 'came back with 1');
  t.is((await get('/own-bytes', { method: 'POST', body: 'four' })).text, '["Uint8Array",0,4,4]');
  t.is((await get('/one-piece')).headers['content-length'], '9');
  t.is((await get('/late-piece')).text, 'late');
  t.is((await get('/endless-text', { method: 'HEAD' })).status, 200);
  const statuses = {
    '/throw': 500,
    '/reject': 500,
    '/nothing': 500,
    '/split': 500,
    '/used': 500,
    '/locked': 500,
    '/error': 500,
    '/fails-first': 500,
    '/zero': 500,
  };
  for (const [path, status] of Object.entries(statuses)) t.is((await get(path)).status, status, path);
  await t.throwsAsync(get('/breaks'));
  t.is((await get('/length', { method: 'POST', body: chunks(1_000_001) })).status, 413);
  t.is((await get('/hello')).text, 'hello');
  const hasty = { workerPath: worker('fetch'), threads: 1, limits: { answerTimeoutMs: 1000 } };
  const { addresses } = await server.start(hasty, { gateway: 'hasty' });
  t.is((await ask(addresses[0], '/never')).status, 503);
});

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

async function* inPieces(...pieces) {
  yield* pieces;
}

async function* chunks(bytes) {
  for (let left = bytes; left > 0; left -= 50_000) yield Buffer.alloc(Math.min(left, 50_000));
}

inEach(test, 'who leaves is noticed: signals abort, and what waits for a piece is let go', async (t, { launch }) => {
  const server = await launch({ workerPath: worker('fetch'), threads: 1 });
  const aborts = async () => JSON.parse((await ask(server.addresses[0], '/aborts')).text);
  for (const [path, begun, seen] of [
    ['/gives-up', 'asked', 'gave up'],
    ['/iterator', 'iterating', 'returned'],
    ['/node-stream', 'reading', 'destroyed'],
  ]) {
    const socket = net.connect(connectOptions(server.addresses[0]));
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await until(async () => (await aborts()).includes(begun), begun);
    socket.resetAndDestroy();
    await until(async () => (await aborts()).includes(seen), seen);
  }
  // one that only sends nothing more gets its answer
  const half = net.connect({ ...connectOptions(server.addresses[0]), allowHalfOpen: true });
  half.end('GET /pieces HTTP/1.1\r\nHost: a\r\n\r\n');
  const came = Buffer.concat(await half.toArray()).toString();
  half.destroy();
  t.regex(came, /one .*two .*three/s);
  t.deepEqual(await server.errors(), []);
});

inEach(test, 'large uploads and answers, as fast as they are taken', async (t, { launch }) => {
  const limits = { bodyBytes: 64 * 2 ** 20 };
  const server = await launch({ workerPath: worker('fetch'), threads: 1, limits });
  const size = 30 * 2 ** 20;
  const answer = await ask(server.addresses[0], '/echo', { method: 'POST', body: chunks(size) });
  t.is(answer.bytes.length, size);
  t.is((await ask(server.addresses[0], '/count', { method: 'POST', body: chunks(size) })).text, String(size));
});

inEach(test, 'handlers on the calling thread, without a module', async (t, { launch }) => {
  const server = await launch();
  t.is(await server.run('own-handlers'), 'hello 200, socket 200');
});
