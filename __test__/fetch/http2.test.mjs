// Requests to `fetch` handlers and to apps as streams of HTTP/2: the same request, body, limits and failures.
import { once } from 'node:events';
import https from 'node:https';
import ava from 'ava';

import { Authority } from '../support/certificates.mjs';
import { until, within } from '../support/deadline.mjs';
import { connectOptions } from '../support/http.mjs';
import { ask, openSession } from '../support/http2.mjs';
import { needing } from '../support/needing.mjs';
import { ownServer, worker } from '../support/server.mjs';

/** All of them need certificates. */
const test = needing(ava, 'openssl');
const LIMIT = 4_000_000;
let identity;
const authority = Authority.of(test, async (made) => {
  identity = await made.issue();
});

async function served(t, more = {}) {
  const limits = { bodyBytes: LIMIT };
  const server = await ownServer(t, {
    workerPath: worker('fetch'),
    threads: 1,
    tls: identity.files,
    limits,
    ...more,
  });
  const session = await openSession(t, server.addresses[0], { ca: authority.ca });
  return { server, session, post: (path, body) => ask(session, { ':path': path, ':method': 'POST' }, body) };
}

/** What `/about` says in answer to a request over HTTP/1.1. */
async function about(address, headers) {
  const { port } = connectOptions(address);
  const target = { host: '127.0.0.1', port, servername: 'localhost', path: '/about?x=1' };
  const request = https.get({ ...target, ca: authority.ca, headers, agent: false });
  const [response] = await within(once(request, 'response'), 'an answer');
  return JSON.parse(Buffer.concat(await response.toArray()).toString());
}

test('a request says where it came from, in HTTP/1.1 too, and its cookies are joined', async (t) => {
  const { server, session } = await served(t);
  t.like(await about(server.addresses[0], { host: 'a.example' }), {
    url: 'https://a.example/about?x=1',
    encrypted: true,
    version: '1.1',
  });
  const { status, body } = await ask(session, { ':path': '/about?x=1', cookie: ['a=1', 'b=2'], 'x-one': '1' });
  t.is(status, 200);
  // the client says the name that it expects in the certificate
  const host = server.addresses[0].replace('127.0.0.1', 'localhost');
  const { headers, ...said } = JSON.parse(body);
  t.deepEqual(said, {
    method: 'GET',
    url: `https://${host}/about?x=1`,
    isRequest: true,
    ip: '127.0.0.1',
    version: '2.0',
    encrypted: true,
  });
  t.like(Object.fromEntries(headers), { cookie: 'a=1; b=2', 'x-one': '1', host });
});

test('bodies of every size come whole, and go back whole', async (t) => {
  const { post } = await served(t);
  for (const length of [0, 1, 16_384, 16_385, 70_000, 700_000, 3_000_000]) {
    const text = 'abcdefg'.repeat(Math.ceil(length / 7)).slice(0, length);
    t.is((await post('/echo', text)).body, text, `${length} bytes, as they come`);
    t.is((await post('/text', text)).body, text, `${length} bytes, all at once`);
    t.is((await post('/count', text)).body, String(length));
  }
});

test('many streams at once do not mix', async (t) => {
  const { post } = await served(t);
  const texts = Array.from({ length: 60 }, (_, index) => `${index} `.repeat(20_000));
  const answers = await Promise.all(texts.map((text) => post('/echo', text)));
  for (const [index, { body }] of answers.entries()) t.true(body === texts[index], `stream ${index}`);
});

test('an unread body blocks only its own stream', async (t) => {
  const { session, post } = await served(t, { limits: { bodyBytes: 64 * 2 ** 20, answerTimeoutMs: 60_000 } });
  const stream = session.request({ ':path': '/never', ':method': 'POST' }, { endStream: false });
  t.teardown(() => stream.destroy());
  stream.on('error', () => {});
  stream.write(Buffer.alloc(4 * 2 ** 20));
  t.is((await post('/text', 'beside it')).body, 'beside it');
  t.true(stream.writableLength > 0, 'all of it went somewhere');
});

