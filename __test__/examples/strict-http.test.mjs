// The strict HTTP example: the status of 89 requests, and what statuses do not tell.
import { randomBytes } from 'node:crypto';
import { readFile, symlink } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { Example, ended } from '../support/example.mjs';
import { folderFor, makeFolder } from '../support/files.mjs';
import { signalTests } from '../support/platforms.mjs';
import { CASES } from '../support/strict-http-cases.mjs';
import { TcpClient } from '../support/tcp.mjs';
import { drained, stalled } from '../support/tcp-own.mjs';
import { remove } from '../support/teardown.mjs';

const SERVER = 'examples/strict-http/server.mjs';

let server;
let folder;
const large = randomBytes(3_000_000);
const PIXEL = Buffer.from('89504e470d0a1a0a0000000d494844520000000100000001', 'hex');

test.before(async () => {
  folder = makeFolder({});
  server = await start();
});
test.after.always(async () => {
  await server?.kill();
  await remove(folder);
});

function start(...args) {
  return Example.start(SERVER, ['--port', '0', '--log', path.join(folder, 'server.log'), ...args]);
}

/** A server of other files, which ends with the test. */
async function serveFiles(t, files) {
  const root = folderFor(t, files);
  const own = await start('--folder', path.join(root, 'public'));
  t.teardown(() => own.kill());
  return { root, port: own.port };
}

const join = (t, port = server.port) => TcpClient.connect(t, `127.0.0.1:${port}`);
const HOST = 'Host: x\r\n';
const get = (target, ...headers) =>
  `GET ${target} HTTP/1.1\r\n${HOST}${headers.map((header) => `${header}\r\n`).join('')}\r\n`;

/** Reads one answer. `hasBody`: whether one follows. */
async function answer(client, hasBody = true) {
  const lines = [];
  for (let line = await client.line(); line !== '\r'; line = await client.line()) lines.push(line.replace('\r', ''));
  const [first, ...rest] = lines;
  const headers = Object.fromEntries(
    rest.map((line) => [line.slice(0, line.indexOf(':')), line.replace(/^[^:]*: /, '')]),
  );
  const length = Number(headers['Content-Length'] ?? 0);
  const status = Number(/^HTTP\/1\.1 (\d{3}) [A-Z]/.exec(first)[1]);
  return { status, headers, body: hasBody ? await client.bytes(length) : Buffer.alloc(0) };
}

/** One request on a connection of its own. */
async function ask(t, bytes, { port, hasBody } = {}) {
  const client = await join(t, port);
  client.write(bytes);
  return answer(client, hasBody);
}

const echoed = ({ body }) => JSON.parse(body.toString());

test('there are 89 cases', (t) => {
  const sizes = Object.values(CASES).map((cases) => cases.length);
  t.deepEqual(sizes, [8, 5, 7, 7, 9, 11, 5, 4, 2, 7, 8, 7, 7, 2]);
  t.is(
    sizes.reduce((one, other) => one + other),
    89,
  );
});

for (const [group, cases] of Object.entries(CASES)) {
  test(`statuses: ${group}`, async (t) => {
    for (const [name, bytes, status] of cases) {
      const client = await join(t);
      client.write(bytes);
      const seen = await answer(client, !bytes.startsWith('HEAD'));
      t.is(seen.status, status, `${name}: ${seen.body}`);
      t.truthy(Date.parse(seen.headers.Date), name);
      if (status === 400 || status === 501) t.is(seen.headers.Connection, 'close', name);
    }
  });
}

