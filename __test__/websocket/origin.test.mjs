// RFC 6455 §10.2 and §4.2.2: the check of Origin before the upgrade, and the choice of a subprotocol.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { handshake } from '../support/http.mjs';
import { open, sharedServer, worker } from '../support/server.mjs';

const any = sharedServer(test, { workerPath: worker('admission'), threads: 1 });
const star = sharedServer(test, { workerPath: worker('echo'), threads: 1, origins: '*' });
const same = sharedServer(test, { workerPath: worker('echo'), threads: 1, origins: 'same-host' });
const list = sharedServer(test, {
  workerPath: worker('echo'),
  threads: 1,
  origins: ['https://a.example', 'http://b.example:8080'],
});

const statusOf = async (server, headers) => (await handshake(server.addresses[0], { headers })).status;

for (const origin of [undefined, 'https://evil.example', 'null', 'http://localhost']) {
  test(`by default, and with '*', any Origin may connect: ${origin}`, async (t) => {
    t.is(await statusOf(any, { Origin: origin }), 101);
    t.is(await statusOf(star, { Origin: origin }), 101);
  });
}

const SAME_HOST = [
  ['example.org', 'http://example.org', 101],
  ['example.org', 'https://example.org', 101],
  ['example.org:8080', 'http://example.org:8080', 101],
  ['EXAMPLE.org', 'http://example.ORG', 101],
  ['[::1]:3000', 'http://[::1]:3000', 101],
  ['example.org', undefined, 101],
  ['example.org', 'http://evil.example', 403],
  ['example.org', 'http://example.org.evil.example', 403],
  ['example.org', 'http://evil-example.org', 403],
  ['example.org', 'http://sub.example.org', 403],
  ['example.org:8080', 'http://example.org:8081', 403],
  ['example.org', 'null', 403],
  ['example.org', 'file://', 403],
  ['example.org', '', 403],
  ['example.org', 'http://', 403],
  ['example.org', 'http://example.org@evil.example', 403],
];

for (const [host, origin, status] of SAME_HOST) {
  test(`'same-host': Host ${host}, Origin ${JSON.stringify(origin)} → ${status}`, async (t) => {
    t.is(await statusOf(same, { Host: host, Origin: origin }), status);
  });
}

const LIST = [
  ['https://a.example', 101],
  ['http://b.example:8080', 101],
  [undefined, 101],
  ['http://a.example', 403],
  ['https://a.example:8443', 403],
  ['http://b.example', 403],
  ['https://a.example.evil', 403],
  ['https://localhost', 403],
  ['null', 403],
];

for (const [origin, status] of LIST) {
  test(`a list of origins: ${origin} → ${status}`, async (t) => {
    t.is(await statusOf(list, { Origin: origin }), status);
  });
}

test('two Origin headers are refused, even if one of them is allowed', async (t) => {
  t.true([400, 403].includes(await statusOf(list, { Origin: ['https://a.example', 'https://evil.example'] })));
  t.true([400, 403].includes(await statusOf(list, { Origin: ['https://evil.example', 'https://a.example'] })));
});

test('handleOpen chooses one of the offered subprotocols', async (t) => {
  for (const chosen of ['v2', 'v1']) {
    const ws = await open(t, any, { path: `/protocol?arg=${chosen}`, protocols: ['v1', 'v2'] });
    t.is(ws.headers['sec-websocket-protocol'], chosen);
    ws.send('works');
    t.is(await ws.text(), 'works');
  }
});

test('subprotocols offered in two headers are one list', async (t) => {
  const ws = await open(t, any, { path: '/protocol?arg=v2', headers: { 'Sec-WebSocket-Protocol': ['v1', 'v2'] } });
  t.is(ws.headers['sec-websocket-protocol'], 'v2');
});

test('a subprotocol that was not offered is never sent to the client', async (t) => {
  const { status, headers } = await handshake(any.addresses[0], {
    path: '/protocol?arg=v9',
    headers: { 'Sec-WebSocket-Protocol': 'v1' },
  });
  t.is(status, 500);
  t.false('sec-websocket-protocol' in headers);
  await until(async () => (await any.errors()).some(({ message }) => message.includes('v9')), 'the report');
});

test('a subprotocol chosen without an offer is refused, too', async (t) => {
  t.is((await handshake(any.addresses[0], { path: '/protocol?arg=v1' })).status, 500);
});

test('if handleOpen chooses no subprotocol, the answer has none', async (t) => {
  const ws = await open(t, any, { path: '/accept', protocols: ['v1'] });
  t.false('sec-websocket-protocol' in ws.headers);
});
