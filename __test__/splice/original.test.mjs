// The twelve defects of the program wsplice (its specification, section 10), each absent here.
import { once } from 'node:events';
import test from 'ava';
import { WebSocket } from 'ws';

import { Authority } from '../support/certificates.mjs';
import { within } from '../support/deadline.mjs';
import { CONTINUATION, frame, PING } from '../support/frames.mjs';
import { needing } from '../support/needing.mjs';
import { ownServer, sharedServer } from '../support/server.mjs';
import { CONTROL, Mux, options, prefixed, reach, Target } from '../support/splice.mjs';

const server = sharedServer(test, options());
const open = (t, more) => Mux.open(t, server, more);

let identity;
const authority = Authority.of(test, async (made) => {
  identity = await made.issue();
});

test('defect 1: terminate with a negative index does not end the process', async (t) => {
  const mux = await open(t);
  for (const index of [-1, -65_536, -(2 ** 53)]) t.is((await mux.ask('terminate', { index })).error.code, 4004);
  const { at } = await reach(mux, await Target.listen(t));
  t.is((await mux.ask('terminate', { index: -1 })).error.code, 4004);
  mux.send(0, 'alive');
  t.is(await at.text(), 'alive');
});

needing(test, 'openssl')('defect 2: clients without a certificate do not come in where one is required', async (t) => {
  const tls = { ...identity.files, clientCertificates: 'required', ca: authority.file('ca.pem') };
  const own = await ownServer(t, options({ tls }));
  await t.throwsAsync(Mux.open(t, own, { tls: { ca: authority.ca, servername: 'localhost' } }));
  const { cert, key } = await authority.issue({ client: true, subject: '/CN=alice' });
  const mux = await Mux.open(t, own, { tls: { ca: authority.ca, servername: 'localhost', cert, key } });
  t.is((await mux.ask('none')).error.code, 4003);
});

test('defect 3: messages of several busy targets are not mixed up', async (t) => {
  const mux = await open(t);
  const target = await Target.listen(t);
  const targets = await Promise.all(Array.from({ length: 4 }, () => reach(mux, target)));
  // in pieces, so that they overlap
  for (let n = 0; n < 40; n++) {
    for (const [who, { at }] of targets.entries()) {
      const half = Buffer.alloc(100_000, who * 40 + n);
      at.frame({ opcode: 2, payload: half, fin: n % 2 === 0 });
      if (n % 2 === 1) at.frame({ opcode: CONTINUATION, payload: half });
    }
    await new Promise(setImmediate);
  }
  const seen = new Map();
  for (let index = 0; index < 4; index++) {
    const first = (await mux.from(index)).data;
    const who = first[0] / 40;
    seen.set(who, true);
    for (let n = 0, data = first; n < 40; n++, data = n < 40 && (await mux.from(index)).data) {
      const expected = Buffer.alloc(n % 2 === 1 ? 200_000 : 100_000, who * 40 + n);
      if (!data.equals(expected)) t.fail(`message ${n} of ${index}`);
    }
  }
  t.is(seen.size, 4);
});

test('defect 4: the index of a target that has closed leads to the next one', async (t) => {
  const [mux, target] = [await open(t), await Target.echo(t)];
  for (let round = 0; round < 5; round++) {
    const { index, at } = await reach(mux, target);
    t.is(index, 0);
    mux.send(0, `round ${round}`);
    t.is(await mux.textFrom(0), `round ${round}`);
    at.close(1000);
    t.is((await mux.event()).params.index, 0);
  }
});

test('defect 5: pings and pongs with payloads leave the framing as it is, and frames to targets are masked', async (t) => {
  const mux = await open(t);
  const { index, at } = await reach(mux, await Target.listen(t));
  for (const payload of ['p', 'ping pong', 'x'.repeat(125)]) {
    mux.ws.ping(payload);
    mux.ws.frame({ opcode: 10, payload });
    mux.send(index, 'up');
    at.frame({ opcode: PING, payload });
    at.frame({ opcode: 10, payload });
    at.send('down');
    t.is(await at.text(), 'up');
    t.is(await mux.textFrom(index), 'down');
    t.is(String(await mux.ws.pong()), payload);
    // a frame that is not masked would end its connection
    t.is(String(await at.pong()), payload);
  }
});