test('a request is understood, in one piece or in many', async (t) => {
  const bytes = Buffer.from(
    `PUT /api/echo?a=1+2&b=%26&__proto__=x HTTP/1.1\r\n${HOST}X-Two: 1\r\nx-two: 2\r\nContent-Type: application/json\r\n` +
      'Transfer-Encoding: chunked\r\n\r\n3;x=y\r\n{"a\r\n9\r\n":"\u20ac\u20ac\r\n2\r\n"}\r\n0\r\nSum: 1\r\n\r\n',
  );
  const client = await join(t);
  client.write(bytes);
  const whole = echoed(await answer(client));
  t.like(whole, { method: 'PUT', json: { a: '\u20ac\u20ac' }, form: null });
  t.is(whole.headers['x-two'], '1, 2');
  t.deepEqual(Object.entries(whole.query), [
    ['a', '1+2'],
    ['b', '&'],
    ['__proto__', 'x'],
  ]);
  t.deepEqual(whole.body, { raw: '{"a":"\u20ac\u20ac"}', contentType: 'application/json', contentLength: 'unset' });
  for (const byte of bytes) client.write(Buffer.of(byte));
  t.deepEqual(echoed(await answer(client)), whole);
});

test('requests that come together are answered in their order, and the connection stays', async (t) => {
  const client = await join(t);
  const post = `POST /api/echo HTTP/1.1\r\n${HOST}Content-Length: 5\r\n\r\nhello`;
  client.write(post + get('/api/echo?second') + get('/hello.txt', 'Connection: keep-alive'));
  t.is(echoed(await answer(client)).body.raw, 'hello');
  t.is(echoed(await answer(client)).uri, '/api/echo?second');
  const file = await answer(client);
  t.like(file.headers, { Connection: 'keep-alive', 'Keep-Alive': 'timeout=5, max=1000' });
  client.write(`GET / HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`);
  t.is((await answer(client)).headers.Connection, 'close');
  t.is(await client.rest(), '');
});

test('HTTP/1.0 is kept only where it asks for that', async (t) => {
  const client = await join(t);
  client.write('GET /hello.txt HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n');
  t.is((await answer(client)).headers.Connection, 'keep-alive');
  client.write('GET /hello.txt HTTP/1.0\r\n\r\n');
  t.is((await answer(client)).headers.Connection, 'close');
  t.is(await client.rest(), '');
});

test('the thousandth answer says that it is the last', async (t) => {
  const client = await join(t);
  client.write(get('/hello.txt').repeat(1001));
  for (let count = 1; count < 1000; count += 1) t.is((await answer(client)).headers.Connection, 'keep-alive');
  t.is((await answer(client)).headers.Connection, 'close');
  t.is(await client.rest(), '');
});

test('a client that has ended its sending side still gets the answers', async (t) => {
  const client = await join(t);
  client.end(get('/docs/info.json') + get('/about'));
  t.is((await answer(client)).headers['Content-Type'], 'application/json; charset=utf-8');
  t.is((await answer(client)).status, 200);
  t.is(await client.rest(), '');
});

test('two readings of where a body ends are one too many: the connection is closed', async (t) => {
  const client = await join(t);
  const both = 'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n';
  client.write(`POST /api/echo HTTP/1.1\r\n${HOST}${both}\r\n2\r\nhi\r\n0\r\n\r\n${get('/')}`);
  const seen = await answer(client);
  t.is(echoed(seen).body.raw, 'hi');
  t.is(seen.headers.Connection, 'close');
  t.is(await client.rest(), '');
});

test('line ends are CR and LF, and lines have a limit', async (t) => {
  t.is((await ask(t, `GET / HTTP/1.1\n${HOST}\n`)).status, 400);
  t.is((await ask(t, `GET / HTTP/1.1\r\n${HOST}X: ${'x'.repeat(20_000)}`)).status, 431);
  t.is((await ask(t, `GET / HTTP/1.1\r\n${HOST}${'X: y\r\n'.repeat(4000)}`)).status, 431);
  t.is((await ask(t, `GET / HTTP/1.1\r\n${HOST}X: a\0b\r\n\r\n`)).status, 400);
});

test('a client that waits for a word before it sends its body gets one', async (t) => {
  const client = await join(t);
  client.write(`POST /api/echo HTTP/1.1\r\n${HOST}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n`);
  t.is(await client.line(), 'HTTP/1.1 100 Continue\r');
  await client.line();
  client.write('h');
  client.write('i');
  t.is(echoed(await answer(client)).body.raw, 'hi');
});

