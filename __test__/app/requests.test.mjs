// The values that handlers of an app get for requests as exact bytes: requests, bodies, queries, forms and routes.
import test from 'ava';

import { answerOf, everything, request, requestBytes } from '../support/app-client.mjs';
import { sharedServer, worker } from '../support/server.mjs';

const server = sharedServer(test, { workerPath: worker('app'), threads: 1 });
const ask = (start, given) => request(server.addresses[0], start, given);
const json = async (start, given) => JSON.parse((await ask(start, given)).text);

test('method, url, path, version and the client', async (t) => {
  const seen = await json('DELETE /request?a=%20&b=1');
  t.like(seen, {
    method: 'DELETE',
    url: '/request?a=%20&b=1',
    path: '/request',
    query: { a: ' ', b: '1' },
    httpVersion: 'HTTP/1.1',
    body: '',
    params: {},
    ip: '127.0.0.1',
    clientInfo: { fd: -1, address: '127.0.0.1' },
  });
  t.true(Number.isInteger(seen.clientInfo.port) && seen.clientInfo.port > 0);
  t.is((await json('GET /request HTTP/1.0')).httpVersion, 'HTTP/1.0');
});

test('headers come in lower case, repeated ones joined, cookies by a semicolon', async (t) => {
  const { headers } = await json('GET /request', {
    headers: ['X-CaSe: Value', 'X-Twice: 1', 'x-twice: 2', 'Cookie: a=1', 'Cookie: b=2', 'X-Padded: \t p \t'],
  });
  t.like(headers, {
    host: 'localhost',
    'x-case': 'Value',
    'x-twice': '1, 2',
    cookie: 'a=1; b=2',
    'x-padded': 'p',
  });
});

test('a body is text, whatever it is, and bytes beside it', async (t) => {
  const text = '{"a":"\u20ac"}';
  const typed = ['Content-Type: application/json; charset=utf-8'];
  t.is((await json('PUT /request', { body: text, headers: typed })).body, text);
  t.deepEqual(await json('POST /json', { body: text, headers: typed }), { is: { a: '\u20ac' }, body: text });
  const bytes = Buffer.from([0, 255, 13, 10, 0xc3]);
  t.deepEqual((await ask('POST /bytes', { body: bytes })).body, bytes);
});

test('a body may come in chunks, and in pieces', async (t) => {
  const head = Buffer.from(
    'POST /bytes HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n',
  );
  t.is(answerOf(await everything(server.addresses[0], head)).body.toString(), 'hello world');
  const long = 'x'.repeat(150_000);
  t.is((await ask('POST /bytes', { body: long })).text, long);
});

test('falsy JSON stays what it is, an empty body is null, invalid JSON is 400', async (t) => {
  const headers = ['Content-Type: application/json'];
  for (const body of ['0', 'false', 'null', '""']) {
    t.is((await json('POST /json', { body, headers })).is, JSON.parse(body), body);
  }
  t.is((await json('POST /json', { body: '', headers })).is, null);
  const bad = await ask('POST /json', { body: '{', headers });
  t.is(bad.status, 400);
  t.is(bad.text, 'Bad Request');
  // asked for neither as JSON nor as a form
  t.deepEqual(await json('POST /json', { body: '{' }), { body: '{' });
});

test('forms: + is a blank, an invalid escape is 400', async (t) => {
  const headers = ['Content-Type: application/x-www-form-urlencoded'];
  t.deepEqual(await json('POST /form', { body: 'a+b=c%20d&e=%E2%82%AC&f=&g', headers }), {
    'a b': 'c d',
    e: '\u20ac',
    f: '',
    g: '',
  });
  t.is((await ask('POST /form', { body: 'a=%zz', headers })).status, 400);
  t.is(await json('POST /form', { body: 'a=1' }), 'no form');
});

test('all pairs of a query count, and the last one of a name; escapes of invalid text stay', async (t) => {
  const { query } = await json(`GET /request?x=1&y=2&x=3&plus=a+b&flag&bad=%ff&long=${'v'.repeat(3000)}`);
  t.deepEqual(query, { x: '3', y: '2', plus: 'a b', flag: '', bad: '%ff', long: 'v'.repeat(3000) });
});

test('a body over the limit of the app is 413, with a length and in chunks', async (t) => {
  const body = 'x'.repeat(200_001);
  t.is((await ask('POST /bytes', { body })).status, 413);
  const chunked = requestBytes('POST /bytes', ['Transfer-Encoding: chunked']);
  const sent = Buffer.concat([chunked, Buffer.from(`${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`)]);
  t.is(answerOf(await everything(server.addresses[0], sent)).status, 413);
  t.is((await ask('POST /bytes', { body: body.slice(1) })).status, 200);
});

test('parameters are decoded, and do not reach over a /', async (t) => {
  t.deepEqual(await json('GET /users/a%20%E2%82%AC%2Fb'), { id: 'a \u20ac/b' });
  t.deepEqual(await json('GET /request/7/a/b%20c'), { params: { id: '7', rest: 'a/b c' }, path: '/request/7/a/b%20c' });
  t.is((await ask('GET /users/a/b')).status, 404);
  t.is((await ask('GET /users/')).status, 404);
  t.is((await ask('GET /users/%zz')).status, 400);
});

test('middleware matches whole segments, and another encoding cannot bypass it', async (t) => {
  t.is((await ask('GET /guarded/inside')).status, 401);
  t.is((await ask('GET /%67uarded/inside')).status, 401);
  t.is((await ask('GET /guarded/inside?key=wheel')).text, 'inside');
  t.is((await ask('GET /guardednot')).text, 'outside');
});

test('404, 405 with Allow, OPTIONS answered with the available methods', async (t) => {
  const missing = await ask('GET /nothing');
  t.is(missing.status, 404);
  t.is(missing.text, 'Not Found');
  const wrong = await ask('DELETE /users/7');
  t.is(wrong.status, 405);
  t.deepEqual(wrong.headers.allow, ['GET, HEAD, OPTIONS, PUT']);
  const options = await ask('OPTIONS /cors');
  t.is(options.status, 204);
  t.deepEqual(options.headers.allow, ['OPTIONS, POST']);
  t.deepEqual(options.headers['access-control-allow-origin'], ['https://example.org']);
  t.is((await ask('POST /cors', { body: '' })).text, 'posted');
});

test('pipelined requests are answered in order, even if a handler is slow', async (t) => {
  const bytes = Buffer.concat([
    Buffer.from('GET /later HTTP/1.1\r\nHost: a\r\n\r\nGET /users/1 HTTP/1.1\r\nHost: a\r\n\r\n'),
    requestBytes('GET /text'),
  ]);
  const text = (await everything(server.addresses[0], bytes)).toString();
  const bodies = ['later', '{"id":"1"}', '\u20acuro \u{1f3e0}'].map((body) => text.indexOf(`\r\n\r\n${body}`));
  t.deepEqual(
    bodies,
    [...bodies].sort((one, other) => one - other),
  );
  t.true(bodies[0] > 0);
});
