// HTTP/2 over TLS: chosen by the client, with WebSockets as its streams (RFC 8441), and with limits.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import http2 from 'node:http2';
import tls from 'node:tls';
import { promisify } from 'node:util';
import ava from 'ava';

import { Authority } from '../support/certificates.mjs';
import { again, until, within } from '../support/deadline.mjs';
import { ask as askFor, openSession } from '../support/http2.mjs';
import { cancel, FrameConnection, GOAWAY, get, settings } from '../support/http2-frames.mjs';
import { needing } from '../support/needing.mjs';
import { ask, member, open, ownServer, worker } from '../support/server.mjs';
import { connect } from '../support/ws-client.mjs';

/** All of them need certificates. */
const test = needing(ava, 'openssl');
const run = promisify(execFile);
const COMMANDS = { workerPath: worker('commands'), threads: 1, ioThreads: 1 };
let identity;
const authority = Authority.of(test, async (made) => {
  identity = await made.issue();
});
const served = (t, more = {}) => ownServer(t, { ...COMMANDS, tls: identity.files, ...more });
const sessionOf = (t, server) => openSession(t, server.addresses[0], { ca: authority.ca });
const stat = async (server, name) => (await server.call('stats'))[name];

needing(test, 'curl')('ALPN chooses HTTP/2, or HTTP/1.1 for whoever asks for nothing else', async (t) => {
  const server = await served(t);
  const url = `https://${server.addresses[0].replace('127.0.0.1', 'localhost')}/`;
  const out = ['-sS', '-o', '/dev/null', '-w', '%{http_version} %{http_code}', '--cacert', authority.file('ca.pem')];
  t.is((await run('curl', [...out, '--http2', url])).stdout, '2 426');
  t.is((await run('curl', [...out, '--http1.1', url])).stdout, '1.1 426');
});

test('http2: false does not offer HTTP/2', async (t) => {
  const server = await served(t, { tls: { ...identity.files, http2: false } });
  const session = http2.connect(`https://${server.addresses[0]}`, { ca: authority.ca, servername: 'localhost' });
  t.teardown(() => session.destroy());
  const [error] = await within(once(session, 'error'), 'the refusal');
  t.regex(error.message, /alert|ALPN|protocol/i);
});

test('a reload may take HTTP/2 away and give it back', async (t) => {
  const server = await served(t);
  const options = { ca: authority.ca, servername: 'localhost', ALPNProtocols: ['h2', 'http/1.1'] };
  const chosen = async () => {
    const [host, port] = server.addresses[0].split(':');
    const socket = tls.connect({ ...options, host, port: Number(port) });
    t.teardown(() => socket.destroy());
    await within(once(socket, 'secureConnect'), 'the handshake');
    return socket.alpnProtocol;
  };
  t.is(await chosen(), 'h2');
  await server.reloadTls({ ...identity.files, http2: false });
  t.is(await chosen(), 'http/1.1');
  await server.reloadTls(identity.files);
  t.is(await chosen(), 'h2');
});

test('WebSockets and requests share one connection', async (t) => {
  const server = await served(t);
  const session = await sessionOf(t, server);
  t.true(session.remoteSettings.enableConnectProtocol);
  const one = await member(t, server, { http2: session });
  const two = await member(t, server, { http2: session, path: '/x?y=1' });
  t.is(await stat(server, 'connections'), 3, 'the connection and two sockets');
  t.not(one.id, two.id);
  const { ip, path, query, headers } = await ask(two, { cmd: 'openInfo' });
  t.deepEqual(
    { ip, path, query, host: headers.host },
    { ip: '127.0.0.1', path: '/x', query: 'y=1', host: server.addresses[0] },
  );
  await ask(one, { cmd: 'sub', channel: 'c' });
  await ask(two, { cmd: 'pub', channel: 'c', data: 'to all' });
  t.is(await one.text(), 'to all');
  const { status, body } = await askFor(session);
  t.is(status, 426);
  t.is(body, 'this is a WebSocket endpoint');
  for (const length of [0, 1, 16_384, 65_536, 300_000, 2_000_000]) {
    const sent = Buffer.alloc(length, length % 251);
    one.send(sent);
    const { data } = await one.next();
    t.true(data.equals(sent), `${length} bytes`);
  }
});

test('closing handshakes in both directions end the stream, not the connection', async (t) => {
  const server = await served(t);
  const session = await sessionOf(t, server);
  const one = await member(t, server, { http2: session });
  one.close(4001, 'bye');
  t.like(await one.closed(), { code: 4001, finished: true });
  const two = await member(t, server, { http2: session });
  t.true(await server.call('close', two.id, 4002, 'over'));
  t.like(await two.closed(), { code: 4002, reason: 'over', finished: true });
  const three = await member(t, server, { http2: session });
  three.destroy();
  await until(async () => (await stat(server, 'sockets')) === 0, 'the reset stream to be noticed');
  t.false(session.closed);
  await until(async () => (await stat(server, 'connections')) === 1, 'the connection to be alone');
});