test('a silent client is closed, with an answer if it has begun a request', async (t) => {
  const [silent, begun, kept] = [await join(t), await join(t), await join(t)];
  begun.write('GET / HT');
  kept.write(get('/hello.txt'));
  await answer(kept);
  const began = performance.now();
  t.is((await answer(begun)).status, 408);
  t.is(await begun.rest(), '');
  t.is(await silent.rest(), '');
  const first = performance.now() - began;
  t.is(await kept.rest(), '');
  const later = performance.now() - began;
  t.true(first > 1000 && later > 4000 && later > first, `${first} ms, ${later} ms`);
});

test('HEAD has the headers of GET and no body', async (t) => {
  const client = await join(t);
  for (const target of ['/', '/hello.txt', '/none']) {
    client.write(`HEAD ${target} HTTP/1.1\r\n${HOST}\r\n`);
    const head = await answer(client, false);
    client.write(get(target));
    const whole = await answer(client);
    t.deepEqual({ ...head.headers, Date: '' }, { ...whole.headers, Date: '' });
    t.is(head.headers['Content-Length'], String(whole.body.length));
  }
});

test('bytes of files arrive as they are, also to a client that reads slowly', async (t) => {
  const { port } = await serveFiles(t, { 'public/pixel.png': PIXEL, 'public/large.bin': large, 'public/none.txt': '' });
  const pixel = await ask(t, get('/pixel.png'), { port });
  t.true(pixel.body.equals(PIXEL));
  t.is(pixel.headers['Content-Type'], 'image/png');
  t.is((await ask(t, get('/none.txt'), { port })).body.length, 0);
  const socket = await stalled(t, { port });
  socket.write(get('/large.bin').repeat(5) + get('/large.bin', 'Connection: close'));
  // others are served meanwhile
  t.true((await ask(t, get('/pixel.png'), { port })).body.equals(PIXEL));
  const all = await drained(socket);
  let at = 0;
  for (let count = 0; count < 6; count += 1) {
    at = all.indexOf('\r\n\r\n', at) + 4;
    t.true(all.subarray(at, at + large.length).equals(large));
    at += large.length;
  }
  t.is(all.length, at);
});

test('unchanged files and parts of files', async (t) => {
  const text = '0123456789';
  const { port } = await serveFiles(t, { 'public/a.txt': text });
  const at = (...headers) => ask(t, get('/a.txt', ...headers), { port });
  const { ETag: etag, 'Last-Modified': modified } = (await at()).headers;
  for (const header of [`If-None-Match: ${etag}`, `If-None-Match: "x", W/${etag}`, `If-Modified-Since: ${modified}`]) {
    const { status, headers, body } = await at(header);
    t.deepEqual([status, headers.ETag, body.length], [304, etag, 0], header);
  }
  for (const header of ['If-None-Match: "x"', 'If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT']) {
    t.is((await at(header)).status, 200, header);
  }
  for (const [range, part, shown] of [
    ['0-0', '0', '0-0'],
    ['2-4', '234', '2-4'],
    ['8-', '89', '8-9'],
    ['8-100', '89', '8-9'],
    ['-3', '789', '7-9'],
    ['-100', text, '0-9'],
  ]) {
    const { status, headers, body } = await at(`Range: bytes=${range}`);
    t.deepEqual([status, String(body), headers['Content-Range']], [206, part, `bytes ${shown}/10`], range);
  }
  for (const range of ['bytes=4-2', 'bytes=0-1,3-4', 'lines=0-1', 'bytes=-', 'bytes=x-']) {
    t.is((await at(`Range: ${range}`)).status, 200, range);
  }
  for (const range of ['10-', '-0']) {
    const { status, headers, body } = await at(`Range: bytes=${range}`);
    t.deepEqual([status, headers['Content-Range'], body.length], [416, 'bytes */10', 0], range);
  }
  t.is((await at('Range: bytes=0-1', `If-Range: ${etag}`)).status, 206);
  t.is((await at('Range: bytes=0-1', 'If-Range: "old"')).status, 200);
});

