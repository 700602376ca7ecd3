// CONNECT and TRACE: answered by Rust, unless a listener passes them on.
import test from 'ava';

import { Authority } from '../support/certificates.mjs';
import { request, talk } from '../support/http-connection.mjs';
import { ask, openSession } from '../support/http2.mjs';
import { ownServer, worker } from '../support/server.mjs';

const OPTIONS = { workerPath: worker('fetch'), threads: 1, ioThreads: 1 };
const ALLOWED = 'GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH';
const CONNECT = request('CONNECT example.com:443 HTTP/1.1', ['Host: example.com:443'], { host: null });
const TRACE = request('TRACE /about HTTP/1.1');
const raw = { bind: { address: '127.0.0.1:0', rawMethods: true } };
let identity;
const authority = Authority.of(test, async (made) => {
  identity = await made.issue();
});

test('CONNECT is refused with 501, and bytes after it are not a request', async (t) => {
  const server = await ownServer(t, OPTIONS);
  const client = talk(t, server.addresses[0]).write(Buffer.concat([CONNECT, request('GET /hello HTTP/1.1')]));
  const answer = await client.answer();
  t.is(answer.status, 501, answer.body);
  t.is(answer.headers.connection, 'close');
  t.is(await client.closed(), '');
});

test('TRACE is answered with 405 and the methods there are, and the connection stays', async (t) => {
  const server = await ownServer(t, OPTIONS);
  const client = talk(t, server.addresses[0]).write(Buffer.concat([TRACE, request('GET /hello HTTP/1.1')]));
  const answer = await client.answer();
  t.is(answer.status, 405, answer.body);
  t.is(answer.headers.allow, ALLOWED);
  t.notRegex(answer.body, /localhost/, 'nothing of the request comes back');
  t.is((await client.answer()).body, 'hello');
});

for (const [name, options] of Object.entries({
  'nothing but WebSockets is': { workerPath: worker('echo') },
  'files are': { static: '.' },
  'event streams open': { events: '/about' },
  'the status is': { stats: '/about' },
})) {
  test(`TRACE is answered with 405 where ${name}`, async (t) => {
    const server = await ownServer(t, { ...OPTIONS, ...options });
    const answer = await talk(t, server.addresses[0]).write(TRACE).answer();
    t.is(answer.status, 405);
    t.is(answer.headers.allow, ALLOWED);
  });
}

test('over HTTP/2 they get the same answers', async (t) => {
  const server = await ownServer(t, { ...OPTIONS, tls: identity.files });
  const session = await openSession(t, server.addresses[0], { ca: authority.ca });
  const traced = await ask(session, { ':method': 'TRACE', ':path': '/about' });
  t.is(traced.status, 405);
  t.is(traced.headers.allow, ALLOWED);
  const { port } = new URL(`https://${server.addresses[0]}`);
  const connected = await ask(session, { ':method': 'CONNECT', ':authority': `localhost:${port}`, ':path': undefined });
  t.is(connected.status, 501);
});

test('rawMethods passes both on to the worker', async (t) => {
  const server = await ownServer(t, { ...OPTIONS, ...raw });
  const traced = await talk(t, server.addresses[0]).write(TRACE).answer();
  t.is(traced.status, 200, traced.body);
  t.like(JSON.parse(traced.body), { method: 'TRACE', url: 'http://localhost/about' });
  const client = talk(t, server.addresses[0]).write(CONNECT);
  const connected = await client.answer();
  t.is(connected.status, 404);
  t.is(connected.body, 'no such page');
  t.is(connected.headers.connection, 'close');
});
