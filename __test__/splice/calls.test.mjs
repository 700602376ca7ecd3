// The parameters, results and errors of connect; the handshake on both legs.
import test from 'ava';

import { Authority } from '../support/certificates.mjs';
import { acceptOf, handshake } from '../support/http.mjs';
import { needing } from '../support/needing.mjs';
import { ownServer, sharedServer } from '../support/server.mjs';
import { CONTROL, Mux, options, prefixed, reach, serve, Target } from '../support/splice.mjs';

const server = sharedServer(test, options());
const open = (t, more) => Mux.open(t, server, more);

let identity;
const authority = Authority.of(test, async (made) => {
  identity = await made.issue({ names: ['localhost', '127.0.0.1'] });
});

test('path and query are requested as given, without user info and fragment', async (t) => {
  const [mux, target] = [await open(t), await Target.listen(t)];
  const asked = {
    '': '/',
    '?q': '/?q',
    '/a b?c d': '/a%20b?c%20d',
    '/': '/',
    '/a/b%20c?d=e&f=%26': '/a/b%20c?d=e&f=%26',
  };
  for (const [given, expected] of Object.entries(asked)) {
    await mux.connect(`WS://127.0.0.1:${target.port}${given}`);
    const at = await target.asked();
    t.is(at.request.line, `GET ${expected} HTTP/1.1`);
    t.is(at.header('Host'), `127.0.0.1:${target.port}`);
    t.is(at.header('Sec-WebSocket-Version'), '13');
    t.is(Buffer.from(at.header('Sec-WebSocket-Key'), 'base64').length, 16);
    t.is(at.header('Authorization'), undefined);
  }
});

test('given headers are sent, including Origin and User-Agent, and no headers of the client', async (t) => {
  const target = await Target.listen(t);
  const mux = await open(t, { headers: { Cookie: 'secret=1', 'X-Own': 'mine', 'User-Agent': 'client' } });
  const headers = {
    Origin: 'https://a.example',
    'User-Agent': 'agent/1',
    'X-Many': 'a, b',
    Authorization: 'Bearer x',
    'x-utf': 'grüße',
  };
  await mux.connect(target.url(), { headers });
  const at = await target.asked();
  for (const [name, value] of Object.entries(headers)) t.is(at.header(name), value);
  t.is(at.header('Cookie'), undefined);
  t.is(at.header('X-Own'), undefined);
  await mux.connect(target.url());
  t.is((await target.asked()).header('User-Agent'), undefined);
});

test('a call with headers of the handshake, or with line breaks in headers, fails', async (t) => {
  const [mux, target] = [await open(t), await Target.listen(t)];
  const refused = [
    { Host: 'x' },
    { host: 'x' },
    { Connection: 'close' },
    { UPGRADE: 'h2c' },
    { 'Content-Length': '5' },
    { 'Transfer-Encoding': 'chunked' },
    { 'Sec-WebSocket-Key': 'x' },
    { 'sec-websocket-protocol': 'x' },
    { 'Sec-WebSocket-Extensions': 'permessage-deflate' },
    { 'Sec-WebSocket-Anything': 'x' },
    { 'X-A': 'a\r\nHost: evil' },
    { 'X-A': 'a\nb' },
    { 'X-A': 'a\0b' },
    { 'X-A\r\nB': 'c' },
    { 'X A': 'b' },
    { 'X-A:': 'b' },
    { '': 'b' },
    { 'X-A': 5 },
    { 'X-A': ['b'] },
    ['X-A: b'],
    'X-A: b',
  ];
  for (const headers of refused) {
    const { error } = await mux.ask('connect', { url: target.url(), headers });
    t.is(error?.code, 4000, JSON.stringify(headers));
    t.is(error.path, undefined);
  }
  t.is(target.connections.length, 0);
});

