// Misbehaving clients on TLS ports: they speak another protocol, stop halfway, read slowly, or leave without
// close_notify.
import net from 'node:net';
import tls from 'node:tls';
import ava from 'ava';

import { Authority } from '../support/certificates.mjs';
import { until, within } from '../support/deadline.mjs';
import { connectOptions, handshakeBytes } from '../support/http.mjs';
import { needing } from '../support/needing.mjs';
import { ask, failedHandshakes, ownServer, worker } from '../support/server.mjs';
import { connect } from '../support/ws-client.mjs';

/** All of them need certificates. */
const test = needing(ava, 'openssl');
const COMMANDS = { workerPath: worker('commands'), threads: 1, ioThreads: 1 };
let identity;
const authority = Authority.of(test, async (made) => {
  identity = await made.issue();
});
const secure = () => ({ ca: authority.ca });

/** Sends bytes without TLS; resolves with everything that came back when the server has ended the connection. */
function inClear(t, address, bytes, { end = false } = {}) {
  const socket = net.connect(connectOptions(address));
  t.teardown(() => socket.destroy());
  const answer = new Promise((resolve) => {
    let seen = '';
    socket.setEncoding('latin1');
    socket.on('data', (chunk) => (seen += chunk));
    socket.on('error', () => {});
    socket.on('close', () => resolve(seen));
  });
  if (end) socket.end(bytes);
  else socket.write(bytes);
  return within(answer, 'the end of the connection');
}

test('an http: request on a TLS port gets an error that says so', async (t) => {
  const server = await ownServer(t, { ...COMMANDS, tls: identity.files });
  const answer = await inClear(t, server.addresses[0], handshakeBytes(), { end: true });
  t.regex(answer, /^HTTP\/1\.1 400 Bad Request\r\n/);
  t.regex(answer, /\r\n\r\nThis port speaks TLS: use https: or wss:\.\r\n$/);
  await failedHandshakes(server, 1);
});

test('bytes that only look like TLS are refused, and other connections are not affected', async (t) => {
  const server = await ownServer(t, { ...COMMANDS, tls: identity.files });
  const [address] = server.addresses;
  const neighbour = await connect(t, address, { tls: secure() });
  for (const bytes of [
    Buffer.from('160301ffff', 'hex'),
    Buffer.from(`16030100c8${'01'.repeat(200)}`, 'hex'),
    Buffer.concat([Buffer.from('1603010005', 'hex'), Buffer.from('0100000100', 'hex')]),
    Buffer.alloc(70_000, 22),
  ]) {
    await inClear(t, address, bytes, { end: true });
  }
  await failedHandshakes(server, 4);
  t.is(await ask(neighbour, { cmd: 'ping' }), 'pong');
  t.deepEqual(await server.errors(), []);
});

test('the handshake timeout includes the TLS handshake', async (t) => {
  const limits = { handshakeTimeoutMs: 300 };
  const server = await ownServer(t, { ...COMMANDS, limits, tls: identity.files });
  const [address] = server.addresses;
  t.is(await inClear(t, address, ''), '', 'silence');
  t.is(await inClear(t, address, Buffer.from('1603010200', 'hex')), '', 'the beginning of a ClientHello');
  await failedHandshakes(server, 2);
  const socket = tls.connect({ ...connectOptions(address), ...secure() });
  t.teardown(() => socket.destroy());
  socket.on('error', () => {});
  socket.resume();
  await within(new Promise((resolve) => socket.once('close', resolve)), 'the end of a connection without a request');
  await until(async () => (await server.call('stats')).connections === 0, 'the last connection to be gone');
});

test('a socket ends when its client sends only close_notify, and when the client is destroyed', async (t) => {
  const server = await ownServer(t, { ...COMMANDS, tls: identity.files });
  for (const leave of ['end', 'destroy']) {
    const client = await connect(t, server.addresses[0], { tls: secure() });
    t.is(await ask(client, { cmd: 'ping' }), 'pong');
    client[leave]();
    await until(async () => (await server.call('stats')).sockets === 0, `the socket's end after ${leave}`);
  }
  t.is((await server.call('stats')).panics, 0);
});

test('a slow reader over TLS gets everything when it reads, and does not delay others', async (t) => {
  const limits = { outboxBytes: 64 * 2 ** 20, outboxFrames: 100_000 };
  const server = await ownServer(t, { ...COMMANDS, limits, tls: identity.files });
  const [address] = server.addresses;
  const slow = await connect(t, address, { tls: secure() });
  const quick = await connect(t, address, { tls: secure() });
  const { id } = await ask(slow, { cmd: 'whoami' });
  slow.pause();
  const count = 3000;
  t.is(await ask(quick, { cmd: 'flood', who: id, count, prefix: 'm', size: 5000 }), count);
  await until(async () => (await server.call('stats')).outboxBytes > 1_000_000, 'a full outbox');
  slow.resume();
  for (let index = 0; index < count; index++) t.is((await slow.text()).split(' ')[1], String(index));
  await until(async () => (await server.call('stats')).outboxBytes === 0, 'an empty outbox');
  t.is(await ask(slow, { cmd: 'ping' }), 'pong');
});

test('a reader that never reads is closed when its outbox is full', async (t) => {
  const server = await ownServer(t, {
    ...COMMANDS,
    limits: { outboxBytes: 200_000, closeTimeoutMs: 600_000 },
    tls: identity.files,
  });
  const [address] = server.addresses;
  const slow = await connect(t, address, { tls: secure() });
  const quick = await connect(t, address, { tls: secure() });
  const { id } = await ask(slow, { cmd: 'whoami' });
  slow.pause();
  await ask(quick, { cmd: 'flood', who: id, count: 4000, prefix: 'm', size: 5000 });
  await until(async () => (await server.call('stats')).overflowCloses === 1, 'the close');
  slow.resume();
  await slow.closed();
  t.is(slow.closeFrame.code, 1013);
});

test('many frames in one record, and one frame across many records', async (t) => {
  const server = await ownServer(t, { ...COMMANDS, limits: { unhandledEvents: 2 }, tls: identity.files });
  const client = await connect(t, server.addresses[0], { tls: secure() });
  const count = 2000;
  for (let index = 0; index < count; index++) client.send(`m${index}`);
  for (let index = 0; index < count; index++) t.is(await client.text(), `m${index}`);
});
