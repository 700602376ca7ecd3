// Behind a proxy: which address is `ip`, and which addresses the limits per address count.
import { mkdtemp } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import test from 'ava';

import { within } from '../support/deadline.mjs';
import { handshake } from '../support/http.mjs';
import { ask, open, ownServer, sharedServer, worker } from '../support/server.mjs';
import { removeWith } from '../support/teardown.mjs';

const COMMANDS = { workerPath: worker('commands'), threads: 1, ioThreads: 1 };
const trusting = sharedServer(test, { ...COMMANDS, trustProxy: ['loopback', '10.0.0.0/8'] });
const plain = sharedServer(test, COMMANDS);

/** The address that the server reports for a client with these headers. */
async function ipOf(t, server, headers, options = {}) {
  const client = await open(t, server, { headers, ...options });
  const { id } = await ask(client, { cmd: 'whoami' });
  const { ip } = await ask(client, { cmd: 'openInfo' });
  t.true(id > 0);
  return ip;
}

test('by default no proxy is trusted', async (t) => {
  t.is(await ipOf(t, plain, { 'X-Forwarded-For': '192.0.2.7' }), '127.0.0.1');
  t.is(await ipOf(t, plain, { Forwarded: 'for=192.0.2.7' }), '127.0.0.1');
});

for (const [headers, ip] of [
  [{}, '127.0.0.1'],
  [{ 'X-Forwarded-For': '192.0.2.7' }, '192.0.2.7'],
  [{ 'X-Forwarded-For': '1.1.1.1, 192.0.2.7, 10.1.2.3' }, '192.0.2.7'],
  [{ 'X-Forwarded-For': ['1.1.1.1', '192.0.2.7'] }, '192.0.2.7'],
  [{ 'X-Forwarded-For': '10.1.2.3, 10.1.2.4' }, '10.1.2.3'],
  [{ 'X-Forwarded-For': '192.0.2.7, nonsense' }, '127.0.0.1'],
  [{ 'X-Forwarded-For': '2001:db8::7' }, '2001:db8::7'],
  [{ Forwarded: 'for=1.1.1.1, for="[2001:db8::7]:4711";proto=https' }, '2001:db8::7'],
  [{ Forwarded: 'for=1.1.1.1;by="', 'X-Forwarded-For': '192.0.2.7' }, '127.0.0.1'],
  [{ Forwarded: 'for=192.0.2.7', 'X-Forwarded-For': '192.0.2.7' }, '192.0.2.7'],
]) {
  test(`the headers of a trusted proxy are used: ${JSON.stringify(headers)}`, async (t) => {
    t.is(await ipOf(t, trusting, headers), ip);
  });
}

test('the headers of an address that is not trusted are ignored', async (t) => {
  const server = await ownServer(t, { ...COMMANDS, trustProxy: ['127.0.0.5', 'unix'] });
  const headers = { 'X-Forwarded-For': '192.0.2.7' };
  t.is(await ipOf(t, server, headers), '127.0.0.1');
  t.is(await ipOf(t, server, headers, { localAddress: '127.0.0.5' }), '192.0.2.7');
});

test("'unix' trusts every client of a unix socket", async (t) => {
  const folder = removeWith(t, await mkdtemp(path.join(os.tmpdir(), 'millrace-proxy-')));
  const bind = ['a', 'b'].map((name) => ({
    address: `unix:${path.join(folder, `${name}.sock`)}`,
    trustProxy: name === 'a' ? ['unix'] : ['loopback'],
  }));
  const server = await ownServer(t, { ...COMMANDS, bind });
  const headers = { 'X-Forwarded-For': '192.0.2.7' };
  const [trusted, other] = server.addresses;
  t.is(await ipOf(t, server, headers, { address: trusted }), '192.0.2.7');
  t.is(await ipOf(t, server, headers, { address: other }), '');
});

test('connectionsPerAddress counts clients, not their proxy', async (t) => {
  const limits = { connectionsPerAddress: 1 };
  const server = await ownServer(t, { ...COMMANDS, limits, trustProxy: ['loopback'] });
  const from = (ip) => ({ headers: { 'X-Forwarded-For': ip } });
  const first = await open(t, server, from('192.0.2.1'));
  await open(t, server, from('192.0.2.2'));
  const [address] = server.addresses;
  const refused = await handshake(address, from('192.0.2.1'));
  t.is(refused.status, 503);
  t.is(refused.body, 'Too many connections from this address');
  first.destroy();
  await within(
    (async () => {
      while ((await handshake(address, from('192.0.2.1'))).status !== 101);
    })(),
    'the address to be below its limit',
  );
});