test('nothing outside the folder is reached', async (t) => {
  const { root, port } = await serveFiles(t, {
    'public/in.txt': 'in',
    'public/a/b.txt': 'b',
    'secret.txt': 'secret',
    'public-too/out.txt': 'out',
  });
  const links = [
    ['../../secret.txt', 'public/a/link.txt'],
    ['../public-too', 'public/folder'],
    ['in.txt', 'public/inside.txt'],
    ['/dev/zero', 'public/device'],
  ];
  if (process.platform !== 'win32') for (const [to, name] of links) await symlink(to, path.join(root, name));
  const at = (target) => ask(t, get(target), { port });
  for (const target of [
    '/../secret.txt',
    '/a/../../secret.txt',
    '/%2e%2e/secret.txt',
    '/..%2fsecret.txt',
    '/a/..%2f..%2fsecret.txt',
    '/..%5csecret.txt',
    '/../public-too/out.txt',
    '//etc/passwd',
    '/%2fetc%2fpasswd',
    '/a/link.txt',
    '/folder/out.txt',
    '/device',
    '/in.txt/',
    '/a',
  ]) {
    const { status, body } = await at(target);
    t.is(status, 404, target);
    t.notRegex(String(body), /secret<|root:/, target);
  }
  for (const target of ['/in.txt%00', '/%00', '/%', '/%ff']) t.is((await at(target)).status, 400, target);
  for (const target of ['/a/../in.txt', '/./in.txt', 'http://x/in.txt', '/in.txt?query']) {
    t.is(String((await at(target)).body), 'in', target);
  }
  if (process.platform !== 'win32') t.is(String((await at('/inside.txt')).body), 'in');
});

test('error pages show the escaped request, and are text if the client does not accept HTML', async (t) => {
  const page = await ask(t, get("/none?'&=1"));
  t.is(page.headers['Content-Type'], 'text/html; charset=utf-8');
  t.true(String(page.body).includes('/none?&#39;&#38;=1'), String(page.body));
  const plain = await ask(t, get('/none', 'Accept: application/json'));
  t.is(plain.headers['Content-Type'], 'text/plain; charset=utf-8');
  t.is(String(plain.body), '/none\n');
  t.regex(String((await ask(t, `BREW / HTTP/1.1\r\n${HOST}\r\n`)).body), /PATCH.*HTTP\/2\.0/s);
});

signalTests(test)('lines of the log, and their sum', async (t) => {
  const own = folderFor(t, {});
  const log = path.join(own, 'own.log');
  const logged = await Example.start(SERVER, ['--port', '0', '--log', log]);
  t.teardown(() => logged.kill());
  for (const bytes of [get('/'), get('/hello.txt'), get('/none'), 'nonsense\r\n']) await ask(t, bytes, logged);
  await until(() => logged.output.includes('400'), 'the last line');
  t.is(await logged.end(), ended());
  const lines = (await readFile(log, 'utf8')).trim().split('\n');
  const time = /^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] /;
  for (const line of lines) t.regex(line, time);
  t.deepEqual(
    lines.map((line) =>
      line
        .replace(time, '')
        .replace(/\d+ms/, 'ms')
        .replace(/port \d+/, 'port'),
    ),
    [
      'INFO: listening on port',
      'GET / 200 (ms)',
      'GET /hello.txt 200 (ms)',
      'GET /none 404 (ms)',
      '- - 400 (ms)',
      'INFO: stopped',
    ],
  );
  const { code, output } = await Example.run(t, 'examples/strict-http/summary.mjs', [log]);
  t.is(code, 0, output);
  t.regex(output, /^4 requests, [\d.]+ ms each\n/);
  t.regex(output, /\n +2 200\n/);
});
