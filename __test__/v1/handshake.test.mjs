// When `millrace.v1` is spoken: it is offered, some channels are for its clients, and handleOpen chooses no other.
import ava from 'ava';

import { Authority } from '../support/certificates.mjs';
import { openSession } from '../support/http2.mjs';
import { needing } from '../support/needing.mjs';
import { open, ownServer, sharedServer, worker } from '../support/server.mjs';
import { decoded, speak } from '../support/v1.mjs';

const test = ava;

const channels = { 'room:*': { clients: { subscribe: true } } };
const server = sharedServer(test, { workerPath: worker('admission'), threads: 1, channels });

test('it is chosen wherever it stands among the offered subprotocols', async (t) => {
  for (const protocols of [['millrace.v1'], ['a', 'millrace.v1', 'b'], ['token.eA', 'millrace.v1']]) {
    const client = await speak(t, server, { protocols });
    t.is(client.ws.protocol, 'millrace.v1');
    t.is(client.hi.t, 'hi');
  }
  for (const protocols of [[], ['a', 'millrace.v2', 'Millrace.v1']]) {
    const client = await open(t, server, { protocols: protocols.length > 0 ? protocols : undefined });
    t.is(client.headers['sec-websocket-protocol'], undefined);
    client.send('raw');
    t.is(await client.text(), 'raw');
  }
});

test('handleOpen may choose it, or another one', async (t) => {
  const offered = ['other', 'millrace.v1'];
  const own = await speak(t, server, { path: '/protocol?arg=millrace.v1', protocols: offered });
  t.is(own.hi.t, 'hi');
  const other = await speak(t, server, { path: '/protocol?arg=other', protocols: offered });
  t.is(other.ws.protocol, 'other');
  other.ws.send('raw');
  t.is(await other.next(), 'raw');
});

test('a module that only answers requests needs no handler for it', async (t) => {
  const own = await ownServer(t, { workerPath: worker('only-fetch'), threads: 1, channels });
  const client = await speak(t, own, { protocols: ['a', 'millrace.v1'] });
  t.is((await client.subscribe('room:1')).t, 'ok');
  await own.call('send', 'room:1', 'text');
  t.is((await client.next())[1], 'text');
  await t.throwsAsync(speak(t, own, { protocols: ['a'] }), { message: /501/ });
});

test('a handler that refuses refuses as ever', async (t) => {
  await t.throwsAsync(speak(t, server, { path: '/refuse' }), { message: /403/ });
});

test('what handleOpen sends comes behind hi, in the form of the subprotocol', async (t) => {
  const client = await speak(t, server, { path: '/greet?arg=you' });
  t.deepEqual(await client.next(), [{ t: 'sub', c: 'greeted' }]);
  t.deepEqual(await client.next(), [{}, 'hello you']);
  t.deepEqual(await client.next(), [{}, 'still in handleOpen']);
  t.deepEqual(await client.next(), [{ c: 'greeted' }, 'by channel']);
});

test('what handleOpen sends before it chooses another subprotocol comes without headers', async (t) => {
  const path = '/greet-protocol?arg=other';
  const client = await speak(t, server, { path, protocols: ['millrace.v1', 'other'] });
  t.is(client.ws.protocol, 'other');
  for (const expected of ['hello', 'by channel', 'x'.repeat(100_000)]) t.is(await client.next(), expected);
  client.ws.send('raw');
  t.is(await client.next(), 'raw');
});

test('it is not spoken where no channel is for its clients', async (t) => {
  const terms = [undefined, { 'room:*': {} }, { 'room:*': { clients: { subscribe: false, publish: false } } }];
  for (const none of terms) {
    const own = await ownServer(t, { workerPath: worker('echo'), threads: 1, channels: none });
    const client = await open(t, own, { protocols: ['millrace.v1'] });
    t.is(client.headers['sec-websocket-protocol'], undefined);
    client.send('raw');
    t.is(await client.text(), 'raw');
  }
});

const secure = needing(ava, 'openssl');
let identity;
const authority = Authority.of(secure, async (made) => {
  identity = await made.issue();
});

secure('it is spoken over TLS, and in a stream of HTTP/2', async (t) => {
  const own = await ownServer(t, { workerPath: worker('echo'), threads: 1, channels, tls: identity.files });
  const http2 = await openSession(t, own.addresses[0], { ca: authority.ca });
  for (const way of [{ tls: { ca: authority.ca, servername: 'localhost' } }, { http2 }]) {
    const client = await open(t, own, { ...way, protocols: ['other', 'millrace.v1'] });
    t.is(client.headers['sec-websocket-protocol'], 'millrace.v1');
    const [hi] = decoded(await client.text());
    t.is(hi.t, 'hi');
    client.send('{"t":"sub","id":1,"c":"room:1"}');
    t.deepEqual(decoded(await client.text()), [{ t: 'ok', id: 1 }]);
    await own.call('send', Number(hi.s), 'text');
    t.deepEqual(decoded(await client.text()), [{}, 'text']);
  }
});
