// Sockety to and from a worker's handler, over sockets of node:net and node:tls.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { unpack } from 'msgpackr';

import { Authority } from '../support/certificates.mjs';
import { until } from '../support/deadline.mjs';
import { folderFor } from '../support/files.mjs';
import { inEach } from '../support/runtimes.mjs';
import { ownServer, worker } from '../support/server.mjs';
import { SocketyClient } from '../support/sockety.mjs';
import {
  ABORT,
  channel,
  dataPacket,
  fastReply,
  fileEnd,
  filePacket,
  GO_AWAY,
  message,
  STREAM_END,
  streamPacket,
} from '../support/sockety-wire.mjs';
import { told } from '../support/tcp.mjs';
import { connect } from '../support/ws-client.mjs';

const WORKER = fileURLToPath(new URL('../support/workers/sockety.mjs', import.meta.url));
const sockety = (more) => ({ address: '127.0.0.1:0', protocol: 'sockety', ...more });
const OPTIONS = { workerPath: WORKER, threads: 1, ioThreads: 1, bind: sockety() };
const ID = '00112233-4455-4677-8899-aabbccddeeff';

const sha = (bytes) => createHash('sha256').update(bytes).digest('hex');
const digestOf = (bytes) => ({ bytes: bytes.length, hash: sha(bytes) });
const noise = (count) => Buffer.from(Array.from({ length: count }, (_, index) => (index * 7919) % 251));

let identity;
const authority = Authority.of(test, async (made) => {
  identity = await made.issue();
});

/** A server, and a client of its first listener. */
async function serve(t, more) {
  const server = await ownServer(t, { ...OPTIONS, ...more });
  return { server, client: await SocketyClient.connect(t, server.addresses[0]) };
}

inEach(test, 'messages are answered with data and with codes', async (t, { launch }) => {
  const { addresses } = await launch(OPTIONS);
  const client = await SocketyClient.connect(t, addresses[0]);
  for (const data of [Buffer.alloc(0), Buffer.from('grüße'), noise(70_000), noise(3_000_000)]) {
    client.write(message({ action: 'echo', id: ID, expects: true, data }));
    const answer = await client.message();
    t.deepEqual([answer.parent, answer.action, answer.dataSize], [ID, undefined, data.length]);
    t.true(answer.data.equals(data), `${data.length} bytes`);
  }
  client.write(message({ action: 'code', id: ID }), message({ action: 'accept', id: ID }));
  t.deepEqual(await client.packet(), { type: 'fastReply', code: 4095, id: ID });
  t.deepEqual(await client.packet(), { type: 'fastReply', code: 0, id: ID });
  client.write(message({ action: 'pack', data: Buffer.of(0x92, 0x01, 0xa1, 0x78) }));
  t.deepEqual(unpack((await client.message()).data), [1, 'x']);
});

test('handlers get the announced sizes of a message', async (t) => {
  const { client, server } = await serve(t);
  const files = [
    { name: '../../etc/pass\0wd', size: 1 },
    { name: '', size: 70_000 },
  ];
  client.write(message({ action: 'told', id: ID, expects: true, stream: true, dataSize: 5, files }));
  const { data } = await client.message();
  const { given, ...announced } = JSON.parse(data);
  const left = { bytesLeft: 1, loaded: false };
  t.deepEqual(announced, {
    id: ID,
    action: 'told',
    expectsResponse: true,
    dataSize: 5,
    filesCount: 2,
    totalFilesSize: 70_001,
    responded: false,
    files: [
      { ...files[0], ...left, safeName: 'passwd' },
      { ...files[1], bytesLeft: 70_000, loaded: false, safeName: 'file' },
    ],
    has: { data: true, stream: true },
  });
  t.is(given.token, `client ${given.socketId}`);
  t.deepEqual(await told(server, 'opened'), { transport: 'sockety', path: '', hasPort: true });
});

