// How targets and sessions of splice end, and what each side gets.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { BINARY, CLOSE, CONTINUATION, frame, TEXT } from '../support/frames.mjs';
import { ownServer, sharedServer } from '../support/server.mjs';
import { Mux, options, prefixed, reach, serve, Target } from '../support/splice.mjs';

const server = sharedServer(test, options());
const open = (t, more) => Mux.open(t, server, more);

/** The parameters of an event. */
const gone = (index, code, reason = '') => ({ index, code, reason, message: reason });

/** A session with one target, which is told as options say. */
async function one(t, given) {
  const [mux, target] = [await open(t), await Target.listen(t, given)];
  return { mux, target, ...(await reach(mux, target)) };
}

/** The event that this target is gone; there is no other. */
async function end(t, mux, params) {
  t.deepEqual(await mux.event(), { method: 'onSocketDisconnect', params });
  const { error } = await mux.ask('terminate', { index: params.index });
  t.is(error.code, 4004, 'its index is free');
  t.deepEqual(mux.events, [], 'it is said once');
}

test('a target that closes with code and reason', async (t) => {
  const { mux, index, at } = await one(t);
  at.send('last');
  at.close(4123, 'grüße');
  t.is(await mux.textFrom(index), 'last');
  await end(t, mux, gone(index, 4123, 'grüße'));
  t.deepEqual(await at.closed(), { code: 4123, reason: 'grüße' }, 'what it said is echoed');
});

test('a target that closes with an empty frame', async (t) => {
  const { mux, index, at } = await one(t);
  at.close();
  await end(t, mux, gone(index, 1005));
  t.deepEqual(await at.closed(), { code: 1005, reason: '' });
});

for (const how of ['reset', 'end', 'destroy']) {
  test(`a target whose connection is lost without a close frame: ${how}`, async (t) => {
    const { mux, index, at } = await one(t);
    at[how]();
    await end(t, mux, gone(index, 1001));
  });
}

const WRONG = {
  'a masked frame': [frame({ payload: 'x' }), 1002],
  'a stray continuation': [frame({ opcode: CONTINUATION, masked: false }), 1002],
  'reserved bits': [frame({ payload: 'x', rsv: 4, masked: false }), 1002],
  'a reserved opcode': [frame({ opcode: 3, masked: false }), 1002],
  'a fragmented close': [frame({ opcode: CLOSE, fin: false, masked: false }), 1002],
  'a close code that nobody may send': [frame({ opcode: CLOSE, payload: Buffer.of(3, 0xee), masked: false }), 1002],
  'text that is no UTF-8': [frame({ opcode: TEXT, payload: Buffer.of(0xff), masked: false }), 1007],
};

for (const [what, [bytes, code]] of Object.entries(WRONG)) {
  test(`a target that sends ${what} is closed with ${code}, others continue`, async (t) => {
    const { mux, index, at } = await one(t);
    const other = await Target.echo(t);
    const second = await mux.connect(other.url());
    at.raw(bytes);
    const { method, params } = await mux.event();
    t.is(method, 'onSocketDisconnect');
    t.like(params, { index, code });
    t.is(params.reason, params.message);
    t.like(await at.closing(), { code });
    mux.send(second, 'still there');
    t.is(await mux.textFrom(second), 'still there');
  });
}

test('a target whose message is over the limit is closed with 1009, whole or in fragments', async (t) => {
  const { mux } = await serve(t, {}, { limits: { messageBytes: 1000 } });
  for (const parts of [1, 2]) {
    const target = await Target.listen(t);
    const { index, at } = await reach(mux, target);
    at.frame({ opcode: BINARY, payload: Buffer.alloc(1000) });
    t.is((await mux.from(index)).data.length, 1000, 'equal is allowed');
    if (parts === 1) at.frame({ opcode: BINARY, payload: Buffer.alloc(1001) });
    else {
      at.frame({ opcode: BINARY, payload: Buffer.alloc(600), fin: false });
      at.frame({ opcode: CONTINUATION, payload: Buffer.alloc(600) });
    }
    t.like((await mux.event()).params, { index, code: 1009 });
    t.like(await at.closing(), { code: 1009 });
  }
});