test('a body over the limit is refused with 413, announced or not', async (t) => {
  const { session, post } = await served(t);
  const headers = { ':path': '/length', ':method': 'POST', 'content-length': String(LIMIT + 1) };
  const announced = session.request(headers, { endStream: false });
  announced.on('error', () => {});
  const [answer] = await within(once(announced, 'response'), 'the refusal');
  t.is(answer[':status'], 413);
  announced.close();
  t.is((await post('/length', Buffer.alloc(LIMIT + 100_000))).status, 413);
  t.is((await post('/length', Buffer.alloc(LIMIT))).body, String(LIMIT));
});

test('a stream that is reset aborts the signal of its request alone', async (t) => {
  const { session } = await served(t);
  const aborts = async () => JSON.parse((await ask(session, { ':path': '/aborts' })).body);
  const [leaving, staying] = ['/abort', '/later?ms=500'].map((path) => session.request({ ':path': path }));
  for (const stream of [leaving, staying]) stream.on('error', () => {});
  const answered = once(staying, 'response');
  await until(async () => (await aborts()).includes('asked'), 'the handler');
  leaving.close(8);
  await until(async () => (await aborts()).includes('AbortError'), 'the signal');
  t.is((await within(answered, 'the other answer'))[0][':status'], 200);
  staying.resume();
});

test('HEAD, no content, pieces, failures', async (t) => {
  const { session } = await served(t);
  const get = (path, more) => ask(session, { ':path': path, ...more });
  t.like(await get('/plain', { ':method': 'HEAD' }), { status: 201, body: '' });
  t.like(await get('/no-content'), { status: 204, body: '' });
  t.is((await get('/pieces')).body, 'one two three');
  t.deepEqual((await get('/plain')).headers['set-cookie'], ['a=1', 'b=2']);
  for (const path of ['/throw', '/reject', '/nothing', '/split', '/used', '/fails-first']) {
    t.is((await get(path)).status, 500, path);
  }
  await t.throwsAsync(get('/breaks'), { code: 'ERR_HTTP2_STREAM_ERROR' });
  t.is((await get('/hello')).body, 'hello');
});

test('an app answers the same, without the headers of a connection', async (t) => {
  const { session } = await served(t, { workerPath: worker('app') });
  const get = (path, more) => ask(session, { ':path': path, ...more });
  const seen = JSON.parse((await get('/request?a=1', { cookie: ['a=1', 'b=2'] })).body);
  t.like(seen, { method: 'GET', url: '/request?a=1', httpVersion: 'HTTP/2.0', protocol: 'https', secure: true });
  t.is(seen.headers.cookie, 'a=1; b=2');
  const failed = await get('/throws');
  t.like(failed, { status: 500, body: 'Internal Server Error' });
  for (const name of ['connection', 'keep-alive', 'transfer-encoding']) t.is(failed.headers[name], undefined);
  t.is((await get('/stream/300000')).body.length, 300_000);
  t.like(await get('/users/7', { ':method': 'DELETE' }), { status: 405 });
  t.is((await get('/text')).body, '\u20acuro \u{1f3e0}');
});

test('an app over HTTP/2: the host, the type of a body without a length, and no status message', async (t) => {
  const { session } = await served(t, { workerPath: worker('middlewares') });
  const told = await ask(session, { ':path': '/protocol?a=b', ':authority': 'example.org:8443' });
  t.deepEqual(JSON.parse(told.body), ['https', true, '127.0.0.1', 'example.org', '/protocol?a=b']);
  const named = await ask(session, { ':path': '/message' });
  t.is(named.status, 200);
  t.is(named.body, '{}');
  const typed = await ask(
    session,
    { ':path': '/type', ':method': 'POST', 'content-type': 'application/json' },
    Buffer.from('{}'),
  );
  t.is(typed.body, '["json",false]');
});