inEach(test, 'data, files and a stream are read as they come, among other messages', async (t, { launch }) => {
  const { addresses } = await launch(OPTIONS);
  const client = await SocketyClient.connect(t, addresses[0]);
  const [data, file, stream] = [noise(400_000), noise(900_000), noise(700_000)];
  const files = [
    { name: 'a', size: file.length },
    { name: 'empty', size: 0 },
  ];
  client.write(message({ action: 'digest', id: ID, expects: true, stream: true, dataSize: data.length, files }));
  const part = (bytes, at) => bytes.subarray((at * bytes.length) / 20, ((at + 1) * bytes.length) / 20);
  for (let at = 0; at < 20; at++) {
    client.write(dataPacket(part(data, at)), streamPacket(part(stream, at)), filePacket(0, part(file, at)));
    client.write(channel(4095), message({ action: 'code' }), channel(0));
    t.is((await client.packet()).type, 'fastReply');
  }
  client.write(fileEnd(1), STREAM_END, fileEnd(0));
  t.deepEqual(JSON.parse((await client.message()).data), {
    data: digestOf(data),
    stream: digestOf(stream),
    files: [digestOf(file), digestOf(Buffer.alloc(0))],
    loaded: [true, true],
  });
});

test('input may arrive byte by byte', async (t) => {
  const { client } = await serve(t);
  const head = message({ action: 'digest', expects: true, stream: true, dataSize: 3, files: [{ name: 'f', size: 2 }] });
  const parts = [head, dataPacket('abc'), filePacket(0, 'fi'), fileEnd(0), streamPacket('s'), STREAM_END];
  for (const byte of Buffer.concat(parts)) {
    client.write(Buffer.of(byte));
    await new Promise(setImmediate);
  }
  const { data, stream, files } = JSON.parse((await client.message()).data);
  t.deepEqual([data.bytes, stream.bytes, files[0].bytes], [3, 1, 2]);
});

test('a handler asks its client, and other messages are handled meanwhile', async (t) => {
  const { client } = await serve(t);
  client.write(message({ action: 'ask', expects: true }));
  const question = await client.message();
  t.like(question, { action: 'question', expects: true });
  t.is(String(question.data), 'why?');
  client.write(message({ action: 'code' }));
  t.is((await client.packet()).code, 4095, 'the handler that waits holds nobody up');
  client.write(fastReply(question.id, 300), message({ parent: question.id, data: Buffer.from('because') }));
  t.deepEqual(JSON.parse((await client.message()).data), [300, 'because']);
});

inEach(test, 'data, files and a stream are sent', async (t, { launch }) => {
  const server = await launch(OPTIONS);
  const client = await SocketyClient.connect(t, server.addresses[0]);
  client.write(message({ action: 'contents', id: ID, expects: true }));
  const { channel: own, files, stream, dataSize, parent } = await client.packet();
  const source = readFileSync(WORKER);
  t.deepEqual(files, [
    { name: 'a.bin', size: 300_000 },
    { name: 'sockety.mjs', size: source.length },
    { name: 'b.bin', size: 15 },
    { name: 'empty', size: 0 },
  ]);
  t.deepEqual([stream, dataSize, parent], [true, 100, ID]);
  const came = { data: [], stream: [], file: [[], [], [], []] };
  let ends = 0;
  while (ends < 5 || came.data.length === 0) {
    const packet = await client.packet();
    t.is(packet.channel, own);
    if (packet.type === 'file') came.file[packet.index].push(packet.bytes);
    else if (packet.type === 'data' || packet.type === 'stream') came[packet.type].push(packet.bytes);
    else ends += 1;
  }
  t.is(String(Buffer.concat(came.stream)), 'first last');
  t.is(String(Buffer.concat(came.data)), 'd'.repeat(100));
  const expected = [Buffer.alloc(300_000, 'a'), source, Buffer.alloc(15, 'b'), Buffer.alloc(0)];
  t.deepEqual(
    came.file.map((pieces) => sha(Buffer.concat(pieces))),
    expected.map(sha),
  );
  t.true(await told(server, 'sent'));
});

test('a message with a file of the wrong length is aborted, and its sender learns of it', async (t) => {
  const { client } = await serve(t);
  client.write(message({ action: 'mismatch', expects: true }));
  const { channel: own } = await client.packet();
  let packet = await client.packet();
  while (packet.type === 'file') packet = await client.packet();
  t.like(packet, { type: 'abort', channel: own });
  t.is(String((await client.message()).data), 'ERR_SOCKETY_NOT_SENT');
});

