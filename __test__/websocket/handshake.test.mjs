// RFC 6455 §4: valid handshakes, and the answers to invalid ones.
import test from 'ava';

import { again } from '../support/deadline.mjs';
import { close, ping, text } from '../support/frames.mjs';
import { acceptOf, exchange, handshake, handshakeBytes, KEY } from '../support/http.mjs';
import { open, ownServer, sharedServer, worker } from '../support/server.mjs';

const server = sharedServer(test, { workerPath: worker('echo'), threads: 1 });
const shake = (request, options) => handshake(server.addresses[0], request, options);

test('4.2.2 the answer: 101, Upgrade, Connection and the accept value', async (t) => {
  const { status, headers } = await shake();
  t.is(status, 101);
  t.is(headers.upgrade.toLowerCase(), 'websocket');
  t.regex(headers.connection, /(^|,\s*)upgrade(\s*,|$)/i);
  t.is(headers['sec-websocket-accept'], 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
  t.false('sec-websocket-protocol' in headers);
  t.false('sec-websocket-extensions' in headers);
});

test('a different key has a different accept value', async (t) => {
  const key = Buffer.alloc(16, 0xa5).toString('base64');
  const { headers } = await shake({ headers: { 'Sec-WebSocket-Key': key } });
  t.is(headers['sec-websocket-accept'], acceptOf(key));
});

const ACCEPTED = {
  'Upgrade in upper case': { Upgrade: 'WEBSOCKET' },
  'Upgrade in mixed case': { Upgrade: 'WebSocket' },
  'Upgrade as a list': { Upgrade: 'h2c, websocket' },
  'Connection in lower case': { Connection: 'upgrade' },
  'Connection as a list': { Connection: 'keep-alive, Upgrade' },
  'Connection as a list without spaces': { Connection: 'keep-alive,upgrade,foo' },
  'Connection as two headers': { Connection: ['keep-alive', 'Upgrade'] },
  'a version with spaces around it': { 'Sec-WebSocket-Version': ' 13 ' },
  'a key with spaces around it': { 'Sec-WebSocket-Key': `  ${KEY}  ` },
  'extensions offered': {
    'Sec-WebSocket-Extensions': 'permessage-deflate; client_max_window_bits, x-webkit-deflate-frame',
  },
  'subprotocols offered': { 'Sec-WebSocket-Protocol': 'chat, superchat' },
  'an Origin': { Origin: 'https://anywhere.example' },
  'many other headers': Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`X-Header-${index}`, 'value'])),
  'a Content-Length of 0': { 'Content-Length': '0' },
};

for (const [name, headers] of Object.entries(ACCEPTED)) {
  test(`accepted: ${name}`, async (t) => {
    const ws = await open(t, server, { headers });
    ws.send('through');
    t.is(await ws.text(), 'through');
  });
}

test('extensions and subprotocols that are only offered are not negotiated', async (t) => {
  const { headers } = await shake({
    headers: { 'Sec-WebSocket-Extensions': 'x-unknown', 'Sec-WebSocket-Protocol': 'chat, superchat' },
  });
  t.false('sec-websocket-protocol' in headers);
  t.false('sec-websocket-extensions' in headers);
});

for (const path of [
  '/',
  '/chat',
  '/a/b?c=d&e=%20f',
  '/%F0%9F%98%80',
  `/${'p'.repeat(4000)}`,
  '*',
  'http://localhost/absolute',
]) {
  test(`any path is accepted: ${path.slice(0, 30)}`, async (t) => {
    const { status } = await shake({ path });
    t.true(path === '*' ? status === 101 || status === 400 : status === 101, String(status));
  });
}

