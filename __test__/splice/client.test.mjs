// The splice client: its sockets have the visible behaviour of a WebSocket.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { WebSocket } from 'ws';
import { tool } from '../../scripts/process.mjs';
import { until, within } from '../support/deadline.mjs';
import { folderFor } from '../support/files.mjs';
import { connect, SpliceSocket } from '../support/millrace-splice-client.mjs';
import { client, each, next, opened, throwsNamed, told } from '../support/splice-client.mjs';
import { echo, multiplexer } from '../support/splice-multiplexer.mjs';

const FILE = new URL('../../js/dist/splice-client.mjs', import.meta.url);

/** As in a project for browsers. */
const BROWSER = {
  lib: ['es2022', 'dom'],
  types: [],
  strict: true,
  noEmit: true,
  module: 'esnext',
  moduleResolution: 'bundler',
};

each('messages are sent and received as text and as bytes', async (t, multiplexer) => {
  const target = await echo(t);
  const mux = client(t, await multiplexer());
  const socket = mux.open(target.url);
  t.is(socket.readyState, WebSocket.CONNECTING);
  throwsNamed(t, () => socket.send('too early'), 'InvalidStateError');
  await next(socket, 'open');
  t.deepEqual([socket.readyState, socket.url, socket.protocol, socket.extensions], [1, `${target.url}/`, '', '']);
  const texts = ['', 'a', 'caf\u{e9} \u{1f600}', '\u{feff}\0', 'x'.repeat(100_000)];
  for (const text of texts) {
    socket.send(text);
    const event = await next(socket, 'message');
    t.true(event.data === text && event instanceof MessageEvent);
    t.is(event.origin, target.url);
  }
  socket.send('\ud800');
  t.is((await next(socket, 'message')).data, '\u{fffd}');
  socket.send(17);
  t.is((await next(socket, 'message')).data, '17');
  const bytes = Uint8Array.from({ length: 300 }, (_, index) => index);
  const shared = new Uint8Array(new SharedArrayBuffer(300));
  shared.set(bytes);
  for (const data of [bytes, bytes.buffer, new DataView(bytes.buffer, 0), shared, shared.buffer, new Blob([bytes])]) {
    socket.binaryType = 'arraybuffer';
    socket.send(data);
    const { data: buffer } = await next(socket, 'message');
    t.true(buffer instanceof ArrayBuffer);
    t.deepEqual(new Uint8Array(buffer), bytes);
    socket.binaryType = 'blob';
    socket.send(data);
    const { data: blob } = await next(socket, 'message');
    t.true(blob instanceof Blob);
    t.deepEqual(new Uint8Array(await blob.arrayBuffer()), bytes);
  }
  socket.binaryType = 'arraybuffer';
  socket.send(bytes.subarray(2, 5));
  t.deepEqual([...new Uint8Array((await next(socket, 'message')).data)], [2, 3, 4]);
  socket.send(new ArrayBuffer(0));
  t.is((await next(socket, 'message')).data.byteLength, 0);
});

each('text is text whatever index its socket has', async (t, multiplexer) => {
  const target = await echo(t);
  const mux = client(t, await multiplexer());
  const sockets = await Promise.all(Array.from({ length: 300 }, () => opened(mux, target.url)));
  for (const [index, socket] of sockets.entries()) socket.send(`caf\u{e9} ${index}`);
  const answers = await Promise.all(sockets.map((socket) => next(socket, 'message')));
  t.deepEqual(
    answers.map(({ data }) => data),
    sockets.map((_, index) => `caf\u{e9} ${index}`),
  );
});

for (const firstIndex of [0x80, 0x8000]) {
  test(`a multiplexer that gives no index for text, but ${firstIndex}, is detected`, async (t) => {
    const target = await echo(t);
    const splice = await multiplexer(t, { firstIndex });
    const mux = client(t, splice);
    const socket = mux.open(target.url);
    const events = told(socket);
    await next(socket, 'close');
    t.deepEqual(events, [
      ['error', undefined, true],
      ['close', 1006, '', false],
    ]);
    await until(() => splice.calls.length === 2, 'its end');
    t.deepEqual(splice.calls[1], { method: 'terminate', params: { index: firstIndex } });
  });
}

