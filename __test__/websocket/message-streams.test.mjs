// Large messages that are handed over while they arrive: the limit `streamMessagesAbove` and `handleMessageStream`.
import { createHash } from 'node:crypto';
import { once } from 'node:events';

import test from 'ava';
import { WebSocket } from 'ws';

import { until } from '../support/deadline.mjs';
import { BINARY, CONTINUATION, TEXT } from '../support/frames.mjs';
import { open, ownServer, worker } from '../support/server.mjs';
import { speak } from '../support/v1.mjs';

const KIB = 1024;
const MIB = 1024 * KIB;

const start = (t, { name = 'message-streams', compression = false, ...limits } = {}) =>
  ownServer(t, {
    workerPath: worker(name),
    threads: 1,
    compression,
    limits: { streamMessagesAbove: 100 * KIB, messageBytes: 64 * MIB, ...limits },
  });

test('so it is for a client that offers millrace.v1 and gets another subprotocol', async (t) => {
  const server = await ownServer(t, {
    workerPath: worker('message-streams'),
    threads: 1,
    channels: { 'room:*': { clients: { subscribe: true } } },
    limits: { streamMessagesAbove: 100 * KIB },
  });
  const client = await open(t, server, { protocols: ['millrace.v1', 'other'] });
  t.is(client.headers['sec-websocket-protocol'], 'other');
  client.send(Buffer.alloc(100 * KIB + 1));
  t.is((await client.json()).bytes, 100 * KIB + 1);
  const own = await speak(t, server);
  own.ws.send(`{"t":"pub","id":1,"c":"hall"}\n${'x'.repeat(300 * KIB)}`);
  t.like((await own.next())[0], { t: 'err', id: 1, code: 'denied' });
});

/** A client whose large messages are read in this way. */
async function reading(t, server, mode) {
  const client = await open(t, server);
  const { value: id } = await client.ask({ cmd: 'mode', mode });
  return Object.assign(client, { id });
}

const digest = (data) => createHash('sha256').update(data).digest('hex');
const keyOf = async (server, key) => (await server.call('getKey', key))?.toString();

test('a message above the limit is read while it arrives, and smaller ones are whole', async (t) => {
  const server = await start(t);
  const client = await reading(t, server, 'hash');
  for (const size of [0, 1, 100 * KIB]) {
    client.send(Buffer.alloc(size));
    t.is(await client.text(), `whole ${size} bytes`);
  }
  for (const size of [100 * KIB + 1, 20 * MIB]) {
    const data = Buffer.alloc(size, 'bytes ');
    client.send(data);
    const { binary, bytes, several, most, hash } = await client.json();
    t.deepEqual([binary, bytes, several, hash], [true, size, size > MIB, digest(data)]);
    t.true(most <= 200 * KIB, `a piece of ${most} bytes`);
  }
  const text = 'é\u{1f980}x'.repeat(MIB);
  client.send(text);
  const { binary, bytes, hash } = await client.json();
  t.deepEqual([binary, bytes, hash], [false, Buffer.byteLength(text), digest(text)]);
  client.send('behind');
  t.is(await client.text(), 'whole 6');
});

test('a message in fragments, and one of the client ws', async (t) => {
  const server = await start(t);
  const client = await reading(t, server, 'hash');
  const piece = Buffer.alloc(30 * KIB, 'é');
  for (let count = 0; count < 100; count++) {
    client.frame({ opcode: count === 0 ? TEXT : CONTINUATION, payload: piece, fin: count === 99 });
    if (count === 50) client.ping('between');
  }
  t.is((await client.pong()).toString(), 'between');
  const { bytes, hash } = await client.json();
  t.deepEqual([bytes, hash], [100 * piece.length, digest(Buffer.concat(Array(100).fill(piece)))]);
  const ws = new WebSocket(`ws://${server.addresses[0]}`);
  t.teardown(() => ws.terminate());
  await once(ws, 'open');
  const answered = once(ws, 'message');
  ws.send(Buffer.alloc(8 * MIB, 7));
  t.is(JSON.parse((await answered)[0]).hash, digest(Buffer.alloc(8 * MIB, 7)));
});

test('a handler that does not read stops the client, and takes little memory', async (t) => {
  const server = await start(t);
  const client = await reading(t, server, 'late');
  const data = Buffer.alloc(40 * MIB, 3);
  client.send(data);
  client.send('behind');
  await until(async () => (await server.call('stats')).bytesIn > 100 * KIB, 'the beginning');
  let before;
  await until(async () => {
    const { bytesIn } = await server.call('stats');
    const stands = bytesIn === before;
    before = bytesIn;
    return stands && new Promise((resolve) => setTimeout(() => resolve(true), 200));
  }, 'reading to stop');
  const { bytesIn, inboundBytes } = await server.call('stats');
  t.true(bytesIn < MIB, `${bytesIn} bytes were read`);
  t.true(inboundBytes < MIB, `${inboundBytes} bytes are kept`);
  await server.call('setKey', 'read on', '1');
  const { bytes, hash } = await client.json();
  t.deepEqual([bytes, hash], [data.length, digest(data)]);
  t.is(await client.text(), 'whole 6');
});