test('terminate sends a masked close frame with code and reason; the event says how the target answers', async (t) => {
  const { mux, index, at } = await one(t, { autoClose: false });
  t.deepEqual(await mux.ask('terminate', { index, code: 4002, reason: 'grüße' }), { result: {} });
  t.deepEqual(await at.closing(), { code: 4002, reason: 'grüße' });
  mux.send(index, 'too late');
  t.is((await mux.event()).params.code, 4004, 'what is sent to it reaches nobody');
  t.is((await mux.ask('terminate', { index })).error.code, 4004, 'it is closing already');
  at.send('its last');
  at.close(4003, 'as you like');
  await end(t, mux, gone(index, 4003, 'as you like'));
  t.is((await at.closed()).code, 4002);
  t.deepEqual(mux.waiting(index), [], 'what it says meanwhile reaches nobody');
});

test('terminate and disconnect without a code say 1000', async (t) => {
  const { mux, target, index, at } = await one(t);
  t.deepEqual(await mux.ask('terminate', { index }), { result: {} });
  t.deepEqual(await at.closing(), { code: 1000, reason: '' });
  await end(t, mux, gone(index, 1000));
  const second = await reach(mux, target);
  t.is(second.index, index);
  t.deepEqual(await mux.ask('disconnect', { index, code: 3000, reason: 'r' }), { result: {} });
  t.deepEqual(await second.at.closed(), { code: 3000, reason: 'r' });
});

test('what was sent before terminate arrives before the close frame', async (t) => {
  const { mux, index, at } = await one(t);
  for (let n = 0; n < 100; n++) mux.send(index, `${n} ${'x'.repeat(1000)}`);
  await mux.ask('terminate', { index, code: 4000 });
  t.is((await at.closed()).code, 4000);
  t.deepEqual(
    at.inbox.map(({ data }) => Number.parseInt(data, 10)),
    Array.from({ length: 100 }, (_, n) => n),
  );
});

test('terminate with an invalid index is an error', async (t) => {
  const mux = await open(t);
  for (const index of [-1, 0, 1, 65534, 65535, 65536, 1e12, -(2 ** 40)]) {
    const { error } = await mux.ask('terminate', { index });
    t.is(error.code, 4004, `${index}`);
  }
  for (const params of [{}, { index: '0' }, { index: 0.5 }, { index: null }, [], 'x', null, { index: 0, code: 'x' }]) {
    const { error } = await mux.ask('terminate', params);
    t.is(error.code, 4000, JSON.stringify(params));
  }
  for (const code of [999, 1004, 1005, 1006, 1015, 5000, -1, 70_000]) {
    const { error } = await mux.ask('terminate', { index: 0, code });
    t.is(error.code, 4000, `code ${code}`);
  }
  t.is((await mux.ask('terminate', { index: 0, reason: 'x'.repeat(124) })).error.code, 4000);
});

test('a target that does not answer the close frame is cut after closeTimeoutMs', async (t) => {
  const { mux } = await serve(t, {}, { limits: { closeTimeoutMs: 300 } });
  const target = await Target.listen(t, { autoClose: false });
  const { index, at } = await reach(mux, target);
  await mux.call('terminate', { index, code: 4000, reason: 'bye' });
  t.deepEqual(await at.closed(), { code: 4000, reason: 'bye' });
  await end(t, mux, gone(index, 1001));
});

test('a target whose connection is lost while it is terminated', async (t) => {
  const { mux, index, at } = await one(t, { autoClose: false });
  await mux.call('terminate', { index });
  await at.closing();
  at.reset();
  await end(t, mux, gone(index, 1001));
});

test('both may close at the same time: one event, one close frame each', async (t) => {
  const { mux, index, at } = await one(t, { autoClose: false });
  at.close(4001, 'target');
  mux.control({ id: 9, type: 'method', method: 'terminate', params: { index, code: 4002 } });
  await mux.reply(9);
  t.deepEqual((await mux.event()).params, gone(index, 4001, 'target'));
  await at.closed();
  t.is(at.closeFrames, 1);
  t.is((await mux.ask('none')).error.code, 4003);
  t.deepEqual(mux.events, []);
});

test('eventName: onSocketClosed is the event of the program wsplice', async (t) => {
  const { mux } = await serve(t, { eventName: 'onSocketClosed' });
  const { index, at } = await reach(mux, await Target.listen(t));
  at.close(4000, 'r');
  const { method, params } = await mux.event();
  t.is(method, 'onSocketClosed');
  t.like(params, { index, code: 4000, reason: 'r' });
});