test('the result has the subprotocol that the target chooses', async (t) => {
  const [mux, target] = [await open(t), await Target.listen(t, { protocol: 'b.v2' })];
  const result = await mux.call('connect', { url: target.url(), subprotocols: ['a', 'b.v2'] });
  t.deepEqual(result, { index: 0, protocol: 'b.v2' });
  t.is((await target.asked()).header('Sec-WebSocket-Protocol'), 'a, b.v2');
  for (const subprotocols of [['a'], [], undefined]) {
    const { error } = await mux.ask('connect', { url: target.url(), subprotocols });
    t.is(error.code, 4007, 'it was not offered');
    t.is(error.path, 'url');
  }
  for (const subprotocols of ['a', ['a', 'a'], ['a b'], [''], [5], ['a,b']]) {
    const { error } = await mux.ask('connect', { url: target.url(), subprotocols });
    t.is(error.code, 4000, JSON.stringify(subprotocols));
  }
});

test('a URL that is not a WebSocket URL fails with 4005 and its path', async (t) => {
  const mux = await open(t);
  const wrong = [
    ...[
      '',
      'ws://',
      'ws:///path',
      'wss://',
      'http://127.0.0.1/',
      'https://127.0.0.1/',
      'ftp://127.0.0.1/',
      '//127.0.0.1/',
    ],
    ...['127.0.0.1', '/path', 'ws:127.0.0.1', 'ws://127.0.0.1:0/', 'ws://127.0.0.1:65536/', 'ws://127.0.0.1:-1/'],
    ...['ws://127.0.0.1:x/', 'ws://[::1/', 'ws://[zz]/', 'ws://a b/', 'ws://127.0.0.1/\r\nX: y'],
    ...['ws://127.0.0.1/\0', 'javascript:alert(1)', 'file:///etc/passwd', 'unix:/run/x'],
  ];
  for (const url of wrong) {
    const { error } = await mux.ask('connect', { url });
    t.deepEqual(error, { code: 4005, message: 'Invalid URL provided', path: 'url' }, url.slice(0, 100));
  }
  t.is((await mux.ask('connect', {})).error.code, 4005, 'without a URL');
});

test('wrong parameters fail with 4000 and the id', async (t) => {
  const [mux, target] = [await open(t), await Target.listen(t)];
  const url = target.url();
  for (const params of [
    [],
    'x',
    5,
    { url: 5 },
    { url: url + 'x'.repeat(10_000) },
    { url: [] },
    { url, timeout: 'x' },
    { url, timeout: 1.5 },
  ]) {
    const { error } = await mux.ask('connect', params);
    t.is(error?.code, 4000, JSON.stringify(params));
    t.regex(error.message, /^Error parsing payload as JSON/);
  }
});

test('without a server: 4007 with the error of the system', async (t) => {
  const mux = await open(t);
  const { error } = await mux.ask('connect', { url: 'ws://127.0.0.1:1/' });
  t.like(error, { code: 4007, path: 'url' });
  t.regex(error.message, /refused/i);
});

test('answers that are not a handshake fail with 4007', async (t) => {
  const mux = await open(t);
  const head = (key, lines) =>
    `HTTP/1.1 101 Switching Protocols\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`.replace(
      'ACCEPT',
      acceptOf(key),
    );
  const good = ['Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Accept: ACCEPT'];
  const answers = {
    'unexpected http status 200': () => 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
    'unexpected http status 403': () => 'HTTP/1.1 403 Forbidden\r\n\r\n',
    'unexpected http status 503': () => 'HTTP/1.0 503 Sorry\r\n\r\n',
    'bad "Upgrade"': (key) => head(key, good.slice(1)),
    'bad "Connection"': (key) => head(key, [good[0], good[2]]),
    'bad "Sec-WebSocket-Accept"': (key) => head(key, [...good.slice(0, 2), 'Sec-WebSocket-Accept: AAAA']),
    'bad "Sec-WebSocket-Extensions"': (key) => head(key, [...good, 'Sec-WebSocket-Extensions: permessage-deflate']),
    'subprotocol in the answer': (key) => head(key, [...good, 'Sec-WebSocket-Protocol: none']),
    'not HTTP': () => 'SSH-2.0-OpenSSH_9.2\r\n\r\n',
    'too long': () => `HTTP/1.1 101 S\r\n${'X-A: b\r\n'.repeat(50)}X-B: ${'x'.repeat(40_000)}`,
  };
  for (const [what, answer] of Object.entries(answers)) {
    const target = await Target.listen(t, { accept: (at) => at.raw(answer(at.header('Sec-WebSocket-Key'))) });
    const { error } = await mux.ask('connect', { url: target.url() });
    t.like(error, { code: 4007, path: 'url' }, what);
    t.true(error.message.includes(what), `${what}: ${error.message}`);
    await (await target.next()).closed();
  }
  for (const how of ['end', 'reset']) {
    const target = await Target.listen(t, { accept: (at) => at[how]() });
    t.is((await mux.ask('connect', { url: target.url() })).error.code, 4007, how);
  }
});