test('a client that does not read pauses its stream, and gets all of it later', async (t) => {
  const { client, server } = await serve(t);
  const count = 1000;
  client.write(message({ action: 'pour', expects: true, data: Buffer.from(String(count)) }));
  await client.packet();
  client.pause();
  const poured = () => told(server, 'poured');
  let before = -1;
  let now = await poured();
  while (now !== before) {
    before = now;
    await new Promise((resolve) => setTimeout(resolve, 300));
    now = await poured();
  }
  t.true(now < count - 1, `${now} pieces of 64 KiB were taken`);
  client.resume();
  let bytes = 0;
  for (let packet = await client.packet(); packet.type === 'stream'; packet = await client.packet()) {
    bytes += packet.bytes.length;
  }
  t.is(bytes, count * 65_536);
});

test('unread contents block only their own connection', async (t) => {
  const limits = { bufferedBytes: 1024 * 1024 };
  const { client, server } = await serve(t, { bind: sockety({ limits }) });
  client.write(message({ action: 'wait', id: ID, stream: true }));
  await told(server, 'waits');
  const piece = noise(65_536);
  const count = 400;
  for (let at = 0; at < count; at++) client.write(streamPacket(piece));
  client.write(STREAM_END);
  const other = await SocketyClient.connect(t, server.addresses[0]);
  other.write(message({ action: 'code' }));
  t.is((await other.packet()).code, 4095);
  await server.call('setKey', 'go', '1');
  t.is(Number((await client.message()).data), count * piece.length);
});

test('contents that a handler did not ask for are dropped', async (t) => {
  const { client } = await serve(t);
  const piece = noise(65_536);
  client.write(message({ action: 'ignore', stream: true }));
  // far more than may wait to be read
  for (let at = 0; at < 400; at++) client.write(streamPacket(piece));
  client.write(STREAM_END, message({ action: 'code' }));
  t.is((await client.packet()).code, 4095);
});

test('an unread stream blocks nothing once the rest of its message is read', async (t) => {
  const { client } = await serve(t);
  const piece = noise(65_536);
  client.write(message({ action: 'echo', stream: true, data: Buffer.from('data') }));
  t.is(String((await client.message()).data), 'data');
  for (let at = 0; at < 400; at++) client.write(streamPacket(piece));
  client.write(STREAM_END, message({ action: 'code' }));
  t.is((await client.packet()).code, 4095);
});

test('hundreds of handlers of one connection wait for their contents at the same time', async (t) => {
  const { client } = await serve(t);
  const data = noise(1000);
  const count = 300;
  for (let at = 0; at < count; at++) {
    client.write(channel(at), message({ action: 'echo', dataSize: data.length }), dataPacket(data.subarray(0, 500)));
  }
  for (let at = 0; at < count; at++) client.write(channel(at), dataPacket(data.subarray(500)));
  for (let at = 0; at < count; at++) t.true((await client.message()).data.equals(data));
});

test('many files and much data are sent at the same time, as fast as the client takes them', async (t) => {
  const { client } = await serve(t);
  client.write(message({ action: 'pieces', data: Buffer.from('[30,10]') }));
  const came = new Map();
  let ends = 0;
  for (let packet = await client.packet(); packet?.type !== 'fastReply'; packet = await client.packet()) {
    if (packet === undefined) throw new Error('the connection was closed');
    const { type, channel: own, bytes } = packet;
    if (type === 'file' || type === 'data') came.set(own, (came.get(own) ?? 0) + bytes.length);
    ends += type === 'fileEnd' ? 1 : 0;
  }
  t.is(ends, 30);
  const total = [...came.values()].reduce((sum, bytes) => sum + bytes, 0);
  t.is(total, 30 * 1_000_000 + 10 * 2_500_000);
});

test('what a handler sends and what it answers keep their order, and closing loses nothing', async (t) => {
  const { client } = await serve(t, { bind: sockety({ publishForm: 'raw' }) });
  client.write(message({ action: 'order' }));
  for (let count = 0; count < 3; count++) {
    t.is(String((await client.message()).data), `sent ${count}`);
    t.is((await client.packet()).code, count);
  }
  t.is(String((await client.message()).data), 'last');
  t.is((await client.packet()).type, 'goAway');
  t.is(await client.packet(), undefined);
});

test('a client that has ended its sending side gets the answers to its requests', async (t) => {
  const { client, server } = await serve(t);
  const data = noise(1_500_000);
  client.end(message({ action: 'accept' }), channel(1), message({ action: 'echo', data }));
  t.is((await client.packet()).code, 0);
  t.true((await client.message()).data.equals(data));
  t.is((await client.ended()).length, 0);
  const closed = await until(() => server.call('getKey', 'closed client 1'), 'handleClose');
  t.is(JSON.parse(Buffer.from(closed).toString()).code, 1005);
});

