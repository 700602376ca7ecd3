// Compression: its memory is bounded, a bomb costs its bound, and every way to open a WebSocket negotiates it.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';

import ava from 'ava';

import { Authority } from '../support/certificates.mjs';
import { until, within } from '../support/deadline.mjs';
import { Compression, deflate, deflated } from '../support/deflate.mjs';
import { BINARY, frame } from '../support/frames.mjs';
import { createApp } from '../support/http-app.mjs';
import { openSession } from '../support/http2.mjs';
import { needing } from '../support/needing.mjs';
import { open, ownServer, RUNTIME, worker } from '../support/server.mjs';
import { connect } from '../support/ws-client.mjs';

const test = ava;
const MIB = 1 << 20;
const ECHO = { workerPath: worker('echo'), threads: 1, ioThreads: 1 };

/** 1 GiB of zeros, compressed: an independent MiB, repeated. */
const BOMB = Buffer.concat(
  Array.from({ length: 1024 }, () => Buffer.concat([deflate(Buffer.alloc(MIB)), Buffer.from([0, 0, 0xff, 0xff])])),
);

test('1 GiB in 1 MiB closes with 1009, costs its bound, and delays no other connection', async (t) => {
  t.true(BOMB.length < 1.2 * MIB && BOMB.length > MIB / 2, `${BOMB.length} bytes`);
  const server = await ownServer(t, { ...ECHO, compression: true });
  const other = await open(t, server, { compression: new Compression() });
  const before = (await server.usage()).rss;
  let most = 0;
  for (let round = 0; round < 5; round++) {
    const ws = await open(t, server, { compression: new Compression() });
    await ws.raw(frame({ opcode: BINARY, payload: BOMB.subarray(0, -4), rsv: 4 }));
    t.is((await ws.closed()).code, 1009);
    await other.raw(deflated('still here'));
    t.is(await other.text(), 'still here');
    most = Math.max(most, (await server.usage()).rss);
  }
  // 16 MiB for the text, and what was received
  t.true(most - before < 40 * MIB, `${(most - before) / MIB} MiB more`);
});

test('contexts come from a pool: past its bound new connections get none, and closed ones give theirs back', async (t) => {
  const server = await ownServer(t, { ...ECHO, compression: { memoryBytes: 3 * 32 * 1024 } });
  const opened = async (params) => {
    const compression = new Compression(params);
    const ws = await open(t, server, { compression });
    await ws.raw([compression.frame('Hello, hello'), compression.frame('Hello, hello')]);
    t.deepEqual([await ws.text(), await ws.text()], ['Hello, hello', 'Hello, hello']);
    return ws;
  };
  const takesOver = ({ headers }) => !headers['sec-websocket-extensions'].includes('client_no_context_takeover');
  const held = [
    await opened(),
    await opened(),
    await opened('client_max_window_bits=14'),
    await opened('client_max_window_bits=14'),
  ];
  t.deepEqual(held.map(takesOver), [true, true, true, true]);
  // also where the client did not offer it
  t.deepEqual([await opened(), await opened(''), await opened('client_max_window_bits=8')].map(takesOver), [
    false,
    false,
    false,
  ]);
  held[3].close(1000);
  await held[3].closed();
  await until(async () => takesOver(await opened('client_max_window_bits=14')), 'the bound to be free again');
  t.false(takesOver(await opened()));
});

test('clientContextTakeover: true does not mind the bound, and serverContextTakeover does', async (t) => {
  const server = await ownServer(t, {
    ...ECHO,
    compression: { memoryBytes: 40_000, clientContextTakeover: true, serverContextTakeover: true },
  });
  const compression = new Compression();
  const ws = await open(t, server, { compression });
  t.deepEqual(compression.terms, { server_no_context_takeover: true });
  await ws.raw([compression.frame('again and again'), compression.frame('again and again')]);
  t.deepEqual([await ws.text(), await ws.text()], ['again and again', 'again and again']);
});

test('listeners share the pool, each up to its own bound', async (t) => {
  const server = await ownServer(t, {
    ...ECHO,
    bind: [
      { address: '127.0.0.1:0', compression: { memoryBytes: 65_536 } },
      { address: '127.0.0.1:0', compression: { memoryBytes: 98_304 } },
    ],
  });
  const takeover = async (index) => {
    const compression = new Compression();
    await open(t, { addresses: [server.addresses[index]] }, { compression });
    return !compression.terms.client_no_context_takeover;
  };
  t.deepEqual(
    [await takeover(1), await takeover(0), await takeover(0), await takeover(1), await takeover(1)],
    [true, true, false, true, false],
  );
});

