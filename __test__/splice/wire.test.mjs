// The wire of splice: indices in front of messages, in both directions, and calls of the control channel.
import { once } from 'node:events';
import test from 'ava';
import { WebSocket, WebSocketServer } from 'ws';

import { within } from '../support/deadline.mjs';
import { BINARY, CONTINUATION, frame, PING, TEXT } from '../support/frames.mjs';
import { sharedServer } from '../support/server.mjs';
import { CONTROL, fragments, Mux, options, prefixed, reach, serve, Target } from '../support/splice.mjs';

const server = sharedServer(test, options());
const open = (t, more) => Mux.open(t, server, more);
const MIB = 1024 * 1024;

test('text stays text, binary stays binary, and empty messages are messages, in both directions', async (t) => {
  const [mux, target] = [await open(t), await Target.listen(t)];
  const { index, at } = await reach(mux, target);
  t.is(index, 0);
  for (const data of ['grüße', '', Buffer.of(0, 255, 128), Buffer.alloc(0)]) {
    mux.send(index, data);
    at.send(data);
    const expected = { kind: typeof data === 'string' ? 'text' : 'binary', data: Buffer.from(data) };
    t.deepEqual(await at.next(), expected);
    t.like(await mux.from(index), expected);
  }
  t.is(new Set(at.masks).size, 4, 'each frame has a mask of its own');
});

test('messages of any length with any mask arrive unchanged, with a mask that the client did not choose', async (t) => {
  const [mux, target] = [await open(t), await Target.listen(t)];
  for (let count = 0; count < 3; count++) await reach(mux, target);
  const { index, at } = await reach(mux, target);
  const masks = [Buffer.alloc(4), Buffer.of(1, 2, 3, 4), Buffer.of(255, 0, 128, 7)];
  const lengths = [...Array(140).keys(), 1022, 4096, 65_533, 65_534, 65_535, 65_536, 200_000];
  const sent = lengths.map((length, position) => {
    const data = Buffer.from(Array.from({ length }, (_, at) => (at * 37 + position) & 0xff));
    const mask = masks[position % masks.length];
    return { data, bytes: frame({ opcode: BINARY, payload: prefixed(index, data), mask }) };
  });
  // as one piece, so that most are whole in a read, and some are cut by it
  mux.ws.raw(Buffer.concat(sent.map(({ bytes }) => bytes)));
  for (const { data } of sent) t.true((await at.next()).data.equals(data), `${data.length} bytes`);
  const keys = new Set(at.masks);
  t.true(keys.size > sent.length - 3, 'keys are not used again');
  for (const mask of masks) {
    const rotated = Buffer.concat([mask.subarray(2), mask.subarray(0, 2)]);
    t.false(keys.has(mask.toString('hex')) || keys.has(rotated.toString('hex')));
  }
});

test('fragmented messages of the client arrive whole, wherever the index is split', async (t) => {
  const [mux, target] = [await open(t), await Target.listen(t)];
  const { index, at } = await reach(mux, target);
  const cuts = [
    [prefixed(index, 'one'), ' and', ' two'],
    [prefixed(index), 'one and two'],
    ['', '', prefixed(index, 'one'), '', ' and two'],
    [Buffer.of(0), Buffer.of(0), 'one and two'],
    ['', Buffer.of(0), '', Buffer.concat([Buffer.of(0), Buffer.from('one and two')]), ''],
  ];
  for (const parts of cuts) {
    for (const opcode of [TEXT, BINARY]) {
      for (const piece of fragments(opcode, parts)) await mux.ws.raw([piece]);
      t.deepEqual(await at.next(), { kind: opcode === TEXT ? 'text' : 'binary', data: Buffer.from('one and two') });
    }
  }
  mux.ws.raw(Buffer.concat(fragments(TEXT, [Buffer.of(0), Buffer.of(0)])));
  t.is(await at.text(), '', 'of two cut bytes nothing is left');
});