test('a message that its sender gives up ends no connection', async (t) => {
  const { client } = await serve(t);
  client.write(message({ action: 'echo', dataSize: 4 }), dataPacket('ab'), ABORT, message({ action: 'code' }));
  t.is((await client.packet()).code, 4095);
  client.write(message({ action: 'code' }));
  t.is((await client.packet()).code, 4095);
});

test('publications are messages, or payloads alone', async (t) => {
  const bind = [sockety(), sockety({ publishForm: 'raw', publishAction: 'said' }), '127.0.0.1:0'];
  const { addresses } = await ownServer(t, { ...OPTIONS, bind });
  const [formed, raw] = await Promise.all(addresses.slice(0, 2).map((address) => SocketyClient.connect(t, address)));
  const browser = await connect(t, addresses[2]);
  for (const client of [formed, raw]) {
    client.write(message({ action: 'subscribe' }));
    t.is((await client.packet()).code, 0);
  }
  browser.send('hello');
  const received = await formed.message();
  t.like(received, { action: 'publish', channel: 0, expects: false, stream: false });
  t.deepEqual(unpack(received.data), ['news', 'hello']);
  const { action, data } = await raw.message();
  t.deepEqual([action, String(data)], ['said', 'hello']);
});

test('a message that is given up fails where it is read', async (t) => {
  const { client, server } = await serve(t);
  client.write(message({ action: 'settle', stream: true, dataSize: 4 }));
  t.is((await client.packet()).type, 'message', 'the question');
  t.is((await client.packet()).type, 'fastReply');
  client.write(dataPacket('ab'), ABORT, message({ action: 'code' }));
  t.is((await client.packet()).code, 4095, 'the channel is free');
  client.destroy();
  t.deepEqual(await told(server, 'settled'), ['ERR_SOCKETY_CLOSED', 'ERR_SOCKETY_ABORTED', 'ERR_SOCKETY_ABORTED']);
});

test('what is pending when a connection ends fails, and handleClose comes last', async (t) => {
  const { client, server } = await serve(t);
  client.write(message({ action: 'settle', stream: true, dataSize: 4 }));
  await client.packet();
  client.destroy();
  t.deepEqual(await told(server, 'settled'), Array(3).fill('ERR_SOCKETY_CLOSED'));
  const closed = await until(() => server.call('getKey', 'closed client 1'), 'handleClose');
  t.deepEqual(JSON.parse(Buffer.from(closed).toString()), { code: 1006, settled: true });
});

test('a mistake ends one connection alone', async (t) => {
  const { client, server } = await serve(t);
  const mistakes = [[0xf0], [0x80], [0xe0, 1, 0x78], [0x2c, 0xff, 0xff, 0xff, 0x7f], [0x60, 1, 0]];
  for (const mistake of mistakes) {
    const other = await SocketyClient.connect(t, server.addresses[0]);
    other.write(Buffer.from(mistake));
    await other.ended();
  }
  client.write(message({ action: 'code' }));
  t.is((await client.packet()).code, 4095);
});

test('a handler that throws ends its connection', async (t) => {
  const { client, server } = await serve(t);
  client.write(message({ action: 'throw' }));
  await client.ended();
  const error = await until(async () => (await server.errors())[0], 'the report, which may come after the end');
  t.regex(error.message, /handleSocketyMessage failed.*as asked/);
});

test('without handleSocketyMessage a message ends its connection', async (t) => {
  const { client } = await serve(t, { workerPath: worker('echo') });
  client.write(message({ action: 'x' }), GO_AWAY);
  await client.ended();
  t.pass();
});

test('over TLS and unix sockets', async (t) => {
  const file = path.join(folderFor(t, {}), 'sockety.sock');
  const tls = { cert: identity.cert, key: identity.key };
  const bind = [sockety({ tls }), { address: `unix:${file}`, protocol: 'sockety' }];
  const { addresses } = await ownServer(t, { ...OPTIONS, bind });
  for (const [address, options] of [
    [addresses[0], { tls: { ca: authority.ca, servername: 'localhost' } }],
    [addresses[1], {}],
  ]) {
    const client = await SocketyClient.connect(t, address, options);
    const data = noise(200_000);
    client.write(message({ action: 'echo', data }));
    t.true((await client.message()).data.equals(data));
  }
});