each('it has the constants, handlers and attributes of a WebSocket', async (t, multiplexer) => {
  const target = await echo(t);
  const mux = client(t, await multiplexer());
  const socket = mux.open(target.url);
  for (const place of [SpliceSocket, socket]) {
    t.deepEqual([place.CONNECTING, place.OPEN, place.CLOSING, place.CLOSED], [0, 1, 2, 3]);
  }
  t.true(socket instanceof SpliceSocket && socket instanceof EventTarget);
  t.is(socket.binaryType, 'blob');
  socket.binaryType = 'nodebuffer';
  t.is(socket.binaryType, 'blob');
  t.deepEqual([socket.onopen, socket.onmessage, socket.onerror, socket.onclose], [null, null, null, null]);
  const events = [];
  socket.onopen = function (event) {
    events.push(`first ${event.type}`);
    t.is(this, socket);
  };
  socket.addEventListener('open', () => events.push('second'));
  const handler = (event) => events.push(`handler ${event.type}`);
  socket.onopen = handler;
  t.is(socket.onopen, handler);
  socket.onmessage = ({ data }) => {
    events.push(data);
    socket.onmessage = null;
    socket.send('unheard');
    socket.close();
  };
  const closed = new Promise((resolve) => {
    socket.onclose = resolve;
  });
  await next(socket, 'open');
  socket.onopen = 'nothing';
  t.is(socket.onopen, null);
  socket.send('heard');
  const event = await within(closed, 'close');
  t.deepEqual(events, ['handler open', 'second', 'heard']);
  t.deepEqual([event.type, event.code, event.wasClean, socket.readyState], ['close', 1000, true, 3]);
});

each("subprotocols and headers go to the target, and the target's choice comes back", async (t, multiplexer) => {
  const seen = [];
  const target = await echo(t, (_, { headers }) => seen.push(headers));
  const mux = client(t, await multiplexer());
  const options = { protocols: ['v1.chat', 'v2.chat'], headers: { 'X-Name': 'a', Origin: 'https://a.example' } };
  const socket = await opened(mux, target.url, options);
  t.is(socket.protocol, 'v2.chat');
  t.is((await opened(mux, target.url, { protocols: 'chat' })).protocol, 'chat');
  t.is(seen[0]['x-name'], 'a');
  t.is(seen[0].origin, 'https://a.example');
  t.deepEqual(seen[0]['sec-websocket-protocol'].split(/, */), ['v1.chat', 'v2.chat']);
});

test('the timeout goes to the multiplexer', async (t) => {
  const target = await echo(t);
  const splice = await multiplexer(t);
  await opened(client(t, splice), target.url, { timeout: 1234 });
  t.is(splice.calls[0].params.timeout, 1234);
});

test('an invalid URL or subprotocol throws', async (t) => {
  const mux = client(t, await multiplexer(t));
  for (const url of ['', '/path', 'a.example', 'http://a', 'ftp://a', 'ws://', 'ws://a#', 'ws://a/#b', 'ws://a b']) {
    throwsNamed(t, () => mux.open(url), 'SyntaxError');
  }
  for (const protocols of ['', 'a b', 'a,b', ['a', 'a'], ['\u{e9}'], ['a', '']]) {
    throwsNamed(t, () => mux.open('ws://a', { protocols }), 'SyntaxError');
  }
  t.is(mux.open(new URL('wss://B\u{fc}cher.example:443/a b')).url, 'wss://xn--bcher-kva.example/a%20b');
  t.is(mux.open('millrace:/chat?room=1').url, 'millrace:/chat?room=1');
});

each('early messages of a target are not lost, even for code that awaits the opening', async (t, multiplexer) => {
  const target = await echo(t);
  const mux = client(t, await multiplexer());
  for (const path of ['/hello', '/bye']) {
    const socket = mux.open(target.url + path, { headers: { 'X-Name': 'you' } });
    await next(socket, 'open');
    await undefined;
    const events = told(socket);
    socket.onmessage = () => undefined;
    await until(() => events.length === (path === '/bye' ? 3 : 2), 'all messages');
    const end = path === '/bye' ? [['close', 4001, 'bye', true]] : [];
    t.deepEqual(events, ['hello you', 'again you', ...end]);
  }
});