const REFUSED = {
  'no key': [400, { 'Sec-WebSocket-Key': undefined }],
  'an empty key': [400, { 'Sec-WebSocket-Key': '' }],
  'a key of 15 bytes': [400, { 'Sec-WebSocket-Key': Buffer.alloc(15).toString('base64') }],
  'a key of 17 bytes': [400, { 'Sec-WebSocket-Key': Buffer.alloc(17).toString('base64') }],
  'a key that is not base64': [400, { 'Sec-WebSocket-Key': '!!!!!!!!!!!!!!!!!!!!!!==' }],
  'a key without padding': [400, { 'Sec-WebSocket-Key': KEY.slice(0, -2) }],
  'two keys': [400, { 'Sec-WebSocket-Key': [KEY, KEY] }],
  'two different keys': [400, { 'Sec-WebSocket-Key': [KEY, Buffer.alloc(16).toString('base64')] }],
  'no Upgrade': [426, { Upgrade: undefined }],
  'another Upgrade': [426, { Upgrade: 'h2c' }],
  'an Upgrade that only begins with websocket': [426, { Upgrade: 'websockets' }],
  'neither Upgrade nor Connection': [426, { Upgrade: undefined, Connection: undefined }],
  'version 8': [426, { 'Sec-WebSocket-Version': '8' }],
  'version 0': [426, { 'Sec-WebSocket-Version': '0' }],
  'version 14': [426, { 'Sec-WebSocket-Version': '14' }],
  'version 013': [426, { 'Sec-WebSocket-Version': '013' }],
  'a version that is no number': [426, { 'Sec-WebSocket-Version': 'thirteen' }],
  'two versions': [[400, 426], { 'Sec-WebSocket-Version': ['13', '8'] }],
  'no version': [[400, 426], { 'Sec-WebSocket-Version': undefined }],
  'no Connection': [[400, 426], { Connection: undefined }],
  'a Connection without upgrade': [[400, 426], { Connection: 'keep-alive' }],
  'a Connection token that only contains upgrade': [[400, 426], { Connection: 'upgraded' }],
};

for (const [name, [expected, headers]] of Object.entries(REFUSED)) {
  test(`refused: ${name} (${expected})`, async (t) => {
    const answer = await shake({ headers });
    t.true([expected].flat().includes(answer.status), String(answer.status));
    if (answer.status === 426) t.is(answer.headers['sec-websocket-version'], '13');
  });
}

for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'HEAD']) {
  test(`refused: an otherwise valid handshake with ${method} (405)`, async (t) => {
    const { status, headers } = await shake({ method, headers: { 'Content-Length': '0' } });
    t.is(status, 405);
    t.regex(headers.allow ?? '', /GET/);
  });
}

