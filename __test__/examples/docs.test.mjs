// The programs in the guides: they run, and do what the text around them says. A block whose first line names a file
// is a whole file; any other is a fragment, which `docs-code.test.mjs` checks.
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inspect } from 'node:util';
import test from 'ava';

import { within } from '../support/deadline.mjs';
import { Example, ended } from '../support/example.mjs';
import { handshake } from '../support/http.mjs';
import { blocksOf, ROOT } from '../support/markdown.mjs';
import { parse_http_request } from '../support/millrace-sockets.mjs';
import { only } from '../support/platforms.mjs';
import { open, ownServer } from '../support/server.mjs';
import { TcpClient } from '../support/tcp.mjs';
import { remove } from '../support/teardown.mjs';
import { connect } from '../support/ws-client.mjs';

let folder;

test.before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'millrace-docs-'));
  await mkdir(path.join(folder, 'node_modules'));
  // As `npm install millrace` leaves it; Deno looks at package.json.
  await writeFile(path.join(folder, 'package.json'), '{"dependencies":{"millrace":"*"}}');
  await symlink(ROOT, path.join(folder, 'node_modules', 'millrace'), 'junction');
});
test.after.always(async () => {
  if (folder !== undefined) await remove(folder);
});

/** Writes a guide's files; resolves with the folder that they are in. */
async function unpack(guide) {
  const own = path.join(folder, guide);
  await mkdir(own);
  for (const { file, code } of await blocksOf(`docs/${guide}.md`)) {
    const anyPort = code
      .replace('127.0.0.1:8080', '127.0.0.1:0')
      .replace(/listen\((8080|7000),/, 'listen(0,')
      .replace("'127.0.0.1', 8080)", "'127.0.0.1', 0)");
    if (file !== undefined) await writeFile(path.join(own, file), anyPort);
  }
  return own;
}

test('getting started: the first server', async (t) => {
  const script = path.join(await unpack('getting-started'), 'server.mjs');
  const server = await Example.start(script, [], {}, /^listening on (\S+:\d+)\n/m);
  t.teardown(() => server.kill());
  const [one, two] = [await connect(t, server.url), await connect(t, server.url)];
  t.is(await one.text(), 'welcome');
  t.is(await two.text(), 'welcome');
  one.send('hello');
  const said = await one.text();
  t.regex(said, /^\d+: hello$/);
  t.is(await two.text(), said);
  t.is(await server.end(), ended());
});

test('channels: rooms', async (t) => {
  const workerPath = path.join(await unpack('channels'), 'worker.mjs');
  const server = await ownServer(t, { workerPath, threads: 2 });
  const [one, two] = [await open(t, server), await open(t, server)];
  const tell = (client, message) => client.send(JSON.stringify(message));
  tell(two, { command: 'enter', room: 'mill' });
  tell(two, { command: 'say', room: 'mill', body: 'myself' });
  t.is(await two.text(), 'heard by 0');
  tell(one, { command: 'say', room: 'mill', body: 'hello' });
  t.is(await one.text(), 'heard by 1');
  t.is(await two.text(), 'hello');
  tell(two, { command: 'leave', room: 'mill' });
  tell(two, { command: 'say', room: 'mill', body: 'anyone?' });
  t.is(await two.text(), 'heard by 0');
  tell(one, { command: 'say', room: 'mill', body: 'anyone?' });
  t.is(await one.text(), 'heard by 0');
});

test('channels: subscriptions are counted as the comments say', async (t) => {
  const { given, code } = (await blocksOf('docs/channels.md')).find((block) => block.code.includes('[]: it was there'));
  const lines = code.trim().split('\n');
  const claims = lines.map((line) => /^(.*); \/\/ \[(socketId)?\]: /.exec(line)?.slice(1));
  t.true(claims.every((claim) => claim !== undefined) && claims.length === 4, code);
  const workerPath = path.join(folder, 'counted.mjs');
  const results = `JSON.stringify([socketId, ${claims.map(([call]) => call).join(', ')}])`;
  const worker = `${given.split(';')[0]};\nimport { send } from 'millrace';
    export function handleTextMessage(text, socketId) { send(socketId, ${results}); }`;
  await writeFile(workerPath, worker);
  const client = await open(t, await ownServer(t, { workerPath, threads: 1 }));
  client.send('count');
  const [id, ...returned] = await client.json();
  t.deepEqual(
    returned,
    claims.map(([, given]) => (given === undefined ? [] : [id])),
  );
});

test('channels: what comes through a virtual socket is marked, until it is deleted', async (t) => {
  const { code } = (await blocksOf('docs/channels.md')).find((block) => block.code.includes('watchMatch'));
  const [, whole, call, expected] = /^(.*)\n(send\(.*\)); \/\/ arrives as "(.*)"\n$/s.exec(code);
  const workerPath = path.join(folder, 'views.mjs');
  const worker = `${whole}\nlet leave;
    export function handleTextMessage(text, socketId) {
      if (text === 'watch') leave = watchMatch(socketId, 7);
      if (text === 'leave') leave();
      send(socketId, String(${call}));
    }`;
  await writeFile(workerPath, worker);
  const client = await open(t, await ownServer(t, { workerPath, threads: 1 }));
  client.send('watch');
  t.deepEqual([await client.text(), await client.text()], [expected, '1']);
  client.send('leave');
  t.is(await client.text(), '0');
});

test('workers: three places for state', async (t) => {
  const workerPath = path.join(await unpack('workers'), 'worker.mjs');
  const server = await ownServer(t, { workerPath, workerArg: { language: 'fi' }, threads: 2 });
  const [one, two] = [await open(t, server, { path: '/here' }), await open(t, server, { path: '/there?x=1' })];
  one.send('sir');
  t.is(await one.text(), 'moi sir on /here, visitor 1');
  two.send('madam');
  t.is(await two.text(), 'moi madam on /there, visitor 2');
});

test('authentication: a signed cookie', async (t) => {
  const workerPath = path.join(await unpack('authentication'), 'worker.mjs');
  const server = await ownServer(t, { workerPath, workerArg: { secret: 'guide' }, threads: 1 });
  const cookie = (secret) => `session=anna.${createHmac('sha256', secret).update('anna').digest('base64url')}`;
  for (const headers of [{}, { Cookie: 'session=' }, { Cookie: cookie('wrong') }]) {
    const answer = await handshake(server.addresses[0], { headers });
    t.is(answer.status, 401);
    t.is(answer.body, 'log in first');
    t.is(answer.headers['content-type'], 'text/plain');
  }
  const anna = await open(t, server, { headers: { Cookie: cookie('guide') } });
  anna.send('hello');
  t.is(await anna.text(), 'anna said hello');
});

test('apps: on the calling thread, and in workers', async (t) => {
  const guide = await unpack('http-app');
  const listening = /^listening on (\S+:\d+)\n/m;
  const app = await Example.start(path.join(guide, 'app.mjs'), [], {}, listening);
  t.teardown(() => app.kill());
  const hello = await fetch(`${app.url}/hello/anna%20b`);
  t.is(hello.headers.get('x-path'), '/hello/anna%20b');
  t.deepEqual(await hello.json(), { hello: 'anna b' });
  t.is(await (await fetch(`${app.url}/echo`, { method: 'POST', body: 'said' })).text(), 'said');
  const workers = await Example.start(path.join(guide, 'server.mjs'), [], {}, listening);
  t.teardown(() => workers.kill());
  t.is(await (await fetch(workers.url)).text(), 'hello');
});

only(
  test,
  process.platform === 'linux',
  'epoll is of Linux',
)('sockets: an echo server with epoll', async (t) => {
  const script = path.join(await unpack('sockets'), 'server.mjs');
  const server = await Example.start(script, [], {}, /^listening on (tcp:\/\/\S+:\d+)\n/m);
  t.teardown(() => server.kill());
  const clients = Array.from({ length: 3 }, () => net.connect(Number(server.port), '127.0.0.1'));
  for (const client of clients) t.teardown(() => client.destroy());
  for (const [index, client] of clients.entries()) {
    client.write(`hello ${index}`);
    const [answer] = await within(once(client, 'data'), 'the echo');
    t.is(String(answer), `hello ${index}`);
  }
  // one that ends, and one that is gone, cost nobody anything
  clients[0].end();
  await within(once(clients[0], 'close'), 'the end');
  clients[1].resetAndDestroy();
  clients[2].write('again');
  const [answer] = await within(once(clients[2], 'data'), 'the echo');
  t.is(String(answer), 'again');
});

test('sockets: the parts of a request are as the comments say', async (t) => {
  const { code } = (await blocksOf('docs/sockets.md')).find((block) => block.code.includes('parse_http_request('));
  const claims = [...code.matchAll(/^console\.log\((.*)\); \/\/ (.*)$/gm)];
  t.is(claims.length, 4);
  const request = parse_http_request(JSON.parse(`"${/parse_http_request\('(.*)'\)/.exec(code)[1]}"`));
  for (const [, values, said] of claims) {
    const shown = values.split(', ').map((name) => request[name.replace('request.', '')]);
    const expected = said === 'empty' ? '' : said;
    t.is(shown.map((value) => (typeof value === 'string' ? value : inspect(value))).join(' '), expected);
  }
});

test('TCP servers: lines in capitals, and a file', async (t) => {
  const guide = await unpack('tcp-server');
  await writeFile(path.join(guide, 'README.md'), 'read me '.repeat(500_000));
  const start = async (name) => {
    const server = await Example.start(path.join(guide, name), [], {}, /^listening on (\d+)\n/m);
    t.teardown(() => server.kill());
    return TcpClient.connect(t, `127.0.0.1:${server.url}`);
  };
  const echo = await start('echo.mjs');
  echo.write('one\ntwo\nthr');
  t.is(await echo.line(), 'ONE');
  t.is(await echo.line(), 'TWO');
  echo.write('ee\n');
  t.is(await echo.line(), 'THREE');
  const files = await start('files.mjs');
  files.write('readme\n');
  t.is((await files.rest()).length, 4_000_000);
});