test("an index is reused only after the event for its target's end", async (t) => {
  const mux = await open(t);
  const target = await Target.listen(t, { accept: false });
  const accept = async (call) => {
    const at = await target.asked();
    return { call, at };
  };
  let { call, at } = await accept(mux.connect(target.url()));
  at.accept();
  t.is(await call, 0);
  for (let round = 0; round < 50; round++) {
    const next = await accept(mux.connect(target.url()));
    // both arrive before the multiplexer looks
    at.close(4000, String(round));
    next.at.accept({ early: frame({ payload: 'hello', masked: false }) });
    const index = await next.call;
    t.true(index <= 1);
    await mux.event();
    t.is(await mux.textFrom(index), 'hello');
    ({ at } = next);
  }
  const live = new Set();
  for (const { result, event, params } of mux.log) {
    if (result) {
      t.false(live.has(result.index), `${result.index} is given twice`);
      live.add(result.index);
    } else if (event) t.true(live.delete(params.index));
  }
});

test('targets get exactly the code and the reason of the client, once and masked', async (t) => {
  for (const [code, reason] of [
    [4002, 'grüße'],
    [1000, ''],
    [1001, 'tab closed'],
    [undefined, ''],
  ]) {
    const [mux, target] = [await open(t), await Target.listen(t)];
    const [first, second] = [await reach(mux, target), await reach(mux, target)];
    mux.send(0, 'last');
    mux.ws.close(code, reason);
    const expected = { code: code ?? 1005, reason };
    t.like(await mux.ws.closed(), expected, 'the client gets its own');
    t.deepEqual(await first.at.closed(), expected);
    t.deepEqual(await second.at.closed(), expected);
    t.is(await first.at.text(), 'last');
    t.is(first.at.closeFrames, 1);
  }
});

for (const how of ['reset', 'end', 'destroy']) {
  test(`the targets of a client that vanishes are closed: ${how}`, async (t) => {
    const [mux, target] = [await open(t), await Target.listen(t)];
    const targets = [await reach(mux, target), await reach(mux, target), await reach(mux, target)];
    mux.ws[how]();
    for (const { at } of targets) t.deepEqual(await at.closed(), { code: 1001, reason: '' });
  });
}

test('pending connects of a client that vanishes are cancelled', async (t) => {
  const [mux, target] = [await open(t), await Target.listen(t, { accept: false })];
  mux.connect(target.url()).catch(() => {});
  const at = await target.asked();
  mux.ws.reset();
  t.is((await at.closed()).code, 1006, 'its connection ends without a word');
});

test('a handshake that is answered after the client has disconnected opens nothing', async (t) => {
  const [mux, target] = [await open(t), await Target.listen(t, { accept: false })];
  mux.connect(target.url()).catch(() => {});
  const at = await target.asked();
  at.accept();
  mux.ws.reset();
  t.true([1001, 1006].includes((await at.closed()).code));
});

test("a client's protocol error closes its targets with 1001", async (t) => {
  const wrong = {
    unmasked: [frame({ opcode: BINARY, payload: prefixed(0, 'x'), masked: false }), 1002],
    'a stray continuation': [frame({ opcode: CONTINUATION, payload: prefixed(0, 'x') }), 1002],
    'reserved bits': [frame({ opcode: BINARY, payload: prefixed(0, 'x'), rsv: 2 }), 1002],
    'a new message within one': [
      Buffer.concat([frame({ payload: prefixed(0, 'x'), fin: false }), frame({ payload: prefixed(0, 'y') })]),
      1002,
    ],
  };
  for (const [what, [bytes, code]] of Object.entries(wrong)) {
    const [mux, target] = [await open(t), await Target.listen(t)];
    const { at } = await reach(mux, target);
    mux.ws.raw(bytes);
    t.is((await mux.ws.closed()).code, code, what);
    t.deepEqual(await at.closed(), { code: 1001, reason: '' }, what);
    t.deepEqual(at.inbox, [], what);
  }
});

test('a server that stops closes clients and their targets', async (t) => {
  const own = await ownServer(t, options());
  const [mux, target] = [await Mux.open(t, own), await Target.listen(t)];
  const silent = await Target.listen(t, { accept: false });
  const targets = [await reach(mux, target), await reach(mux, target)];
  mux.connect(silent.url()).catch(() => {});
  const pending = await silent.asked();
  await own.stop();
  t.is((await mux.ws.closed()).code, 1001);
  for (const { at } of targets) t.is((await at.closed()).code, 1001);
  t.is((await pending.closed()).code, 1006);
  await until(async () => (await own.call('stats')).sockets === 0, 'all sockets to be forgotten');
});