each('order is kept, also between text and bytes', async (t, multiplexer) => {
  const target = await echo(t);
  const mux = client(t, await multiplexer());
  const socket = mux.open(target.url);
  socket.binaryType = 'arraybuffer';
  const got = [];
  socket.onmessage = ({ data }) => got.push(typeof data === 'string' ? Number(data) : new Uint32Array(data)[0]);
  socket.onopen = () => {
    for (let at = 0; at < 2000; at += 1) socket.send(at % 3 === 0 ? Uint32Array.of(at) : String(at));
  };
  await until(() => got.length === 2000, 'all');
  t.deepEqual(
    got,
    got.map((_, at) => at),
  );
});

test('bufferedAmount counts the unsent bytes of one socket', async (t) => {
  const target = await echo(t, (socket) => socket.pause());
  const splice = await multiplexer(t);
  const mux = client(t, splice);
  const [busy, idle] = await Promise.all([opened(mux, target.url), opened(mux, target.url)]);
  for (const one of splice.clients) one._socket.pause();
  let sent = 0;
  await until(() => {
    busy.send(new Uint8Array(1 << 20));
    sent += 1 << 20;
    return busy.bufferedAmount > 4 << 20;
  }, 'full buffers');
  t.true(busy.bufferedAmount <= sent);
  t.is(idle.bufferedAmount, 0);
  const before = busy.bufferedAmount;
  idle.send('x\u{e9}');
  t.is(idle.bufferedAmount, 3);
  t.is(busy.bufferedAmount, before);
  for (const one of splice.clients) one._socket.resume();
  await until(() => busy.bufferedAmount === 0 && idle.bufferedAmount === 0, 'empty buffers');
});

test('the multiplexer warns', async (t) => {
  const target = await echo(t);
  const splice = await multiplexer(t);
  const mux = client(t, splice);
  await opened(mux, target.url);
  const [there] = splice.clients;
  there.emit('message', Buffer.from([0, 9, 1]), true);
  const event = await next(mux, 'warn');
  t.deepEqual([event.type, event.code, event.message], ['warn', 4004, 'no such target']);
});

test('without a WebSocket, the error says what is missing', (t) => {
  if (globalThis.WebSocket !== undefined) return t.pass('this runtime has one');
  t.throws(() => connect('ws://127.0.0.1:1'), { instanceOf: TypeError, message: /options\.WebSocket/ });
});

test('CommonJS gets the same', async (t) => {
  const required = createRequire(import.meta.url)('../../js/dist/splice-client.js');
  t.deepEqual(Object.keys(required).sort(), ['SpliceSocket', 'connect']);
  const target = await echo(t);
  const { url } = await multiplexer(t);
  const mux = required.connect(url, { WebSocket });
  t.teardown(() => mux.close());
  const socket = await opened(mux, target.url);
  socket.send('a');
  t.is((await next(socket, 'message')).data, 'a');
});

test('the ES module imports nothing and has at most 3 KiB, compressed', async (t) => {
  const source = await readFile(FILE);
  t.false(/\bimport\b|\brequire\b|\bprocess\b|\bBuffer\b/.test(source));
  const { length } = gzipSync(source, { level: 9 });
  t.log(`${length} bytes`);
  t.true(length <= 3 * 1024, `${length} bytes`);
});

test('if the platform has types for it, a socket is a WebSocket', async (t) => {
  const folder = folderFor(t, {
    'main.ts': `
import { connect, type SpliceSocket } from ${JSON.stringify(fileURLToPath(FILE))};
const socket: WebSocket = connect('wss://a', { WebSocket }).open('wss://b');
socket.onclose = (event: CloseEvent) => event.wasClean;
const other: SpliceSocket = connect('wss://a').open('wss://b');
other.onmessage = (event: MessageEvent<string>) => event.data.trim();
other.addEventListener('close', (event: CloseEvent) => event.code);
// @ts-expect-error the types are not any
other.onclose = (event: MessageEvent) => event;
`,
    'tsconfig.json': JSON.stringify({ compilerOptions: BROWSER }),
  });
  const [command, ...args] = [...tool('typescript', 'tsc'), '--project', folder];
  const { stdout } = await promisify(execFile)(command, args).catch((error) => error);
  t.is(stdout, '');
});
