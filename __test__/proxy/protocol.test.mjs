// The PROXY protocol, versions 1 and 2: the header names the client, and connections without a header are closed.
import net from 'node:net';
import test from 'ava';

import { Authority } from '../support/certificates.mjs';
import { within } from '../support/deadline.mjs';
import { connectOptions, handshakeBytes, parseHead } from '../support/http.mjs';
import { needing } from '../support/needing.mjs';
import { ask, counted, failedHandshakes, ownServer, worker } from '../support/server.mjs';
import { connect } from '../support/ws-client.mjs';

const OPTIONS = { workerPath: worker('admission'), threads: 1, ioThreads: 1, trustProxy: ['127.0.0.1'] };
const proxied = (more) => ({ bind: { address: '127.0.0.1:0', proxyProtocol: true, ...more } });
let identity;
const authority = Authority.of(test, async (made) => {
  identity = await made.issue();
});

const V1 = Buffer.from('PROXY TCP4 192.0.2.7 192.0.2.1 5000 443\r\n');
/** A header of version 2. */
function v2(command, family, body) {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(body.length);
  return Buffer.concat([Buffer.from('0d0a0d0a000d0a515549540a', 'hex'), Buffer.from([command, family]), length, body]);
}
const V4_BODY = Buffer.from('c0000208c000020113880050', 'hex');
const V6_BODY = Buffer.from(`20010db8${'00'.repeat(11)}07${'00'.repeat(16)}13880050`, 'hex');

/** Sends each piece by itself; resolves with the answer, up to the end of the connection or `enough` bytes. */
function exchange(t, address, pieces, { enough = Number.POSITIVE_INFINITY, localAddress } = {}) {
  const socket = net.connect({ ...connectOptions(address), localAddress, noDelay: true });
  t.teardown(() => socket.destroy());
  const answer = new Promise((resolve) => {
    const chunks = [];
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      if (Buffer.concat(chunks).length >= enough) resolve(Buffer.concat(chunks));
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(Buffer.concat(chunks)));
  });
  const send = async () => {
    for (const piece of pieces) {
      socket.write(piece);
      await new Promise(setImmediate);
    }
  };
  return within(Promise.all([answer, send()]), 'an answer or the end').then(([bytes]) => bytes);
}

/** The `ip` that handleOpen was given. */
async function ipOf(t, address, pieces) {
  const bytes = await exchange(t, address, pieces, { enough: 250 });
  const head = parseHead(bytes);
  t.is(head?.status, 101, bytes.toString('latin1'));
  const text = bytes.subarray(head.length).toString('utf8');
  return /"ip":"([^"]*)"/.exec(text)[1];
}

const REQUEST = handshakeBytes({ path: '/inspect' });

for (const [name, header, ip] of [
  ['version 1', V1, '192.0.2.7'],
  ['version 1 over IPv6', Buffer.from('PROXY TCP6 2001:db8::7 2001:db8::1 5000 443\r\n'), '2001:db8::7'],
  ['version 1 without a client', Buffer.from('PROXY UNKNOWN\r\n'), '127.0.0.1'],
  ['version 2', v2(0x21, 0x11, V4_BODY), '192.0.2.8'],
  ['version 2 over IPv6', v2(0x21, 0x21, V6_BODY), '2001:db8::7'],
  ['version 2 with additions', v2(0x21, 0x11, Buffer.concat([V4_BODY, Buffer.alloc(600, 4)])), '192.0.2.8'],
  ['version 2 from the proxy itself', v2(0x20, 0x00, Buffer.alloc(0)), '127.0.0.1'],
]) {
  test(`${name}, in one piece with the request after it, and byte by byte`, async (t) => {
    const server = await ownServer(t, { ...OPTIONS, ...proxied() });
    const [address] = server.addresses;
    t.is(await ipOf(t, address, [header, REQUEST]), ip);
    t.is(await ipOf(t, address, [Buffer.concat([header, REQUEST])]), ip);
    t.is(await ipOf(t, address, [...header].map((byte) => Buffer.of(byte)).concat(REQUEST)), ip);
  });
}

