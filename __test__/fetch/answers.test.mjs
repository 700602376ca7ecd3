// What a `fetch` handler may answer, and what happens to invalid answers.
import test from 'ava';

import { ask } from '../support/ask.mjs';
import { until } from '../support/deadline.mjs';
import { open, ownServer, sharedServer, worker } from '../support/server.mjs';

const options = { workerPath: worker('fetch'), threads: 2 };
const server = sharedServer(test, options);
const get = (path, more) => ask(server.addresses[0], path, more);
/** A server that does not wait long for answers. */
const hasty = (t) => ownServer(t, { ...options, limits: { answerTimeoutMs: 500 } });

/** The code of what was reported with such a message; the report may come after the answer. */
const codeOf = (message, from = server) =>
  until(
    async () => (await from.errors()).find((error) => message.test(error.message))?.code,
    `a report like ${message}`,
  );

test('a Response of a string, of JSON, by promise', async (t) => {
  const hello = await get('/hello');
  t.is(hello.status, 200);
  t.is(hello.text, 'hello');
  t.is(hello.headers['content-length'], '5');
  t.regex(hello.headers['content-type'], /^text\/plain; ?charset=utf-8$/i);
  t.deepEqual(JSON.parse((await get('/json')).text), { hello: 'world' });
  t.is((await get('/async')).text, 'async');
});

test('plain answers: text, bytes, a buffer, nothing', async (t) => {
  const plain = await get('/plain');
  t.is(plain.status, 201);
  t.is(plain.headers['x-one'], '1');
  t.is(plain.text, 'plain');
  t.is((await get('/bytes')).text, 'bytes');
  t.is((await get('/buffer')).text, 'buffer');
  const empty = await get('/empty');
  t.is(empty.status, 200);
  t.is(empty.headers['content-length'], '0');
});

test('several cookies stay several headers', async (t) => {
  t.deepEqual((await get('/plain')).headers['set-cookie'], ['a=1', 'b=2']);
  t.deepEqual((await get('/cookies')).headers['set-cookie'], ['a=1', 'b=2']);
});

test('streams and generators come in pieces', async (t) => {
  const pieces = await get('/pieces');
  t.is(pieces.text, 'one two three');
  t.is(pieces.headers['transfer-encoding'], 'chunked');
  t.is((await get('/generator')).text, 'one two');
});

test('HEAD and 204 have no body', async (t) => {
  const head = await get('/plain', { method: 'HEAD' });
  t.is(head.text, '');
  t.is(head.headers['content-length'], '5');
  t.is((await get('/hello', { method: 'HEAD' })).text, '');
  t.is((await get('/pieces', { method: 'HEAD' })).text, '');
  const none = await get('/no-content');
  t.is(none.status, 204);
  t.is(none.headers['content-length'], undefined);
});

test('a handler that throws, rejects or returns no answer gives 500, and is reported', async (t) => {
  for (const [path, report] of Object.entries({
    '/throw': /GET \/throw failed: thrown/,
    '/reject': /GET \/reject failed: rejected/,
    '/nothing': /GET \/nothing failed: fetch must return a Response or .* not undefined/,
    '/number': /GET \/number failed: fetch must return a Response or .* not 5/,
    '/odd-status': /GET \/odd-status failed: status must be a whole number from 200 to 599, not 99/,
    '/odd-body': /GET \/odd-body failed: an answer's body must be a string, .* not 5/,
  })) {
    const { status, text } = await get(path);
    t.is(status, 500, path);
    t.is(text, 'Internal server error');
    t.is(await codeOf(report), 'ERR_MILLRACE_HANDLER_FAILED', path);
  }
});

test('no header is smuggled into an answer', async (t) => {
  for (const path of ['/split', '/zero']) {
    const { status, headers } = await get(path);
    t.is(status, 500, path);
    t.is(headers['x-c'], undefined);
  }
});

test('a handler that never answers gives 503, and is reported', async (t) => {
  const own = await hasty(t);
  const { status } = await ask(own.addresses[0], '/never');
  t.is(status, 503);
  t.is(await codeOf(/GET \/never/, own), 'ERR_MILLRACE_HANDLER_TIMEOUT');
});

test('an answer that breaks off is cut, so that clients do not mistake it for a complete one', async (t) => {
  const error = await t.throwsAsync(get('/breaks'));
  t.regex(error.code, /ECONNRESET|HPE_/);
});

test('sockets on the same port are not disturbed by any of this', async (t) => {
  const own = await hasty(t);
  const socket = await open(t, own);
  const all = ['/throw', '/never', '/breaks', '/hello'].map((path) => ask(own.addresses[0], path));
  await Promise.allSettled(all);
  socket.send('still here');
  t.is(await socket.text(), 'still here');
});

test('requests take turns on the workers', async (t) => {
  const threads = new Set();
  // other tests ask meanwhile, so it may be the same one's turn a few times in a row
  await until(async () => threads.add((await get('/thread')).text).size === 2, 'answers of two workers');
  t.is(threads.size, 2);
});