test('handleOpen refuses in HTTP/2 too, and selects a subprotocol', async (t) => {
  const server = await served(t, { workerPath: worker('admission'), origins: ['https://a.example'] });
  const session = await sessionOf(t, server);
  const refused = (options) => t.throwsAsync(open(t, server, { http2: session, ...options }));
  t.like(await refused({ path: '/status?arg=402' }), { status: 402, body: 'not today' });
  t.like(await refused({ headers: { origin: 'https://b.example' } }), { status: 403 });
  t.like(await refused({ headers: { 'sec-websocket-version': '12' } }), { status: 426 });
  t.like(await refused({ headers: { ':protocol': 'other' } }), { status: 501 });
  t.like(await refused({ headers: { host: 'elsewhere.example' } }), { status: 400 });
  const client = await open(t, server, { http2: session, path: '/protocol?arg=b', protocols: ['a', 'b'] });
  t.is(client.headers['sec-websocket-protocol'], 'b');
  for (const name of ['upgrade', 'connection', 'sec-websocket-accept']) t.is(client.headers[name], undefined);
  const greeted = await open(t, server, { http2: session, path: '/greet?arg=you' });
  t.is(await greeted.text(), 'hello you');
});

test('a client that does not read delays only itself', async (t) => {
  const limits = { outboxBytes: 64 * 2 ** 20, outboxFrames: 100_000 };
  const server = await served(t, { limits });
  const session = await sessionOf(t, server);
  const slow = await member(t, server, { http2: session });
  const quick = await member(t, server, { http2: session });
  slow.pause();
  const count = 1500;
  t.is(await ask(quick, { cmd: 'flood', who: slow.id, count, prefix: 'm', size: 5000 }), count);
  await until(async () => (await stat(server, 'outboxBytes')) > 1_000_000, 'a full outbox');
  t.is(await ask(quick, { cmd: 'ping' }), 'pong');
  slow.resume();
  for (let index = 0; index < count; index++) t.is((await slow.text()).split(' ')[1], String(index));
  await until(async () => (await stat(server, 'outboxBytes')) === 0, 'an empty outbox');
});

test('stop sends Close frames to the sockets and GOAWAY to the connection', async (t) => {
  const server = await served(t);
  const session = await sessionOf(t, server);
  const client = await member(t, server, { http2: session });
  const away = once(session, 'goaway');
  const closed = once(session, 'close');
  await server.stop();
  t.like(await client.closed(), { code: 1001 });
  await within(Promise.all([away, closed]), 'the end of the connection');
});

test('more streams than the limit are refused, and so are more sockets than connections', async (t) => {
  const server = await served(t, { limits: { http2Streams: 2, connectionsPerAddress: 1 } });
  const session = await sessionOf(t, server);
  t.is(session.remoteSettings.maxConcurrentStreams, 2);
  const client = await member(t, server, { http2: session });
  const error = await t.throwsAsync(open(t, server, { http2: session }));
  t.like(error, { status: 503, body: 'Too many connections from this address' });
  client.close(1000);
  await client.closed();
  // its permit may be free a moment after it
  await again(() => open(t, server, { http2: session }), 'a place for the next socket');
});

test('event streams and sockets share one connection, each with a permit of its own', async (t) => {
  const server = await served(t, { events: '/events', limits: { connectionsPerAddress: 3 } });
  const session = await sessionOf(t, server);
  const listen = async () => {
    const stream = session.request({ ':path': '/events', accept: 'text/event-stream' });
    stream.setEncoding('utf8');
    const [headers] = await within(once(stream, 'response'), 'an event stream');
    return { stream, status: headers[':status'] };
  };
  const [one, two] = [await listen(), await listen()];
  t.deepEqual([one.status, two.status], [200, 200]);
  const socket = await member(t, server, { http2: session });
  t.is(await stat(server, 'connections'), 4);
  t.is((await listen()).status, 503);
  t.is((await askFor(session)).status, 426, 'what takes no permit is still answered');
  one.stream.close(http2.constants.NGHTTP2_CANCEL);
  await until(async () => (await listen()).status === 200, 'a place for the next event stream');
  t.is(await ask(socket, { cmd: 'ping' }), 'pong');
});

test('an unused connection is ended, and so is one that never begins', async (t) => {
  const server = await served(t, { limits: { http2IdleTimeoutMs: 4000, handshakeTimeoutMs: 6000 } });
  const session = await sessionOf(t, server);
  const closed = once(session, 'close');
  const { status } = await askFor(session);
  t.is(status, 426);
  await within(closed, 'the end of an idle connection');
  const silent = await sessionOf(t, server);
  await within(once(silent, 'close'), 'the end of one without a request');
  await until(async () => (await stat(server, 'connections')) === 0, 'both to be gone');
});

test('floods of resets and of headers end the connection that sends them, not others', async (t) => {
  const server = await served(t);
  const neighbour = await connect(t, server.addresses[0], { tls: { ca: authority.ca } });
  const flood = new FrameConnection(t, server.addresses[0], authority.ca).write(settings());
  flood.write(...Array.from({ length: 1000 }, (_, index) => [get(2 * index + 1), cancel(2 * index + 1)]).flat());
  await flood.end();
  t.true(flood.types().includes(GOAWAY));
  const other = await sessionOf(t, server);
  const large = await askFor(other, { 'x-large': 'x'.repeat(60_000) });
  t.true(large.status === 431 || large.reset !== undefined, JSON.stringify(large));
  t.is(await ask(neighbour, { cmd: 'ping' }), 'pong');
  t.is(await stat(server, 'panics'), 0);
});