test('missing and malformed headers, and addresses that are not trusted, are closed without an answer', async (t) => {
  const server = await ownServer(t, { ...OPTIONS, ...proxied(), limits: { handshakeTimeoutMs: 5000 } });
  const [address] = server.addresses;
  for (const bytes of [
    REQUEST,
    Buffer.from('PROXY TCP4 192.0.2.7 192.0.2.1 5000\r\n'),
    Buffer.from(`PROXY UNKNOWN ${'x'.repeat(200)}`),
    v2(0x21, 0x11, V4_BODY.subarray(0, 11)),
    v2(0x21, 0x11, Buffer.alloc(60_000)),
    v2(0x21, 0x11, V4_BODY).subarray(0, 20),
  ]) {
    t.is((await exchange(t, address, [bytes])).length, 0, bytes.toString('latin1'));
  }
  const untrusted = await exchange(t, address, [V1, REQUEST], { localAddress: '127.0.0.9' });
  t.is(untrusted.length, 0);
  await counted(server, 'refusedProxyHeaders', 7);
  t.is((await server.call('stats')).failedHandshakes, 0, 'no TLS was spoken');
  t.is(await ipOf(t, address, [V1, REQUEST]), '192.0.2.7');
});

test('a request that is sent together with the header is not lost, and neither are later messages', async (t) => {
  const server = await ownServer(t, { ...OPTIONS, ...proxied(), workerPath: worker('commands') });
  const client = await connect(t, server.addresses[0], { before: V1 });
  t.is((await ask(client, { cmd: 'openInfo' })).ip, '192.0.2.7');
  for (let index = 0; index < 100; index++) client.send(`m${index}`);
  for (let index = 0; index < 100; index++) t.is(await client.text(), `m${index}`);
});

needing(test, 'openssl')('TLS after the header', async (t) => {
  const bind = proxied({ tls: identity.files });
  const server = await ownServer(t, { ...OPTIONS, ...bind, workerPath: worker('commands') });
  const [address] = server.addresses;
  for (const header of [V1, v2(0x21, 0x11, V4_BODY)]) {
    const client = await connect(t, address, { before: header, tls: { ca: authority.ca } });
    t.regex((await ask(client, { cmd: 'openInfo' })).ip, /^192\.0\.2\.[78]$/);
  }
  const answer = await exchange(t, address, [Buffer.concat([V1, REQUEST])]);
  t.regex(answer.toString('latin1'), /^HTTP\/1\.1 400 [\s\S]*This port speaks TLS/);
});

test('an error after the header counts as a failed handshake, an error in the header does not', async (t) => {
  const bind = proxied({ tls: identity.files });
  const server = await ownServer(t, { ...OPTIONS, ...bind, limits: { handshakeTimeoutMs: 5000 } });
  const [address] = server.addresses;
  t.is((await exchange(t, address, [V1.subarray(0, 9)])).length, 0, 'half a header');
  await counted(server, 'refusedProxyHeaders', 1);
  t.is((await exchange(t, address, [V1])).length, 0, 'no TLS handshake in time');
  await failedHandshakes(server, 1);
  t.like(await server.call('stats'), { failedHandshakes: 1, refusedProxyHeaders: 1, refused: 0 });
  const plain = await ownServer(t, { ...OPTIONS, stats: true, metrics: true });
  const get = async (path) => (await fetch(`http://${plain.addresses[0]}${path}`)).text();
  t.is(JSON.parse(await get('/stats')).refusedProxyHeaders, 0);
  t.regex(await get('/metrics'), /^millrace_refused_proxy_headers_total 0$/m);
});

test('connectionsPerAddress counts the clients that the header names', async (t) => {
  const limits = { connectionsPerAddress: 1 };
  const server = await ownServer(t, { ...OPTIONS, ...proxied(), limits, workerPath: worker('commands') });
  const [address] = server.addresses;
  await connect(t, address, { before: V1 });
  await connect(t, address, { before: v2(0x21, 0x11, V4_BODY) });
  await t.throwsAsync(connect(t, address, { before: V1 }), { message: /^handshake refused: 503/ });
});

test('an X-Forwarded-For header of the client is ignored', async (t) => {
  const server = await ownServer(t, { ...OPTIONS, ...proxied(), workerPath: worker('commands') });
  const client = await connect(t, server.addresses[0], { before: V1, headers: { 'X-Forwarded-For': '1.1.1.1' } });
  t.is((await ask(client, { cmd: 'openInfo' })).ip, '192.0.2.7');
});