test('bytes one at a time make the same messages, from client and target', async (t) => {
  const [mux, target] = [await open(t), await Target.listen(t)];
  const { index, at } = await reach(mux, target);
  const own = Buffer.concat([
    frame({ payload: prefixed(index, 'grüße') }),
    ...fragments(BINARY, [Buffer.of(0), Buffer.of(0, 7)]),
  ]);
  await mux.ws.raw([...own].map((byte) => Buffer.of(byte)));
  t.is(await at.text(), 'grüße');
  t.deepEqual((await at.next()).data, Buffer.of(7));
  for (const byte of frame({ payload: 'grüße', masked: false })) {
    at.raw(Buffer.of(byte));
    await new Promise(setImmediate);
  }
  t.is(await mux.textFrom(index), 'grüße');
});

test('fragmented messages of a target arrive as one, with their kind', async (t) => {
  const [mux, target] = [await open(t), await Target.listen(t)];
  const { index, at } = await reach(mux, target);
  for (const opcode of [TEXT, BINARY]) {
    at.frame({ opcode, payload: Buffer.from('grüße').subarray(0, 3), fin: false });
    at.frame({ opcode: PING, payload: 'between' });
    at.frame({ opcode: CONTINUATION, payload: Buffer.from('grüße').subarray(3), fin: false });
    at.frame({ opcode: CONTINUATION });
    t.is(String(await at.pong()), 'between');
    t.like(await mux.from(index), { kind: opcode === TEXT ? 'text' : 'binary', data: Buffer.from('grüße') });
  }
});

test('calls may be text or binary, in fragments, and split within their index', async (t) => {
  const [mux, target] = [await open(t), await Target.listen(t)];
  const call = (id) => JSON.stringify({ params: { url: target.url(), more: [] }, other: null, method: 'connect', id });
  mux.ws.frame({ opcode: BINARY, payload: prefixed(CONTROL, call(1)) });
  t.deepEqual(await mux.reply(1), { result: { index: 0 } });
  // FF FF is not UTF-8; the original's clients send it nevertheless
  mux.ws.frame({ opcode: TEXT, payload: prefixed(CONTROL, call(2)) });
  t.deepEqual(await mux.reply(2), { result: { index: 1 } });
  for (const opcode of [TEXT, BINARY]) {
    const id = opcode + 10;
    mux.ws.raw(
      Buffer.concat(fragments(opcode, [Buffer.of(255), Buffer.of(255), call(id).slice(0, 9), call(id).slice(9)])),
    );
    t.deepEqual(await mux.reply(id), { result: { index: id - 9 } });
  }
});

test('a call of any type but reply is one, and replies of the client are ignored', async (t) => {
  const mux = await open(t);
  mux.control({ id: 1, type: 'reply', result: {} });
  mux.control({ id: 2, type: 'reply', error: { code: 1, message: '' } });
  mux.control({ id: 3, type: 'nothing of the kind', method: 'none' });
  t.is((await mux.reply(3)).error.code, 4003);
  mux.control({ id: 4, method: 'none' });
  t.is((await mux.reply(4)).error.code, 4003);
  t.deepEqual(
    mux.log.map(({ reply }) => reply),
    ['3', '4'],
  );
});

test('ids are integers of 64 bits and come back exactly', async (t) => {
  const mux = await open(t);
  for (const id of ['-1', '9223372036854775807', '-9223372036854775808', '9007199254740993', '0']) {
    mux.control(`{"id":${id},"type":"method","method":"none"}`);
    t.deepEqual(await mux.reply(id), { error: { code: 4003, message: 'Unknown method name' } });
  }
  mux.control('{"type":"method","method":"none"}');
  t.is((await mux.reply(0)).error.code, 4003, 'a missing id is 0');
  mux.control('{"id":null,"type":"method","method":"none"}');
  t.is((await mux.reply(0)).error.code, 4003, 'null is as good as none');
  for (const id of ['1.5', '1e3', '"1"', '[]', '9223372036854775808', 'true', '01', '- 1']) {
    mux.control(`{"id":${id},"type":"method","method":"none"}`);
    const { method, params } = await mux.event();
    t.is(method, 'warn', id);
    t.is(params.code, 4000);
  }
});

