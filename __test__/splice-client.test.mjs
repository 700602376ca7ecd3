// The client of the splice multiplexer: what it opens is a WebSocket in all that can be seen of it.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { WebSocket } from 'ws';
import { tool } from '../scripts/process.mjs';
import { until, within } from './support/deadline.mjs';
import { folderFor } from './support/files.mjs';
import { connect, SpliceSocket } from './support/millrace-splice-client.mjs';
import { client, each, next, opened, throwsNamed, told } from './support/splice-client.mjs';
import { echo, multiplexer } from './support/splice-multiplexer.mjs';

const FILE = new URL('../js/dist/splice-client.mjs', import.meta.url);

/** As a project for browsers has it. */
const BROWSER = {
  lib: ['es2022', 'dom'],
  types: [],
  strict: true,
  noEmit: true,
  module: 'esnext',
  moduleResolution: 'bundler',
};

each('messages go and come as text and as bytes', async (t, multiplexer) => {
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

test('a multiplexer without indices for text is told from one that has them', async (t) => {
  const target = await echo(t);
  const splice = await multiplexer(t, { firstIndex: 0x8080 });
  const mux = client(t, splice);
  const socket = mux.open(target.url);
  const events = told(socket);
  await next(socket, 'close');
  t.deepEqual(events, [
    ['error', undefined, true],
    ['close', 1006, '', false],
  ]);
  await until(() => splice.calls.length === 2, 'its end');
  t.deepEqual(splice.calls[1], { method: 'terminate', params: { index: 0x8080 } });
});

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

each('subprotocols and headers go to the target, and what it chose comes back', async (t, multiplexer) => {
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

test('what is no URL of a WebSocket, and no subprotocol, throws', async (t) => {
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

each('a target that closes tells its code and reason', async (t, multiplexer) => {
  const target = await echo(t);
  for (const closedName of ['onSocketDisconnect', 'onSocketClosed']) {
    const mux = client(t, await multiplexer({ closedName }));
    const socket = await opened(mux, target.url);
    const events = told(socket);
    for (const one of target.clients) one.close(4123, 'caf\u{e9}');
    await next(socket, 'close');
    t.deepEqual(events, [['close', 4123, 'caf\u{e9}', true]]);
    t.is(socket.readyState, 3);
    socket.close();
    socket.send('nobody is there');
    t.is(socket.bufferedAmount, 15);
    socket.send(new Uint8Array(5));
    socket.send(new Blob(['abc']));
    t.is(socket.bufferedAmount, 23);
  }
});

each('a target that is lost is no clean end', async (t, multiplexer) => {
  const target = await echo(t);
  const mux = client(t, await multiplexer());
  const socket = await opened(mux, target.url);
  const events = told(socket);
  for (const one of target.clients) one.terminate();
  await next(socket, 'close');
  t.deepEqual(events, [['close', 1006, '', false]]);
});

each('close gives the target code and reason', async (t, multiplexer) => {
  const target = await echo(t);
  const mux = client(t, await multiplexer());
  for (const [given, code, reason] of [
    [[], 1000, ''],
    [[3001], 3001, ''],
    [[4999, 'caf\u{e9}'], 4999, 'caf\u{e9}'],
    [[undefined, 'why'], 1000, 'why'],
  ]) {
    const socket = await opened(mux, target.url);
    const events = told(socket);
    const [there] = target.clients;
    const closed = within(once(there, 'close'), 'the end at the target');
    socket.close(...given);
    t.is(socket.readyState, 2);
    socket.close(4000, 'not any more');
    const [seen, bytes] = await closed;
    t.deepEqual([seen, String(bytes)], [code, reason]);
    if (socket.readyState !== 3) await next(socket, 'close');
    t.deepEqual(events, [['close', code, reason, true]]);
  }
});

test('close refuses codes and reasons that a WebSocket refuses', async (t) => {
  const target = await echo(t);
  const mux = client(t, await multiplexer(t));
  const socket = await opened(mux, target.url);
  for (const code of [0, 999, 1001, 1005, 2999, 5000, 65_535]) {
    throwsNamed(t, () => socket.close(code), 'InvalidAccessError');
    throwsNamed(t, () => mux.close(code), 'InvalidAccessError');
  }
  for (const reason of ['x'.repeat(124), '\u{e9}'.repeat(62)]) {
    throwsNamed(t, () => socket.close(1000, reason), 'SyntaxError');
    throwsNamed(t, () => mux.close(1000, reason), 'SyntaxError');
  }
  t.deepEqual([socket.readyState, mux.readyState], [1, 1]);
});

each('messages are ignored once close was called', async (t, multiplexer) => {
  const target = await echo(t);
  const socket = await opened(client(t, await multiplexer()), target.url);
  const events = told(socket);
  socket.send('its echo comes too late');
  socket.close();
  await next(socket, 'close');
  t.deepEqual(events, [['close', 1000, '', true]]);
});

each('a target that cannot be reached is an error and a close', async (t, multiplexer) => {
  const mux = client(t, await multiplexer());
  const socket = mux.open('ws://127.0.0.1:1');
  const events = told(socket);
  await next(socket, 'close');
  t.deepEqual(events, [
    ['error', 4007, true],
    ['close', 1006, '', false],
  ]);
  t.is(socket.readyState, 3);
});

each('closing before it is open is a failure, and leaves nothing at the target', async (t, multiplexer) => {
  const target = await echo(t);
  const mux = client(t, await multiplexer());
  await next(mux, 'open');
  const socket = mux.open(target.url);
  const events = told(socket);
  socket.close();
  t.is(socket.readyState, 2);
  await next(socket, 'close');
  t.deepEqual(events, [
    ['error', undefined, false],
    ['close', 1006, '', false],
  ]);
  const other = await opened(mux, target.url);
  await until(() => target.clients.size === 1, 'the end of the first');
  other.send('a');
  t.is((await next(other, 'message')).data, 'a');
  t.is(events.length, 2);
});

each('what a target sends at once is not lost, even for who awaits the opening', async (t, multiplexer) => {
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

each('order is kept, between text and bytes too', async (t, multiplexer) => {
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

test('bufferedAmount counts what has not left, of one socket', async (t) => {
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

each('a lost multiplexer closes all sockets', async (t, multiplexer) => {
  const target = await echo(t);
  const splice = await multiplexer();
  const mux = client(t, splice);
  const sockets = [await opened(mux, target.url), await opened(mux, target.url)];
  const events = sockets.map(told);
  const ends = [mux, ...sockets].map((one) => next(one, 'close'));
  splice.lose();
  const [{ code, wasClean }] = await Promise.all(ends);
  t.deepEqual([code, wasClean, mux.readyState], [1006, false, 3]);
  t.deepEqual(events, [[['close', 1006, '', false]], [['close', 1006, '', false]]]);
  const late = mux.open(target.url);
  const failure = told(late);
  await next(late, 'close');
  t.deepEqual(failure, [
    ['error', undefined, false],
    ['close', 1006, '', false],
  ]);
});

each('closing the multiplexer closes its targets with the same code and reason', async (t, multiplexer) => {
  const target = await echo(t);
  const mux = client(t, await multiplexer());
  const socket = await opened(mux, target.url);
  const events = told(socket);
  const [there] = target.clients;
  const closed = within(once(there, 'close'), 'the end at the target');
  const over = next(mux, 'close');
  mux.close(4321, 'enough');
  t.deepEqual([socket.readyState, mux.readyState], [2, 2]);
  const [code, reason] = await closed;
  t.deepEqual([code, String(reason)], [4321, 'enough']);
  if (socket.readyState !== 3) await next(socket, 'close');
  // a server need not repeat the reason
  t.deepEqual(events, [['close', 4321, (await over).reason, true]]);
});

test('a socket that is not open yet fails when the multiplexer is closed', async (t) => {
  const target = await echo(t);
  const mux = client(t, await multiplexer(t));
  await next(mux, 'open');
  const socket = mux.open(target.url);
  const events = told(socket);
  const over = next(mux, 'close');
  mux.close();
  t.is(socket.readyState, 2);
  await next(socket, 'close');
  await over;
  t.deepEqual(events, [
    ['error', undefined, false],
    ['close', 1006, '', false],
  ]);
});

test('without a WebSocket anywhere it says what is missing', (t) => {
  if (globalThis.WebSocket !== undefined) return t.pass('this runtime has one');
  t.throws(() => connect('ws://127.0.0.1:1'), { instanceOf: TypeError, message: /options\.WebSocket/ });
});

test('CommonJS gets the same', async (t) => {
  const required = createRequire(import.meta.url)('../js/dist/splice-client.js');
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

test('where the platform has types for it, a socket is a WebSocket', async (t) => {
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
