// TLS of `createSplice` and `millrace splice`: certificates of servers and clients.
import { once } from 'node:events';
import net from 'node:net';
import secure from 'node:tls';
import ava from 'ava';
import { WebSocketServer } from 'ws';

import { Authority } from '../support/certificates.mjs';
import { folderWith, Millrace } from '../support/cli.mjs';
import { until, within } from '../support/deadline.mjs';
import { createSplice } from '../support/millrace-splice.mjs';
import { needing } from '../support/needing.mjs';
import { echoTarget, reach, Session } from '../support/splice-ws.mjs';

/** All of them need certificates. */
const test = needing(ava, 'openssl');
/** A TLS alert record. */
const ALERT = 21;
const LOCAL = '127.0.0.1:0';
let identity;
let alice;
let untrusted;
const authority = Authority.of(test, async (made) => {
  identity = await made.issue();
  alice = await made.issue({ client: true, subject: '/CN=alice' });
});
Authority.of(
  test,
  async (made) => {
    untrusted = await made.issue({ client: true, subject: '/CN=alice' });
  },
  'Somebody else',
);

async function made(t, options) {
  const server = await createSplice({ bind: LOCAL, privateTargets: true, ioThreads: 1, ...options });
  t.teardown(() => server.stop({ drain: 0 }));
  return server;
}

const open = (t, address, { cert, key } = {}, more = {}) =>
  Session.open(t, address, { secure: true, ca: authority.ca, cert, key, ...more });

/** How the TLS handshake of a client ends: with its first bytes, an error, or the end of the connection. */
async function tlsOutcome(t, address, { cert, key } = {}, more = {}) {
  const { hostname: host, port } = new URL(`tcp://${address}`);
  const socket = secure.connect({ host, port: Number(port), ca: authority.ca, cert, key, ...more });
  t.teardown(() => socket.destroy());
  const failed = new Promise((resolve) => socket.once('error', ({ code }) => resolve(code)));
  const ended = new Promise((resolve) => socket.once('close', () => resolve('closed')));
  const answered = new Promise((resolve) => socket.once('data', (bytes) => resolve(String(bytes).slice(0, 12))));
  socket.on('secureConnect', () => socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'));
  return within(Promise.race([failed, answered, ended]), 'an outcome');
}

test('with tls.ca, the handshake fails for clients without a certificate of that authority', async (t) => {
  const target = await echoTarget(t);
  const server = await made(t, { tls: { ...identity.files, ca: authority.file('ca.pem') } });
  const [address] = server.addresses;
  const session = await open(t, address, alice);
  const { index } = await reach(session, target);
  t.is((await session.echo(index, 'hello')).text, 'hello');
  for (const [who, certificate] of [
    ['none', undefined],
    ['of another authority', untrusted],
  ]) {
    t.regex(await tlsOutcome(t, address, certificate, { maxVersion: 'TLSv1.2' }), /^(?:ERR_SSL_|ECONNRESET)/, who);
    // here the client first believes that the handshake succeeded
    t.regex(await tlsOutcome(t, address, certificate), /^(?:ERR_SSL_|ECONNRESET|closed)/, who);
    await t.throwsAsync(open(t, address, certificate), undefined, who);
  }
  t.regex(await tlsOutcome(t, address, alice), /^HTTP\/1\.1 400/, 'with one it is answered');
  const count = () => server.stats().failedHandshakes;
  await until(
    () => count() >= 6,
    () => `six failed handshakes, not ${count()}`,
  );
});

test("client certificates are optional only with 'optional'", async (t) => {
  const tls = { ...identity.files, ca: authority.ca, clientCertificates: 'optional' };
  const { addresses } = await made(t, { tls });
  t.like(await (await open(t, addresses[0])).call('nothing'), { error: { code: 4003 } });
});

test('a listener may be plain beside others', async (t) => {
  const { addresses } = await made(t, { bind: [LOCAL, { address: LOCAL, tls: false }], tls: identity.files });
  t.like(await (await open(t, addresses[0])).call('nothing'), { error: { code: 4003 } });
  t.like(await (await Session.open(t, addresses[1])).call('nothing'), { error: { code: 4003 } });
});

test('renewed certificates are loaded, and clients still need theirs', async (t) => {
  const server = await made(t, { tls: identity.files });
  const [address] = server.addresses;
  const before = await open(t, address);
  await server.reloadTls({ ...identity.files, ca: authority.file('ca.pem') });
  await t.throwsAsync(open(t, address));
  t.like(await (await open(t, address, alice)).call('nothing'), { error: { code: 4003 } });
  t.like(await before.call('nothing'), { error: { code: 4003 } }, 'a session that is up stays');
  await t.throwsAsync(server.reloadTls({ ca: 'ca.pem' }), { instanceOf: TypeError });
});

test('HTTP without TLS is closed, or answered with 400', async (t) => {
  const { addresses } = await made(t, { tls: identity.files });
  const socket = net.connect(Number(addresses[0].split(':')[1]), '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.on('error', () => {});
  let answer = '';
  socket.on('data', (bytes) => {
    answer += bytes.toString('latin1');
  });
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await within(once(socket, 'close'), 'the end of the connection');
  // an alert of TLS, if it is not HTTP
  t.true(answer === '' || answer.charCodeAt(0) === ALERT || answer.startsWith('HTTP/1.1 400'), answer);
});

test('wss: targets need a trusted certificate', async (t) => {
  const { cert, key } = identity;
  const https = (await import('node:https')).createServer({ cert, key });
  const server = new WebSocketServer({ server: https });
  server.on('connection', (socket) => socket.on('message', (data) => socket.send(data, { binary: false })));
  https.listen(0, '127.0.0.1');
  await once(https, 'listening');
  t.teardown(() => {
    for (const client of server.clients) client.terminate();
    https.close();
  });
  const url = `wss://127.0.0.1:${https.address().port}/`;
  const strict = await Session.open(t, (await made(t)).addresses[0]);
  t.like(await strict.call('connect', { url }), { error: { code: 4007 } });
  const session = await Session.open(t, (await made(t, { targetCa: authority.file('ca.pem') })).addresses[0]);
  t.is((await session.call('connect', { url })).index, 0);
  t.is((await session.echo(0, 'secret')).text, 'secret');
});

test('the command takes the same files', async (t) => {
  const target = await echoTarget(t);
  const files = [
    '--tls-cert',
    identity.certFile,
    `--tls-key=${identity.keyFile}`,
    '--tls-ca',
    authority.file('ca.pem'),
  ];
  const run = new Millrace(t, ['splice', '--listen', LOCAL, ...files], { cwd: folderWith(t, {}) });
  const [, address] = await run.prints(/Listening on wss:\/\/(\S+)\n/);
  const session = await open(t, address, alice);
  const { index } = await reach(session, target);
  t.is((await session.echo(index, 'hello')).text, 'hello');
  t.regex(await tlsOutcome(t, address, undefined, { maxVersion: 'TLSv1.2' }), /^(?:ERR_SSL_|ECONNRESET)/);
  await t.throwsAsync(open(t, address));
  await t.throwsAsync(open(t, address, untrusted));
});