test('an ordinary GET is answered with 426', async (t) => {
  const { status, headers } = await exchange(server.addresses[0], 'GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  t.is(status, 426);
  t.is(headers['sec-websocket-version'], '13');
  t.regex(headers.upgrade ?? '', /websocket/i);
});

test('HTTP/1.0 cannot be upgraded', async (t) => {
  const { status } = await shake({ version: 'HTTP/1.0' });
  t.true([400, 426, 505].includes(status), String(status));
});

for (const [name, bytes] of Object.entries({
  'no HTTP at all': 'hello server\r\n\r\n',
  'another HTTP version': 'GET / HTTP/3.0\r\nHost: x\r\n\r\n',
  'a space in a header name': 'GET / HTTP/1.1\r\nBad Name: x\r\n\r\n',
  'a header without colon': 'GET / HTTP/1.1\r\nnonsense\r\n\r\n',
  'NUL in a header': 'GET / HTTP/1.1\r\nX: a\0b\r\n\r\n',
  'TLS instead of HTTP': Buffer.from('16030100c8010000c40303', 'hex'),
})) {
  test(`refused: ${name}`, async (t) => {
    const { status, closed } = await exchange(server.addresses[0], bytes, { untilClosed: true });
    t.true([0, 400, 505].includes(status), String(status));
    t.true(closed);
  });
}

for (const [name, headers] of Object.entries({
  'one long header': { 'X-Long': 'x'.repeat(20 * 1024) },
  'many headers': Object.fromEntries(Array.from({ length: 90 }, (_, index) => [`X-${index}`, 'y'.repeat(250)])),
  'a long cookie': { Cookie: `a=${'c'.repeat(17 * 1024)}` },
})) {
  test(`a request head over 16 KiB is refused: ${name} (431)`, async (t) => {
    t.is((await shake({ headers })).status, 431);
  });
}

test('a request line over 16 KiB is refused', async (t) => {
  const { status } = await shake({ path: `/${'p'.repeat(17 * 1024)}` });
  t.true([414, 431].includes(status), String(status));
});

test('a request head just under 16 KiB is accepted', async (t) => {
  const base = handshakeBytes({ headers: { 'X-Fill': '' } }).length;
  t.is((await shake({ headers: { 'X-Fill': 'x'.repeat(16 * 1024 - base - 64) } })).status, 101);
});

test('a handshake sent octet by octet', async (t) => {
  const { status } = await exchange(
    server.addresses[0],
    Array.from(handshakeBytes(), (byte) => Buffer.from([byte])),
  );
  t.is(status, 101);
});

test('frames in the same segment as the handshake are not lost', async (t) => {
  for (let round = 0; round < 20; round++) {
    const ws = await open(t, server, { after: Buffer.concat([text('early'), ping('early ping'), text('second')]) });
    t.is(await ws.text(), 'early');
    t.is(await ws.text(), 'second');
    t.is((await ws.pong()).toString(), 'early ping');
  }
});

test('half a frame in the same segment as the handshake is not lost', async (t) => {
  const frame = text('x'.repeat(500));
  for (const cut of [1, 2, 3, 5, 7, 8, 9, 300]) {
    const ws = await open(t, server, { after: frame.subarray(0, cut) });
    await ws.raw(frame.subarray(cut));
    t.is((await ws.text()).length, 500);
  }
});

test('a big message in the same segment as the handshake', async (t) => {
  const ws = await open(t, server, { after: text('x'.repeat(200_000)) });
  t.is((await ws.text()).length, 200_000);
});

test('a close in the same segment as the handshake', async (t) => {
  const ws = await open(t, server, { after: close(4000) });
  t.is((await ws.closed()).code, 4000);
});

test('a protocol error in the same segment as the handshake', async (t) => {
  const ws = await open(t, server, { after: text('x', { masked: false }) });
  t.is((await ws.closed()).code, 1002);
});

test('requests on one kept-alive connection: a refused one, then a handshake', async (t) => {
  const bytes = Buffer.concat([Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'), handshakeBytes()]);
  const { status } = await exchange(server.addresses[0], bytes);
  t.is(status, 426);
});

test('a slow handshake is closed after handshakeTimeoutMs', async (t) => {
  const own = await ownServer(t, { workerPath: worker('echo'), threads: 1, limits: { handshakeTimeoutMs: 300 } });
  const [silent, half] = await Promise.all([
    exchange(own.addresses[0], '', { untilClosed: true }),
    exchange(own.addresses[0], handshakeBytes().subarray(0, 40), { untilClosed: true }),
  ]);
  t.true(silent.closed && half.closed);
  t.true([0, 408].includes(half.status), String(half.status));
  const ws = await again(() => open(t, own), 'a handshake in time');
  ws.send('in time');
  t.is(await ws.text(), 'in time');
});

test('a handshake sent byte by byte is closed after handshakeTimeoutMs', async (t) => {
  const own = await ownServer(t, { workerPath: worker('echo'), threads: 1, limits: { handshakeTimeoutMs: 300 } });
  const bytes = [Buffer.from('GET / HTTP/1.1\r\nX: '), ...Array.from({ length: 1000 }, () => Buffer.from('y'))];
  const drip = exchange(own.addresses[0], bytes, { untilClosed: true, pace: 20 });
  t.true((await drip).closed);
});

test('an established connection stays open after handshakeTimeoutMs', async (t) => {
  const own = await ownServer(t, { workerPath: worker('echo'), threads: 1, limits: { handshakeTimeoutMs: 200 } });
  const ws = await again(() => open(t, own), 'a handshake in time');
  await exchange(own.addresses[0], '', { untilClosed: true });
  ws.send('still here');
  t.is(await ws.text(), 'still here');
});

const ONLY_ANSWERS = { fetch: ['only-fetch', '/'], 'a listener of Node': ['node-express', '/express/hello'] };
for (const [name, [file, path]] of Object.entries(ONLY_ANSWERS)) {
  test(`a module that has only ${name} refuses WebSockets, and answers requests`, async (t) => {
    const only = await ownServer(t, { workerPath: worker(file), threads: 1 });
    const [address] = only.addresses;
    for (const headers of [{}, { Upgrade: 'h2c, websocket' }]) {
      const refused = await handshake(address, { path, headers });
      t.deepEqual([refused.status, refused.body], [501, 'The worker module has no handler of WebSockets']);
    }
    const page = await exchange(address, `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    t.is(page.status, 200);
  });
}