test('calls are answered as they complete: a slow connect does not delay others', async (t) => {
  const mux = await open(t);
  const silent = await Target.listen(t, { accept: false });
  const quick = await Target.listen(t);
  const slow = mux.connect(silent.url());
  const at = await silent.asked();
  t.is(await mux.connect(quick.url()), 0);
  t.is((await mux.ask('terminate', { index: 0 })).error, undefined);
  t.is((await mux.ask('none')).error.code, 4003);
  at.accept();
  await t.notThrowsAsync(slow);
  t.is(
    mux.log.findIndex(({ reply }) => reply === '1'),
    mux.log.findLastIndex(({ reply }) => reply !== undefined),
  );
});

test('a target gets the lowest free index, and failed connects take none', async (t) => {
  const [mux, target] = [await open(t), await Target.listen(t)];
  for (const expected of [0, 1, 2, 3]) t.is(await mux.connect(target.url()), expected);
  for (const index of [2, 0]) {
    await mux.call('terminate', { index });
    t.is((await mux.event()).params.index, index);
  }
  await t.throwsAsync(mux.connect('ws://127.0.0.1:1/'));
  t.is(await mux.connect(target.url()), 0);
  t.is(await mux.connect(target.url()), 2);
  t.is(await mux.connect(target.url()), 4);
});

test('text of an index that is not UTF-8 arrives as binary', async (t) => {
  const [mux, target] = [await open(t), await Target.echo(t)];
  const count = 132;
  for (let index = 0; index < count; index++) t.is(await mux.connect(target.url()), index);
  for (let index = 0; index < count; index++) mux.ws.frame({ opcode: TEXT, payload: prefixed(index, `to ${index}`) });
  for (let index = 0; index < count; index++) {
    t.like(await mux.from(index), { kind: index < 128 ? 'text' : 'binary', data: Buffer.from(`to ${index}`) });
  }
  t.true(target.connections.every((at) => at.received === 1));
});

test('webSocket: true gives indices with which text stays text, and marks ends that were not clean', async (t) => {
  const [mux, target] = [await open(t), await Target.echo(t)];
  for (let index = 0; index < 128; index++) await mux.connect(target.url());
  t.is(await mux.connect(target.url(), { webSocket: true }), 256);
  t.is(await mux.connect(target.url()), 128);
  mux.send(256, 'grüße');
  t.is(await mux.textFrom(256), 'grüße');
  target.connections[128].reset();
  t.deepEqual((await mux.event()).params, { index: 256, code: 1001, reason: '', message: '', clean: false });
});

test('text of the client that is no UTF-8 is judged by its target, and others go on', async (t) => {
  const [mux, target, strict] = [await open(t), await Target.echo(t), await Target.listen(t)];
  const { index, at } = await reach(mux, strict);
  const other = await mux.connect(target.url());
  mux.ws.frame({ opcode: TEXT, payload: prefixed(index, Buffer.of(0xff, 0x41)) });
  t.deepEqual(await at.next(), { kind: 'text', data: Buffer.of(0xff, 0x41) });
  at.close(1007, 'no text');
  t.like((await mux.event()).params, { index, code: 1007, reason: 'no text' });
  mux.send(other, 'still there');
  t.is(await mux.textFrom(other), 'still there');
});

test('binary: true makes all relayed messages binary', async (t) => {
  const { mux } = await serve(t, { binary: true });
  const target = await Target.listen(t);
  const { index, at } = await reach(mux, target);
  at.send('text');
  t.like(await mux.from(index), { kind: 'binary', data: Buffer.from('text') });
  mux.send(index, 'text');
  t.is(await at.text(), 'text');
});

