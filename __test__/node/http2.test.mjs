// Request listeners of Node over HTTP/2 and over TLS: requests and answers in the form of HTTP/1.
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
let identity;
const authority = Authority.of(test, async (made) => {
  identity = await made.issue();
});

async function served(t) {
  const server = await ownServer(t, { workerPath: worker('node-wire'), threads: 1, tls: identity.files });
  const session = await openSession(t, server.addresses[0], { ca: authority.ca });
  return { server, session };
}

test('a request has the form of HTTP/1, with httpVersion 2.0', async (t) => {
  const { session } = await served(t);
  const answer = await ask(session, { ':path': '/facts?a=%zz', 'x-one': ['a', 'b'], cookie: ['a=1', 'b=2'] });
  t.is(answer.status, 200);
  t.is(answer.headers['content-length'], String(answer.body.length));
  t.is(answer.headers.connection, undefined);
  const facts = JSON.parse(answer.body);
  t.is(facts.version, '2.0');
  t.is(facts.url, '/facts?a=%zz');
  t.is(facts.encrypted, true);
  t.true(facts.headers.includes('host'));
  t.false(facts.headers.some((name) => name.startsWith(':')));
});

test('bodies in both directions, chunks, trailers and answers without a body', async (t) => {
  const { session } = await served(t);
  const body = 'large '.repeat(100_000);
  const echoed = await ask(session, { ':path': '/echo', ':method': 'POST' }, body);
  t.true(echoed.body === body);
  t.is(echoed.headers['transfer-encoding'], undefined);
  t.is((await ask(session, { ':path': '/chunks' })).body, 'ab');
  const head = await ask(session, { ':path': '/short', ':method': 'HEAD' });
  t.deepEqual([head.status, head.body, head.headers['content-length']], [200, '', '10']);
  const stream = session.request({ ':path': '/trailers' });
  const trailers = once(stream, 'trailers');
  stream.resume();
  t.is((await within(trailers, 'the trailers'))[0]['x-sum'], 'abc');
  t.is((await ask(session, { ':path': '/none' })).status, 404);
});

test('early hints are not sent', async (t) => {
  const { session } = await served(t);
  const stream = session.request({ ':path': '/hints' });
  const informational = [];
  stream.on('headers', (headers) => informational.push(headers[':status']));
  let body = '';
  stream.setEncoding('utf8').on('data', (text) => {
    body += text;
  });
  await within(once(stream, 'end'), 'the answer');
  t.is(body, 'hinted');
  t.deepEqual(informational, []);
});

test('an invalid message, or one shorter than its length, is not sent', async (t) => {
  const { session } = await served(t);
  await t.throwsAsync(ask(session, { ':path': '/short' }), { code: 'ERR_HTTP2_STREAM_ERROR' });
  t.is((await ask(session, { ':path': '/smuggle' })).status, 500);
  t.is((await ask(session, { ':path': '/hello' })).body, 'hello');
});

test('a listener learns that a client cancelled its request', async (t) => {
  const { session } = await served(t);
  const stream = session.request({ ':path': '/streams' });
  stream.on('error', () => undefined);
  await within(once(stream, 'response'), 'the head');
  stream.close();
  const events = [];
  await until(async () => {
    events.push(...JSON.parse((await ask(session, { ':path': '/seen' })).body));
    return events.some(([event]) => event === 'res close');
  }, 'the close');
  t.true(events.some(([event]) => event === 'req aborted'));
});

test('HTTP/1.1 over TLS', async (t) => {
  const { server } = await served(t);
  const { port } = connectOptions(server.addresses[0]);
  const target = { host: '127.0.0.1', port, servername: 'localhost', path: '/facts', ca: authority.ca, agent: false };
  const [response] = await within(once(https.get(target), 'response'), 'an answer');
  const facts = JSON.parse(Buffer.concat(await response.toArray()).toString());
  t.deepEqual([facts.version, facts.encrypted], ['1.1', true]);
  const asked = https.get({ ...target, path: '/sockets' });
  const [sockets] = await within(once(asked, 'response'), 'an answer');
  const [codes] = JSON.parse(Buffer.concat(await sockets.toArray()).toString());
  t.true(codes.some(([name, code]) => name === 'certificate' && code === 'ERR_MILLRACE_NO_NET_SOCKET'));
});
