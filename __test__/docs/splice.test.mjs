// The guide to splice: its programs do what the text says, and a listener says what the listing and the picture show.
import { mkdir, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'ava';
import { WebSocketServer } from 'ws';

import { Example } from '../support/example.mjs';
import { handshake } from '../support/http.mjs';
import { blocksOf, fileOf, ROOT, readPage } from '../support/markdown.mjs';
import { freePort } from '../support/ports.mjs';
import { remove } from '../support/teardown.mjs';
import { connect } from '../support/ws-client.mjs';

const PAGE = 'docs/splice.md';
const LISTENING = /^listening on (\S+:\d+)\n/m;

let folder;

test.before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'millrace-splice-guide-'));
  await mkdir(path.join(folder, 'node_modules'));
  await writeFile(path.join(folder, 'package.json'), '{"dependencies":{"millrace":"*","ws":"*"}}');
  await symlink(ROOT, path.join(folder, 'node_modules', 'millrace'), 'junction');
  await symlink(path.join(ROOT, 'node_modules', 'ws'), path.join(folder, 'node_modules', 'ws'), 'junction');
});
test.after.always(async () => {
  if (folder !== undefined) await remove(folder);
});

/** Writes a program; resolves with its path. */
async function write(name, code) {
  const file = path.join(folder, name);
  await writeFile(file, code);
  return file;
}

/** Runs a program until it has printed all of these lines. */
async function prints(t, script, lines) {
  const program = await Example.start(script, [], {}, /^(\S.*)\n/m);
  t.teardown(() => program.kill());
  for (const line of lines) await program.printed(`${line}\n`);
  return program;
}

/** A server with what it has been asked: `{url, requests}`. */
async function source(t, greet = () => {}) {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await new Promise((resolve) => server.once('listening', resolve));
  t.teardown(() => {
    for (const socket of server.clients) socket.terminate();
    server.close();
  });
  const requests = [];
  server.on('connection', (socket, request) => {
    requests.push(request);
    greet(socket);
  });
  return { url: `ws://127.0.0.1:${server.address().port}`, requests };
}

/** Runs a listener for sessions with this module. */
async function listener(t, name, module) {
  const script = await write(
    `${name}.mjs`,
    `import { start } from 'millrace';
    const server = await start({
      bind: { address: '127.0.0.1:0', protocol: 'splice', privateTargets: true },
      workerPath: ${JSON.stringify(await write(`${name}-worker.mjs`, module))},
      threads: 1,
    });
    console.log('listening on ' + server.addresses[0]);\n`,
  );
  const program = await Example.start(script, [], {}, LISTENING);
  t.teardown(() => program.kill());
  return program.url;
}

const control = (call) => Buffer.from(`\xff\xff${JSON.stringify(call)}`, 'latin1');

test('the first example: two sources over one connection, and the same by hand', async (t) => {
  const ports = new Map();
  for (const port of [8080, 9001, 9002]) ports.set(String(port), String(await freePort()));
  const unpacked = async (name) => {
    const code = await fileOf(PAGE, name);
    return write(
      name,
      code.replaceAll(/\b(?:8080|9001|9002)\b/g, (port) => ports.get(port)),
    );
  };
  const [first, second] = [ports.get('9001'), ports.get('9002')];
  await prints(t, await unpacked('sources.mjs'), [
    `prices: ws://localhost:${first}`,
    `weather: ws://localhost:${second}`,
  ]);
  await prints(t, await unpacked('server.mjs'), [`listening on 127.0.0.1:${ports.get('8080')}`]);
  await prints(t, await unpacked('client.mjs'), [
    'hello from prices',
    'hello from weather',
    'prices got a question',
    'weather got a question',
  ]);
  await prints(t, await unpacked('plain.mjs'), [
    'control {"id":1,"type":"reply","result":{"index":0}}',
    'target 0 hello from prices',
    'target 0 prices got a question',
  ]);
  // the text says that the address is not the name
  const session = await connect(t, `127.0.0.1:${ports.get('8080')}`);
  session.send(control({ id: 1, method: 'connect', params: { url: `ws://127.0.0.1:${first}` } }));
  t.is(JSON.parse((await session.next()).data.toString('utf8', 2)).error.code, 4006);
});