test('an answer may come byte by byte', async (t) => {
  const mux = await open(t);
  const pieces = async (at) => {
    const lines = [
      'Upgrade: WebSocket',
      'Connection: keep-alive, Upgrade',
      `Sec-WebSocket-Accept: ${acceptOf(at.header('Sec-WebSocket-Key'))}`,
    ];
    for (const byte of Buffer.from(`HTTP/1.1 101 Whatever\r\n${lines.join('\r\n')}\r\n\r\n\x81\x02hi`, 'latin1')) {
      at.raw(Buffer.of(byte));
      await new Promise(setImmediate);
    }
  };
  const target = await Target.listen(t, { accept: (at) => void pieces(at) });
  const { index } = await reach(mux, target);
  t.is(await mux.textFrom(index), 'hi');
});

test('redirects are not followed', async (t) => {
  const [mux, other] = [await open(t), await Target.listen(t)];
  for (const status of [301, 302, 307, 308]) {
    const accept = (at) => at.raw(`HTTP/1.1 ${status} Moved\r\nLocation: ${other.url()}\r\nContent-Length: 0\r\n\r\n`);
    const target = await Target.listen(t, { accept });
    const { error } = await mux.ask('connect', { url: target.url() });
    t.is(error.message, `unexpected http status ${status}`);
  }
  t.is(other.connections.length, 0);
});

test('timeout: a target that accepts and never answers fails with 4007, over TLS too', async (t) => {
  const [mux, silent] = [await open(t), await Target.listen(t, { accept: false })];
  for (const url of [silent.url(), `wss://127.0.0.1:${silent.port}`]) {
    const began = performance.now();
    const { error } = await mux.ask('connect', { url, timeout: 200 });
    t.deepEqual(error, { code: 4007, message: 'client timeout', path: 'url' });
    t.true(performance.now() - began >= 190);
    await (await silent.next()).closed();
  }
});

test('dialTimeoutMs bounds every timeout, and is the default', async (t) => {
  const { mux } = await serve(t, {}, { limits: { dialTimeoutMs: 300 } });
  const silent = await Target.listen(t, { accept: false });
  for (const timeout of [undefined, 0, -5, 60_000, Number.MAX_SAFE_INTEGER]) {
    const { error } = await mux.ask('connect', { url: silent.url(), timeout });
    t.is(error.message, 'client timeout', `${timeout}`);
  }
});

needing(test, 'openssl')('wss: targets are verified against the given authority and by their names', async (t) => {
  const { mux } = await serve(t, { targetCa: authority.ca });
  const target = await Target.echo(t, { tls: { cert: identity.cert, key: identity.key } });
  for (const host of ['127.0.0.1', 'localhost']) {
    const index = await mux.connect(target.url('/', host));
    mux.send(index, 'secret');
    t.is(await mux.textFrom(index), 'secret');
    const data = Buffer.alloc(1_000_000, 7);
    mux.send(index, data);
    t.true((await mux.from(index)).data.equals(data));
  }
  const other = await authority.issue({ names: ['other.example'] });
  const elsewhere = await Target.echo(t, { tls: { cert: other.cert, key: other.key } });
  t.is((await mux.ask('connect', { url: elsewhere.url() })).error.code, 4007, 'a certificate of another name');
  t.is(
    (await mux.ask('connect', { url: `wss://127.0.0.1:${(await Target.listen(t)).port}`, timeout: 2000 })).error.code,
    4007,
  );
  const unknowing = await Mux.open(t, server);
  t.is((await unknowing.ask('connect', { url: target.url() })).error.code, 4007, 'an authority that nobody gave');
});