test('500 clients with full windows in both directions stay within memoryBytes and what idle connections take', async (t) => {
  const [COUNT, FIRST] = [500, 20];
  const memoryBytes = COUNT * WINDOWS;
  const server = await ownServer(t, { ...ECHO, compression: { memoryBytes, serverContextTakeover: true } });
  /** A text that is longer than the window, and shorter when it is compressed, there and back. */
  const talk = async ({ ws, compression }, salt) => {
    const text = `${salt} ${randomBytes(30 * 1024).toString('base64')}`;
    await ws.raw(compression.frame(text));
    t.true((await ws.text()) === text);
  };
  const opened = async (salt) => {
    const compression = new Compression();
    const one = { ws: await open(t, server, { compression }), compression };
    t.deepEqual(compression.terms, {});
    await talk(one, salt);
    t.is(compression.inflated, 1);
    return one;
  };
  const contexts = async () => (await server.call('stats')).compressionContextBytes;
  const some = (from, count) => Promise.all(Array.from({ length: count }, (_, index) => opened(from + index)));
  const first = await some(0, FIRST);
  t.is(await contexts(), FIRST * WINDOWS);
  // what the threads and the heap of the worker keep of so much text
  for (let round = 0; round < COUNT / FIRST; round++) await Promise.all(first.map((one) => talk(one, round)));
  const before = (await server.usage()).rss;
  for (let done = FIRST; done < COUNT; done += FIRST) await some(done, FIRST);
  t.is(await contexts(), memoryBytes);
  const grown = (await server.usage()).rss - before;
  const each = grown / (COUNT - FIRST);
  t.log(`${each.toFixed(0)} bytes for a connection, of which ${WINDOWS} are windows`);
  t.true(grown < (COUNT - FIRST) * (WINDOWS + IDLE) + 4 * MIB, `${each} bytes`);
  const last = new Compression();
  await open(t, server, { compression: last });
  t.true(last.terms.client_no_context_takeover && last.terms.server_no_context_takeover);
  for (const { ws } of first) ws.destroy();
  await until(async () => (await contexts()) === memoryBytes - FIRST * WINDOWS, 'the windows to be free');
});

/** The windows of a connection with context takeover in both directions. */
const WINDOWS = 2 * 32 * 1024;

/** What an idle connection takes at most beside them. */
const IDLE = 4096;

test('a thousand idle connections without context takeover have no window and no state of zlib', async (t) => {
  const grown = async (compression) => {
    const server = await ownServer(t, { ...ECHO, compression: true });
    const clients = (count) =>
      Promise.all(
        Array.from({ length: count }, () => open(t, server, compression && { compression: new Compression(WITHOUT) })),
      );
    await clients(100);
    const before = (await server.usage()).rss;
    const held = await clients(1000);
    const after = (await server.usage()).rss;
    t.is(held.filter((ws) => ws.headers['sec-websocket-extensions'] !== undefined).length, compression ? 1000 : 0);
    return (after - before) / 1000;
  };
  const [plain, compressing] = [await grown(false), await grown(true)];
  t.log(`${plain.toFixed(0)} bytes for a plain connection, ${compressing.toFixed(0)} for a compressing one`);
  // the heaps of Bun and Deno grow by more between two measurements
  t.true(compressing < plain + (RUNTIME === 'node' ? 256 : 4096));
});

/** An offer without context takeover, as the server makes it of any offer when `memoryBytes` are reserved. */
const WITHOUT = 'client_no_context_takeover; client_max_window_bits';

test('an app negotiates it for its WebSockets', async (t) => {
  const app = createApp().ws('/', { text: (socket, text) => void socket.send(text) });
  const server = app.listen({ bind: '127.0.0.1:0', compression: true });
  t.teardown(() => server.close());
  await server.ready;
  const compression = new Compression();
  const ws = await connect(t, server.address, { compression });
  await ws.raw(compression.frame('through an app'));
  t.is(await ws.text(), 'through an app');
});

const secure = needing(ava, 'openssl');
let identity;
const authority = Authority.of(secure, async (made) => {
  identity = await made.issue();
});

secure('it is negotiated over TLS, and for WebSockets in HTTP/2', async (t) => {
  const server = await ownServer(t, { ...ECHO, tls: identity.files, compression: true });
  const tls = { ca: authority.ca, servername: 'localhost' };
  const http2 = await openSession(t, server.addresses[0], { ca: authority.ca });
  for (const way of [{ tls }, { http2 }]) {
    const compression = new Compression('client_max_window_bits=10');
    const ws = await open(t, server, { ...way, compression });
    t.deepEqual(compression.terms, { server_no_context_takeover: true, client_max_window_bits: 10 });
    for (const round of [1, 2]) {
      await ws.raw(compression.frame(`round ${round} of this text`));
      t.is(await ws.text(), `round ${round} of this text`);
    }
  }
  const stream = http2.request({
    ':method': 'CONNECT',
    ':protocol': 'websocket',
    ':scheme': 'https',
    ':authority': 'localhost',
    ':path': '/',
    'sec-websocket-version': '13',
    'sec-websocket-extensions': 'permessage-deflate; a b',
  });
  const [headers] = await within(once(stream, 'response'), 'the refusal');
  t.is(headers[':status'], 400);
  stream.destroy();
});
