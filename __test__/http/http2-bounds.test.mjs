// How much memory an HTTP/2 client can use on the server, and for how long; and the rules of requests, which are those
// of HTTP/1.1.
import { once } from 'node:events';
import ava from 'ava';

import { Authority } from '../support/certificates.mjs';
import { until, within } from '../support/deadline.mjs';
import { folderFor } from '../support/files.mjs';
import { ask, openSession } from '../support/http2.mjs';
import { cancel, FrameConnection, get, settings, widen } from '../support/http2-frames.mjs';
import { needing } from '../support/needing.mjs';
import { ownServer, worker } from '../support/server.mjs';

/** All of them need certificates. */
const test = needing(ava, 'openssl');
let identity;
const authority = Authority.of(test, async (made) => {
  identity = await made.issue();
});
const served = (t, limits, more = {}) =>
  ownServer(t, { workerPath: worker('fetch'), threads: 1, ioThreads: 1, tls: identity.files, limits, ...more });
const sessionOf = (t, server, options) => openSession(t, server.addresses[0], { ca: authority.ca, ...options });
const framesOf = (t, server) => new FrameConnection(t, server.addresses[0], authority.ca);
const stat = async (server, name) => (await server.call('stats'))[name];
const POST = { ':method': 'POST' };

/** The status of the answer to a request whose body does not end. */
async function unfinished(session, headers, body) {
  const stream = session.request({ ...POST, ...headers });
  stream.on('error', () => {});
  stream.write(body);
  const [answer] = await within(once(stream, 'response'), 'an answer');
  stream.close();
  return answer[':status'];
}

test('a body that makes no progress is answered with 408', async (t) => {
  const server = await served(t, { bodyTimeoutMs: 300 });
  const session = await sessionOf(t, server);
  t.is(await unfinished(session, { ':path': '/text' }, 'half'), 408);
  t.is(await unfinished(session, { ':path': '/text', 'content-length': '10' }, 'half'), 408);
  t.is(await unfinished(session, { ':path': '/text', 'content-length': '100000' }, 'half'), 408);
  // on a busy machine these may be late, too
  const unread = async () => (await unfinished(session, { ':path': '/hello' }, 'half')) === 200;
  await until(unread, 'an answer to what nobody waits for');
  const whole = async () => (await ask(session, { ':path': '/text', ...POST }, 'whole')).body === 'whole';
  await until(whole, 'an answer to what comes whole');
});

test('a body that a handler does not read is not slow', async (t) => {
  const server = await served(t, { bodyTimeoutMs: 5000 });
  const session = await sessionOf(t, server);
  const stream = session.request({ ...POST, ':path': '/read-later' });
  stream.setEncoding('utf8');
  // as much as is taken without having been asked for; the rest waits for the handler
  stream.write(Buffer.alloc(65_536));
  await until(async () => (await stat(server, 'bytesIn')) > 65_536, 'the first part');
  stream.end(Buffer.alloc(60_000));
  t.is(
    await unfinished(session, { ':path': '/text' }, 'half'),
    408,
    'one that is read, and for which that is too long',
  );
  const answered = once(stream, 'response');
  await server.call('setKey', 'read', 'now');
  const [answer] = await within(answered, 'an answer');
  t.is(answer[':status'], 200);
  const [body] = await once(stream, 'data');
  t.is(body, '125536');
});

test('a body over the limit is answered with 413, announced or not', async (t) => {
  const server = await served(t, { bodyBytes: 100_000 });
  const session = await sessionOf(t, server);
  const text = 'x'.repeat(100_000);
  t.is((await ask(session, { ':path': '/text', ...POST }, text)).body, text);
  t.is(await unfinished(session, { ':path': '/text' }, `${text}x`), 413);
  t.is(await unfinished(session, { ':path': '/text', 'content-length': '100001' }, 'x'), 413);
  t.is((await ask(session, { ':path': '/hello' })).body, 'hello', 'the connection goes on');
});

test('a large upload arrives whole', async (t) => {
  const length = 40 * 2 ** 20;
  const server = await served(t, { bodyBytes: length });
  const session = await sessionOf(t, server);
  t.is((await ask(session, { ':path': '/count', ...POST }, Buffer.alloc(length, 'piece'))).body, String(length));
});