test('messages of 20 MB pass whole in both directions', async (t) => {
  const { mux } = await serve(t, {}, { limits: { messageBytes: 32 * MIB, targetQueueBytes: 64 * MIB } });
  const target = await Target.listen(t);
  const { index, at } = await reach(mux, target);
  const data = Buffer.alloc(20_000_000);
  for (let at = 0; at < data.length; at += 4) data.writeUInt32LE((at * 2654435761) >>> 0, at);
  mux.send(index, data);
  mux.send(index, 'behind');
  t.true((await at.next()).data.equals(data));
  t.is(await at.text(), 'behind');
  at.send(data);
  at.send('behind');
  t.true((await mux.from(index)).data.equals(data));
  t.is(await mux.textFrom(index), 'behind');
});

test("a target's message in the same segment as its 101 arrives after the reply", async (t) => {
  const mux = await open(t);
  const early = Buffer.concat([
    frame({ payload: 'first', masked: false }),
    frame({ opcode: PING, payload: 'ping', masked: false }),
    frame({ opcode: BINARY, payload: 'second', fin: false, masked: false }),
  ]);
  const target = await Target.listen(t, { early });
  const { index, at } = await reach(mux, target);
  t.is(String(await at.pong()), 'ping');
  at.frame({ opcode: CONTINUATION, payload: ' half' });
  t.is(await mux.textFrom(index), 'first');
  t.is(String((await mux.from(index)).data), 'second half');
  t.is(mux.log[0].reply, '1');
});

test('a target that closes in the same segment as its 101 was reached, and is gone', async (t) => {
  const mux = await open(t);
  const early = Buffer.concat([
    frame({ payload: 'first and last', masked: false }),
    frame({ opcode: 8, payload: Buffer.from('\x0f\xa1bye', 'latin1'), masked: false }),
  ]);
  const target = await Target.listen(t, { early });
  const { index, at } = await reach(mux, target);
  t.is(await mux.textFrom(index), 'first and last');
  t.deepEqual((await mux.event()).params, { index: 0, code: 4001, reason: 'bye', message: 'bye' });
  t.deepEqual(await at.closed(), { code: 4001, reason: 'bye' });
  t.deepEqual(
    mux.log.map((one) => Object.keys(one)[0]),
    ['reply', 'index', 'event'],
  );
});

test('calls in the same segment as the request are answered', async (t) => {
  const target = await Target.listen(t);
  const call = JSON.stringify({ id: 77, type: 'method', method: 'connect', params: { url: target.url('/early') } });
  const after = Buffer.concat([
    frame({ opcode: BINARY, payload: prefixed(CONTROL, call) }),
    frame({ opcode: BINARY, payload: prefixed(5, 'nobody') }),
  ]);
  const mux = await open(t, { after });
  t.is((await mux.event()).params.code, 4004);
  t.deepEqual(await mux.reply(77), { result: { index: 0 } });
  t.is((await target.asked()).request.path, '/early');
});

test('a client and a target of the ws package', async (t) => {
  const wss = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  t.teardown(() => wss.close());
  await once(wss, 'listening');
  wss.on('connection', (ws) => ws.on('message', (data, isBinary) => ws.send(data, { binary: isBinary })));
  const ws = new WebSocket(`ws://${server.addresses[0]}/any/path`);
  t.teardown(() => ws.terminate());
  await within(once(ws, 'open'), 'the handshake');
  const next = async () => (await within(once(ws, 'message'), 'a message')).slice(0, 2);
  const url = `ws://127.0.0.1:${wss.address().port}`;
  ws.send(prefixed(CONTROL, JSON.stringify({ id: 5, type: 'method', method: 'connect', params: { url } })));
  const [reply, replyIsBinary] = await next();
  t.true(replyIsBinary);
  t.deepEqual(JSON.parse(reply.subarray(2)), { id: 5, type: 'reply', result: { index: 0 } });
  ws.send('\0\0hello');
  const [text, textIsBinary] = await next();
  t.deepEqual([String(text), textIsBinary], ['\0\0hello', false]);
  ws.close(4321, 'done');
  const [code] = await within(once(ws, 'close'), 'the end');
  t.is(code, 4321);
});
