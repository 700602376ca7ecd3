// TLS as clients see it: https: and wss: with a certificate from memory or from a file, for Node, curl and `ws`.
import { execFile } from 'node:child_process';
import https from 'node:https';
import { promisify } from 'node:util';
import ava from 'ava';
import WebSocket from 'ws';

import { Authority } from '../support/certificates.mjs';
import { SOON, within } from '../support/deadline.mjs';
import { needing } from '../support/needing.mjs';
import { needingRuntime } from '../support/runtimes.mjs';
import { ask, failedHandshakes, ownServer, worker } from '../support/server.mjs';
import { connect } from '../support/ws-client.mjs';

/** All of them need certificates. */
const test = needing(ava, 'openssl');
const run = promisify(execFile);
const COMMANDS = { workerPath: worker('commands'), threads: 1, ioThreads: 1 };
let identity;
const authority = Authority.of(test, async (made) => {
  identity = await made.issue();
});

/** `{status, body, protocol, authorized}` of one request by node:https. */
function get(address, options = {}) {
  const [host, port] = address.split(':');
  return within(
    new Promise((resolve, reject) => {
      const request = https.get({ host, port, ca: authority.ca, agent: false, ...options }, (response) => {
        const { authorized } = response.socket;
        const protocol = response.socket.getProtocol();
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (chunk) => (body += chunk));
        response.on('end', () => resolve({ status: response.statusCode, body, protocol, authorized }));
      });
      request.on('error', reject);
    }),
    'the answer to an https request',
  );
}

test('https: and wss: with a certificate from memory', async (t) => {
  const { cert, key } = identity;
  const server = await ownServer(t, { ...COMMANDS, tls: { cert, key: Buffer.from(key) } });
  const answer = await get(server.addresses[0]);
  t.true(answer.authorized);
  t.is(answer.protocol, 'TLSv1.3');
  t.is(answer.status, 426);
  const client = await connect(t, server.addresses[0], { tls: { ca: authority.ca } });
  client.send('hello');
  t.is(await client.text(), 'hello');
  t.is((await ask(client, { cmd: 'whoami' })).ip, '127.0.0.1');
});

test('a certificate from files, named by path and by URL', async (t) => {
  const { certFile, keyFile } = identity;
  const server = await ownServer(t, { ...COMMANDS, tls: { cert: certFile, key: new URL(`file://${keyFile}`) } });
  t.true((await get(server.addresses[0])).authorized);
});

test('the client of ws sends and receives messages of every length', async (t) => {
  const server = await ownServer(t, { ...COMMANDS, tls: identity.files });
  const socket = new WebSocket(`wss://${server.addresses[0]}`, { ca: authority.ca });
  t.teardown(() => socket.terminate());
  await within(new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject)), 'open');
  for (const length of [0, 1, 125, 126, 4095, 4096, 16_383, 16_384, 16_385, 65_536, 1_000_000, 5_000_000]) {
    const sent = Buffer.alloc(length, length % 251);
    const received = new Promise((resolve) => socket.once('message', (data) => resolve(data)));
    socket.send(sent);
    const back = await within(received, `${length} bytes`);
    t.true(back.equals(sent), `${length} bytes`);
  }
  const closed = new Promise((resolve) => socket.once('close', (code) => resolve(code)));
  socket.close(4001);
  t.is(await within(closed, 'close'), 4001);
});

needing(test, 'curl')('curl, with TLS 1.2 and 1.3', async (t) => {
  const server = await ownServer(t, { ...COMMANDS, tls: identity.files });
  const { port } = new URL(`http://${server.addresses[0]}`);
  for (const version of ['1.2', '1.3']) {
    const only = version === '1.2' ? ['--tls-max', '1.2'] : ['--tlsv1.3'];
    const out = ['-sS', '-o', '/dev/null', '-w', '%{http_code} %{ssl_verify_result}'];
    const { stdout } = await run('curl', [
      ...out,
      ...only,
      '--cacert',
      authority.file('ca.pem'),
      `https://localhost:${port}/`,
    ]);
    t.is(stdout, '426 0', version);
  }
});

test("minVersion 'TLSv1.3' refuses TLS 1.2", async (t) => {
  const server = await ownServer(t, { ...COMMANDS, tls: { ...identity.files, minVersion: 'TLSv1.3' } });
  await t.throwsAsync(get(server.addresses[0], { maxVersion: 'TLSv1.2' }), { message: /alert|ECONNRESET/ });
  t.is((await get(server.addresses[0])).protocol, 'TLSv1.3');
  await failedHandshakes(server, 1);
});

test('one listener with TLS and one without', async (t) => {
  const bind = ['127.0.0.1:0', { address: '127.0.0.1:0', tls: false }];
  const server = await ownServer(t, { ...COMMANDS, bind, tls: identity.files });
  const [encrypted, plain] = server.addresses;
  const one = await connect(t, encrypted, { tls: { ca: authority.ca } });
  const other = await connect(t, plain);
  for (const client of [one, other]) t.deepEqual(await ask(client, { cmd: 'ping' }), 'pong');
});

for (const runtime of ['node', 'bun', 'deno']) {
  needingRuntime(test, runtime)(`${runtime} serves wss:, closes with close_notify, and stops`, async (t) => {
    const server = await ownServer(t, { ...COMMANDS, tls: identity.files }, { runtime });
    const client = await connect(t, server.addresses[0], { tls: { ca: authority.ca } });
    client.send('hello');
    t.is(await client.text(), 'hello');
    await server.stop();
    await client.closed();
    t.is(client.closeFrame.code, 1001);
    t.true(client.finished, 'close_notify, then the end');
  });
}

test('a unix socket speaks TLS too', async (t) => {
  const server = await ownServer(t, { ...COMMANDS, bind: `unix:${authority.file('tls.sock')}`, tls: identity.files });
  const client = await connect(t, server.addresses[0], { tls: { ca: authority.ca, host: 'localhost' }, ms: SOON });
  t.is(await ask(client, { cmd: 'ping' }), 'pong');
});
