// Which certificate a client gets: for the name that it asks for, and after a reload.
import { copyFile, writeFile } from 'node:fs/promises';
import tls from 'node:tls';
import ava from 'ava';

import { Authority } from '../support/certificates.mjs';
import { within } from '../support/deadline.mjs';
import { connectOptions } from '../support/http.mjs';
import { needing } from '../support/needing.mjs';
import { ask, failedHandshakes, ownServer, worker } from '../support/server.mjs';
import { connect } from '../support/ws-client.mjs';

/** All of them need certificates. */
const test = needing(ava, 'openssl');
const ECHO = { workerPath: worker('commands'), threads: 1, ioThreads: 2 };
const issued = {};
const authority = Authority.of(test, async (made) => {
  for (const name of ['a.example', 'b.example', 'x.wild.example', 'other.example', 'new.example']) {
    issued[name] = await made.issue({ names: [name] });
  }
});

/** The name in the certificate for a client that asks for `servername`, or the error's code. */
function shown(address, servername) {
  const options = { ...connectOptions(address), servername, ca: authority.ca, checkServerIdentity: () => undefined };
  const seen = new Promise((resolve) => {
    const socket = tls.connect(options, () => socket.end());
    socket.on('secureConnect', () => resolve(socket.getPeerCertificate().subject.CN));
    socket.resume();
    socket.on('error', (error) => resolve(error.code));
  });
  return within(seen, 'a TLS handshake');
}

test('several names, one with a wildcard, and one certificate for all others', async (t) => {
  const names = {
    'a.example': issued['a.example'].files,
    'B.Example': issued['b.example'].files,
    '*.wild.example': issued['x.wild.example'].files,
  };
  const server = await ownServer(t, { ...ECHO, tls: { ...issued['other.example'].files, names } });
  const [address] = server.addresses;
  for (const [asked, name] of [
    ['a.example', 'a.example'],
    ['A.EXAMPLE', 'a.example'],
    ['b.example', 'b.example'],
    ['y.wild.example', 'x.wild.example'],
    ['z.y.wild.example', 'other.example'],
    ['wild.example', 'other.example'],
    ['unknown.example', 'other.example'],
    ['', 'other.example'],
  ]) {
    t.is(await shown(address, asked), name, `asked for '${asked}'`);
  }
});

test('without a default certificate, other names are refused', async (t) => {
  const server = await ownServer(t, { ...ECHO, tls: { names: { 'a.example': issued['a.example'].files } } });
  const [address] = server.addresses;
  t.is(await shown(address, 'a.example'), 'a.example');
  t.regex(await shown(address, 'b.example'), /^ERR_SSL/);
  t.regex(await shown(address, ''), /^ERR_SSL/);
  await failedHandshakes(server, 2);
});

test('reloadTls reads the files again; open connections stay', async (t) => {
  const files = { cert: authority.file('live.pem'), key: authority.file('live.key') };
  const put = (name) => Promise.all(['cert', 'key'].map((kind) => copyFile(issued[name].files[kind], files[kind])));
  await put('a.example');
  const server = await ownServer(t, { ...ECHO, bind: ['127.0.0.1:0', '127.0.0.1:0'], tls: files });
  const clients = await Promise.all(
    server.addresses.map((address) => connect(t, address, { tls: { ca: authority.ca, servername: 'a.example' } })),
  );
  await put('new.example');
  t.is(await shown(server.addresses[0]), 'a.example', 'the files are not read again without reloadTls');
  await server.reloadTls();
  for (const address of server.addresses) t.is(await shown(address), 'new.example');
  for (const client of clients) t.is(await ask(client, { cmd: 'ping' }), 'pong');

  await server.reloadTls(issued['b.example'].files);
  for (const address of server.addresses) t.is(await shown(address), 'b.example');
  await server.reloadTls();
  t.is(await shown(server.addresses[0]), 'b.example', 'the files given last are read again');
});

test('a reload that fails changes nothing', async (t) => {
  const { cert, key } = issued['a.example'];
  const server = await ownServer(t, { ...ECHO, tls: { cert, key } });
  const invalid = { name: 'MillraceError', code: 'ERR_MILLRACE_INVALID_TLS' };
  const truncated = authority.file('truncated.pem');
  await writeFile(truncated, cert.slice(0, cert.length / 2));
  for (const [tls, message] of [
    [{ cert: authority.file('missing.pem'), key }, /^tls\.cert cannot be read: ENOENT/],
    [{ cert, key: issued['b.example'].key }, /^tls\.key cannot be used/],
    [{ cert: key, key }, /^tls\.cert has no certificate in it/],
    [{ cert, key: cert }, /^tls\.key has no private key/],
    [{ cert: truncated, key }, /^tls\.cert is not valid PEM/],
    [{ cert, key, names: { 'b.example': { cert, key: issued['b.example'].key } } }, /^tls\.names\['b\.example'\]\.key/],
  ]) {
    const error = await t.throwsAsync(server.reloadTls(tls), { message });
    t.like(error, invalid);
  }
  await t.throwsAsync(server.reloadTls({ cert }), { name: 'TypeError', message: /^tls\.key must be PEM/ });
  await t.throwsAsync(server.reloadTls(false), { name: 'TypeError', message: /^tls must be an object/ });
  t.is(await shown(server.addresses[0], 'a.example'), 'a.example');
});

test('reloadTls rejects if there is nothing to reload', async (t) => {
  const plain = await ownServer(t, ECHO);
  const { files } = issued['a.example'];
  for (const tls of [undefined, files]) {
    const error = await t.throwsAsync(plain.reloadTls(tls), { message: /^no listener of this server speaks TLS/ });
    t.is(error.code, 'ERR_MILLRACE_INVALID_TLS');
  }
  await plain.stop();
  t.like(await t.throwsAsync(plain.reloadTls(files)), { code: 'ERR_MILLRACE_NOT_RUNNING' });
});

test('a start with an invalid certificate starts nothing', async (t) => {
  const server = await ownServer(t);
  const { cert, key } = issued['a.example'];
  const bad = { bind: ['127.0.0.1:0', { address: '127.0.0.1:0', tls: { cert, key: issued['b.example'].key } }] };
  await t.throwsAsync(server.start({ ...ECHO, ...bad }), { code: 'ERR_MILLRACE_INVALID_TLS' });
  await t.throwsAsync(server.start({ ...ECHO, tls: { cert: '/nowhere.pem', key } }), {
    code: 'ERR_MILLRACE_INVALID_TLS',
    message: /^options\.tls\.cert cannot be read: ENOENT/,
  });
  const { addresses } = await server.start({ ...ECHO, tls: { cert, key } });
  t.is(await shown(addresses[0]), 'a.example');
});