test('defect 6: close codes are reported, 1006 is never on the wire, and no target connection stays open', async (t) => {
  const mux = await open(t);
  const target = await Target.listen(t);
  const first = await reach(mux, target);
  first.at.close(4444, 'because');
  t.like((await mux.event()).params, { code: 4444, reason: 'because' });
  await first.at.closed();
  // a target that waits for the answer before it closes TCP
  const waiting = await Target.listen(t, { autoClose: false });
  const second = await reach(mux, waiting);
  second.at.close(4000);
  t.like((await mux.event()).params, { code: 4000 });
  t.is((await second.at.closed()).code, 4000);
  const third = await reach(mux, target);
  mux.ws.reset();
  t.deepEqual(await third.at.closed(), { code: 1001, reason: '' });
});

test('defect 7: early messages from either side are not lost', async (t) => {
  const early = frame({ payload: 'early', masked: false });
  const target = await Target.listen(t, { early });
  const call = JSON.stringify({ id: 1, type: 'method', method: 'connect', params: { url: target.url() } });
  const mux = await open(t, { after: frame({ opcode: 2, payload: prefixed(CONTROL, call) }) });
  t.deepEqual(await mux.reply(1), { result: { index: 0 } });
  t.is(await mux.textFrom(0), 'early');
});

test('defect 8: the answer to the handshake repeats no request headers', async (t) => {
  const mux = await open(t, { headers: { Cookie: 'secret=1', 'X-Own': 'mine' } });
  t.is(mux.ws.headers.cookie, undefined);
  t.is(mux.ws.headers['x-own'], undefined);
  t.is(mux.ws.headers.upgrade, 'websocket', 'once');
  t.is(mux.ws.headers.connection.toLowerCase(), 'upgrade', 'once');
});

test('defect 9: strict clients can read the control channel', async (t) => {
  const ws = new WebSocket(`ws://${server.addresses[0]}`);
  t.teardown(() => ws.terminate());
  await within(once(ws, 'open'), 'the handshake');
  ws.send(prefixed(CONTROL, JSON.stringify({ id: 1, type: 'method', method: 'none' })));
  const [data, isBinary] = await within(once(ws, 'message'), 'the reply');
  t.true(isBinary);
  t.is(JSON.parse(data.subarray(2)).error.code, 4003);
});

test('defect 10: large calls are unmasked correctly, wherever a read ends', async (t) => {
  const mux = await open(t);
  for (const [id, cut] of [1, 2, 3, 5, 4095, 4097, 65_535, 65_537, 100_001].entries()) {
    const call = JSON.stringify({ x: 'grüße '.repeat(40_000), id: id + 1, method: 'none' });
    const bytes = frame({ opcode: 2, payload: prefixed(CONTROL, call), mask: [1, 2, 4, 8] });
    const pieces = [bytes.subarray(0, cut + 14)];
    for (let at = cut + 14; at < bytes.length; at += 33_333) pieces.push(bytes.subarray(at, at + 33_333));
    await mux.ws.raw(pieces);
    t.is((await mux.reply(id + 1)).error.code, 4003);
  }
});

test('defect 11: malformed frames of a client close its session with 1002, and nothing hangs', async (t) => {
  for (const bytes of [
    frame({ opcode: CONTINUATION, payload: 'x' }),
    frame({ payload: 'x', masked: false }),
    frame({ payload: 'x', rsv: 1 }),
  ]) {
    const mux = await open(t);
    const { at } = await reach(mux, await Target.listen(t));
    mux.ws.raw(bytes);
    t.is((await mux.ws.closed()).code, 1002);
    t.is((await at.closed()).code, 1001);
  }
});

test('defect 12: a slow target does not block other targets', async (t) => {
  const mux = await open(t);
  const [slow, echo] = [await Target.listen(t), await Target.echo(t)];
  const first = await reach(mux, slow);
  const second = await reach(mux, echo);
  first.at.pause();
  const payload = Buffer.alloc(100_000, 1);
  for (let n = 0; n < 100; n++) {
    mux.send(first.index, payload);
    mux.send(second.index, `${n}`);
    t.is(await mux.textFrom(second.index), `${n}`);
  }
  first.at.resume();
  for (let n = 0; n < 100; n++) t.true((await first.at.next()).data.equals(payload));
  t.deepEqual(mux.events, []);
});