test('heads are checked as in HTTP/1.1', async (t) => {
  const server = await served(t);
  const session = await sessionOf(t, server);
  const many = (count) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, 'y']));
  for (const [headers, status] of [
    [{ ':method': 'BREW' }, 501],
    [{ ':method': 'get' }, 501],
    [{ ':path': `/${'p'.repeat(9_000)}` }, 414],
    [{ ':path': '/%zz' }, 400],
    [{ ':path': '/a"b' }, 400],
    [{ ':path': '*' }, 400],
    [{ expect: 'wonders' }, 417],
    [many(101), 431],
    [{ ':path': '/hello', ...many(99) }, 200],
    // as browsers send them
    [{ ':path': '/hello', cookie: Array.from({ length: 150 }, (_, index) => `c${index}=1`) }, 200],
  ]) {
    const answer = await ask(session, headers);
    t.is(answer.status, status, JSON.stringify(headers).slice(0, 60));
  }
});

test('HEAD, 204 and 304 have no body', async (t) => {
  const server = await served(t);
  const session = await sessionOf(t, server);
  const head = (path) => ask(session, { ':method': 'HEAD', ':path': path });
  const plain = await head('/plain');
  t.like(plain, { status: 201, body: '', reset: undefined });
  t.is(plain.headers['content-length'], '5');
  t.like(await head('/hello'), { status: 200, body: '', reset: undefined });
  t.like(await ask(session, { ':path': '/no-content' }), { status: 204, body: '', reset: undefined });
});

test('requests and their bytes are counted, and handlers get the version', async (t) => {
  const server = await served(t);
  const session = await sessionOf(t, server);
  await ask(session, { ':path': '/hello' });
  const before = await server.call('stats');
  const { body } = await ask(session, { ':path': '/about' });
  t.is(JSON.parse(body).version, '2.0');
  const after = await until(async () => {
    const stats = await server.call('stats');
    return stats.bytesOut - before.bytesOut >= body.length && stats;
  }, 'the bytes of the answer');
  t.is(after.requests, before.requests + 1);
  t.true(after.bytesIn > before.bytesIn);
});

test('an answer of which the peer takes nothing ends its stream', async (t) => {
  const folder = folderFor(t, { 'large.txt': 'x'.repeat(60_000) });
  const server = await served(t, { writeTimeoutMs: 300 }, { static: folder });
  const session = await sessionOf(t, server, { settings: { initialWindowSize: 1 } });
  const stream = session.request({ ':path': '/large.txt' });
  stream.on('error', () => {});
  await within(once(stream, 'close'), 'the end of the stream');
  t.is(stream.rstCode, 8);
  t.false(session.closed);
});

test('a peer that takes nothing at all ends its connection', async (t) => {
  const server = await served(t, { writeTimeoutMs: 300 });
  const slow = framesOf(t, server).write(settings([4, 2 ** 31 - 1]), widen(0, 2 ** 30));
  await slow.settle();
  slow.socket.pause();
  slow.write(get(1, '/endless'));
  await until(async () => (await stat(server, 'connections')) === 0, 'the end of the connection');
  t.pass();
});

test('an event stream keeps its permit until the peer has taken all of it', async (t) => {
  const server = await served(t, undefined, { workerPath: worker('events'), events: true });
  const session = await sessionOf(t, server, { settings: { initialWindowSize: 1000 } });
  const stream = session.request({ ':path': '/events?name=slow', accept: 'text/event-stream' });
  stream.on('error', () => {});
  await within(once(stream, 'response'), 'an event stream');
  const opened = await until(() => server.call('getKey', 'open slow'), 'the socket');
  const { socketId } = JSON.parse(new TextDecoder().decode(opened));
  for (let count = 0; count < 10; count++) await server.call('send', socketId, 'z'.repeat(2000));
  await server.call('close', socketId, 4000, 'over');
  await until(async () => (await stat(server, 'closed')) === 1, 'the end of the socket');
  await until(async () => (await stat(server, 'outboxBytes')) === 0, 'nothing left of the socket');
  t.is(await stat(server, 'connections'), 2, 'the connection, and what is left of the stream');
  stream.close(8);
  await until(async () => (await stat(server, 'connections')) === 1, 'the end of the stream');
});

test('a client that cancels request after request is disconnected, even if each was begun', async (t) => {
  const server = await served(t, { controlFramesBurst: 200, controlFramesPerSecond: 1 });
  const neighbour = await sessionOf(t, server);
  const flood = framesOf(t, server).write(settings());
  let id = 1;
  for (let round = 0; round < 15 && !flood.closed; round++) {
    const ids = Array.from({ length: 20 }, () => (id += 2));
    flood.write(...ids.map((one) => get(one, '/never')));
    await flood.settle();
    flood.write(...ids.map(cancel));
    await flood.settle();
  }
  await flood.end();
  t.true(id > 2 * 200, 'so many are forgiven');
  t.is((await ask(neighbour, { ':path': '/hello' })).body, 'hello');
  await until(async () => (await stat(server, 'connections')) === 1, 'the neighbour to be alone');
});