for (const [mode, first] of [
  ['first', 'first true'],
  ['ignore', 'ignored bytes'],
]) {
  test(`what a handler does not read is discarded: ${mode}`, async (t) => {
    const server = await start(t);
    const client = await reading(t, server, mode);
    for (let round = 0; round < 2; round++) {
      client.send(Buffer.alloc(10 * MIB));
      client.send(`behind ${round}`);
      t.is(await client.text(), first);
      t.is(await client.text(), 'whole 8');
    }
  });
}

test('the next message waits for a reader that the handler does not wait for', async (t) => {
  const server = await start(t);
  const client = await reading(t, server, 'beside');
  client.send(Buffer.alloc(5 * MIB));
  client.send('behind');
  t.is((await client.json()).bytes, 5 * MIB);
  t.is(await client.text(), 'whole 6');
});

for (const [what, end, code] of [
  ['is lost', (client) => client.destroy(), undefined],
  ['ends', (client) => client.end(), 1006],
  ['closes', (client) => client.close(4000), 4000],
  ['is invalid', (client) => client.frame({ opcode: BINARY, payload: 'a second message' }), 1002],
  ['is no UTF-8', (client) => client.frame({ opcode: CONTINUATION, payload: Buffer.from([0xff]) }), 1007],
]) {
  test(`a message whose connection ${what} in the middle ends with an error`, async (t) => {
    const server = await start(t, { closeTimeoutMs: 60_000 });
    const client = await reading(t, server, 'hash');
    client.frame({ opcode: TEXT, payload: 'x'.repeat(200 * KIB), fin: false });
    await until(async () => (await keyOf(server, `read ${client.id}`)) === String(200 * KIB), 'the first part');
    end(client);
    const error = `ERR_MILLRACE_MESSAGE_BROKEN after ${200 * KIB}`;
    await until(async () => (await keyOf(server, `error ${client.id}`)) === error, 'the error');
    if (code !== undefined && what !== 'ends') t.is((await client.closed()).code, code);
    else t.deepEqual(await server.errors(), []);
  });
}

test('messageBytes bounds the whole message', async (t) => {
  const server = await start(t, { messageBytes: MIB });
  const client = await reading(t, server, 'hash');
  for (let count = 0; count < 9; count++) {
    client.frame({ opcode: count === 0 ? BINARY : CONTINUATION, payload: Buffer.alloc(128 * KIB), fin: false });
  }
  t.is((await client.closed()).code, 1009);
  await until(async () => (await keyOf(server, `error ${client.id}`)) !== undefined, 'the error');
});

test('a handler that throws, and one that never reads, close the socket with 1011', async (t) => {
  const server = await start(t, { handlerTimeoutMs: 500 });
  for (const mode of ['throws', 'hang']) {
    const client = await reading(t, server, mode);
    client.send(Buffer.alloc(MIB));
    t.is((await client.closed()).code, 1011, mode);
  }
});

test('a message may take longer than a handler may', async (t) => {
  const server = await start(t, { handlerTimeoutMs: 300 });
  const client = await reading(t, server, 'hash');
  for (let count = 0; count < 8; count++) {
    const fin = count === 7;
    client.frame({ opcode: count === 0 ? BINARY : CONTINUATION, payload: Buffer.alloc(100 * KIB + 1), fin });
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
  t.is((await client.json()).bytes, 8 * (100 * KIB + 1));
});

test('messages of a client that compresses are assembled; those of others are not', async (t) => {
  const server = await start(t, { compression: true });
  for (const [perMessageDeflate, expected] of [
    [true, /^whole 1048576 bytes$/],
    [false, /"bytes":1048576/],
  ]) {
    const client = new WebSocket(`ws://${server.addresses[0]}`, { perMessageDeflate });
    t.teardown(() => client.terminate());
    await once(client, 'open');
    const answered = once(client, 'message');
    client.send(Buffer.alloc(MIB));
    t.regex((await answered)[0].toString(), expected);
  }
});

test('without the handler, or without the limit, messages are assembled', async (t) => {
  const [without, off] = [await start(t, { name: 'echo' }), await start(t, { streamMessagesAbove: 0 })];
  const data = Buffer.alloc(MIB, 5);
  const echo = await open(t, without);
  echo.send(data);
  t.true((await echo.next()).data.equals(data));
  const client = await reading(t, off, 'hash');
  client.send(data);
  t.is(await client.text(), `whole ${MIB} bytes`);
});