test('who may connect: a cookie, and feeds by names whose keys nobody sees', async (t) => {
  const prices = await source(t, (socket) => socket.send('42'));
  const code = await fileOf(PAGE, 'worker.mjs');
  t.true(code.includes('wss://prices.example/v2/stream'));
  const address = await listener(t, 'feeds', code.replace('wss://prices.example/v2/stream', `${prices.url}/v2/stream`));
  const refused = await handshake(address);
  t.deepEqual([refused.status, refused.body], [401, 'log in first']);
  const session = await connect(t, address, { headers: { Cookie: 'a=b; user=anna' } });
  const opened = async (url) => {
    session.send(control({ id: 1, method: 'connect', params: { url, headers: { Authorization: 'mine' } } }));
    return JSON.parse((await session.next()).data.toString('utf8', 2));
  };
  t.deepEqual((await opened('wss://feeds/prices')).result, { index: 0 });
  t.is((await session.next()).data, '\0\x0042');
  t.is((await opened('wss://feeds/others')).error.code, 4006);
  t.is((await opened(prices.url)).error.code, 4006);
  const [request, ...more] = prices.requests;
  t.deepEqual([request.url, request.headers.authorization, more.length], ['/v2/stream', 'Bearer our-own-key', 0]);
});

/** The bytes that begin a line, as pairs of digits, and the JSON behind them. */
function bytesOf(line) {
  const digits = /^(?:[0-9A-F]{2}(?: |$))+/.exec(line)?.[0] ?? '';
  const document = /^\{.*$/.exec(line.slice(digits.length))?.[0] ?? '';
  return Buffer.concat([Buffer.from(digits.replaceAll(' ', ''), 'hex'), Buffer.from(document)]);
}

/** The texts of a class in the picture, those that go on in one. */
function drawn(picture, name) {
  const texts = [...picture.matchAll(/<text class="([^"]*)"[^>]*>([^<]*)<\/text>/g)]
    .filter(([, classes]) => classes.split(' ').includes(name))
    .map(([, , text]) => text);
  const whole = [];
  for (const text of texts) {
    if (/^[0-9A-F]{2} /.test(text)) whole.push(text);
    else whole.push(`${whole.at(-1)}${whole.pop().endsWith(',') ? '' : ' '}${text}`);
  }
  return whole;
}

test('a listener has the conversation that the page and its picture show', async (t) => {
  const prices = await source(t, (socket) => {
    socket.on('message', (data) => String(data) === 'hi' && socket.send('42'));
  });
  const news = await source(t, (socket) => socket.send(Buffer.from([7, 8, 9])));
  const targets = { 'wss://prices.example/': prices.url, 'wss://news.example/': news.url };
  const module = `const targets = ${JSON.stringify(targets)};
    export const handleSpliceConnect = (url) => targets[url] ?? false;\n`;
  const session = await connect(t, await listener(t, 'conversation', module));

  const listing = (await blocksOf(PAGE)).find(({ language, code }) => language === 'text' && code.startsWith('client'));
  const said = listing.code
    .trimEnd()
    .split('\n')
    .map((line) => ({ who: line.slice(0, 10).trim(), bytes: bytesOf(line.slice(10)) }));
  t.true(said.length >= 10);
  for (const { who, bytes } of said) {
    if (who === 'client') {
      session.send(bytes);
    } else {
      const { data } = await session.next();
      t.is(Buffer.from(data).toString('latin1'), bytes.toString('latin1'));
    }
  }

  const picture = await readFile(path.join(ROOT, 'docs/images/splice-conversation.svg'), 'utf8');
  for (const name of ['client', 'Millrace']) {
    const expected = said.filter(({ who }) => who === name).map(({ bytes }) => bytes);
    t.deepEqual(drawn(picture, name.toLowerCase()).map(bytesOf), expected, name);
  }
  // what is for a target, or comes from it, has no index there; the last one reaches nobody
  const relayed = said.map(({ bytes }) => bytes).filter((bytes) => bytes.readUInt16BE(0) !== 0xffff);
  const bare = relayed.slice(0, -1).map((bytes) => bytes.subarray(2));
  t.deepEqual(drawn(picture, 'target').map(bytesOf), bare);
  t.true((await readPage(PAGE)).includes('images/splice-conversation.svg'));
});