needing(test, 'openssl')('mTLS: only clients with a certificate of the authority come in', async (t) => {
  const alice = await authority.issue({ client: true, subject: '/CN=alice' });
  const tls = { ...identity.files, clientCertificates: 'required', ca: authority.file('ca.pem') };
  const own = await ownServer(t, options({ tls }));
  const target = await Target.echo(t);
  const mux = await Mux.open(t, own, {
    tls: { ca: authority.ca, servername: 'localhost', cert: alice.cert, key: alice.key },
  });
  mux.send(await mux.connect(target.url()), 'hi');
  t.is(await mux.textFrom(0), 'hi');
  await t.throwsAsync(Mux.open(t, own, { tls: { ca: authority.ca, servername: 'localhost' } }));
});

test('documents that are not a call cause a warning, and the session continues', async (t) => {
  const mux = await open(t);
  const garbage = [
    '',
    '{',
    'null',
    '5',
    '"x"',
    '[]',
    '{"id":1,}',
    "{'id':1}",
    '{"id":1}}',
    '\ufeff{}',
    '{"id":1,"type":5}',
    '{"method":5}',
  ];
  for (const document of [
    ...garbage,
    Buffer.of(0xff, 0xfe),
    Buffer.alloc(1000),
    '['.repeat(100_000),
    '{"a":'.repeat(100_000),
  ]) {
    mux.ws.send(prefixed(CONTROL, document));
    const { method, params } = await mux.event();
    t.is(method, 'warn', String(document).slice(0, 50));
    t.deepEqual(params, { code: 4000, message: 'Error parsing payload as JSON' });
  }
  t.is((await mux.ask('none')).error.code, 4003);
});

test('messages without an index, or for an unknown target, cause a warning', async (t) => {
  const mux = await open(t);
  for (const payload of [Buffer.alloc(0), Buffer.of(0), Buffer.of(255)]) {
    mux.ws.send(payload);
    t.is((await mux.event()).params.code, 4001);
  }
  for (const index of [0, 1, 255, 256, 65534]) {
    mux.send(index, 'x');
    const { params } = await mux.event();
    t.deepEqual(params, { code: 4004, message: 'You are trying to send to a connection which does not exist' });
  }
  t.is((await mux.ask('none')).error.code, 4003);
});

test('the answer to the handshake is a normal one', async (t) => {
  const headers = { Cookie: 'secret=1', 'X-Own': 'mine', 'Sec-WebSocket-Protocol': 'a, b' };
  const mux = await open(t, { path: '/any/path?query', headers });
  t.deepEqual(Object.keys(mux.ws.headers).sort(), ['connection', 'date', 'sec-websocket-accept', 'upgrade']);
  t.is(mux.ws.headers.upgrade.toLowerCase(), 'websocket');
});

test('requests other than WebSocket handshakes get 400, other versions 426', async (t) => {
  const [address] = server.addresses;
  for (const headers of [{ Upgrade: undefined, Connection: undefined }, { Upgrade: 'h2c' }]) {
    const { status, body } = await handshake(address, { path: '/any', headers });
    t.is(status, 400);
    t.is(body.trim(), 'bad "Upgrade" header');
  }
  const { status, headers } = await handshake(address, { headers: { 'Sec-WebSocket-Version': '8' } });
  t.is(status, 426);
  t.is(headers['sec-websocket-version'], '13');
});

test('pages of other origins cannot connect', async (t) => {
  const [address] = server.addresses;
  t.is((await handshake(address, { headers: { Origin: 'https://evil.example' } })).status, 403);
  const headers = { Host: address, Origin: `http://${address}` };
  t.is((await handshake(address, { headers })).status, 101);
});
