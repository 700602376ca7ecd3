// The option targetCompression: targets may compress what they send (RFC 7692), and clients get it as it was.
import { once } from 'node:events';

import test from 'ava';
import { WebSocketServer } from 'ws';

import { deflate, deflated, deflatedFragments } from '../support/deflate.mjs';
import { BINARY, frame, TEXT } from '../support/frames.mjs';
import { ownServer, sharedServer } from '../support/server.mjs';
import { CallFailed, Mux, options, Target } from '../support/splice.mjs';

const KIB = 1024;
const OFFER = 'permessage-deflate; server_no_context_takeover; client_no_context_takeover';
const answer = (extensions) => ({ lines: [`Sec-WebSocket-Extensions: ${extensions}`] });
const limits = { messageBytes: 1024 * KIB };

const server = sharedServer(test, options({ targetCompression: true }, { limits }));

/** A client and its target, which has agreed on compression. */
async function pair(t) {
  const [mux, target] = [await Mux.open(t, server), await Target.listen(t, answer(OFFER))];
  const index = await mux.connect(target.url());
  return { mux, target, index, at: await target.asked() };
}

const unmasked = { masked: false };

test('messages that a target compresses arrive as they were, between others', async (t) => {
  const { mux, index, at } = await pair(t);
  t.is(at.header('Sec-WebSocket-Extensions'), OFFER);
  const text = JSON.stringify({ text: 'grüße '.repeat(1000) });
  const bytes = Buffer.alloc(300 * KIB, 'abc');
  at.raw(deflated(text, unmasked));
  at.send('plain');
  at.raw(deflated(bytes, unmasked));
  at.raw(deflated('', unmasked));
  const ping = frame({ opcode: 9, payload: Buffer.from('between'), ...unmasked });
  at.raw(Buffer.concat(deflatedFragments(TEXT, deflate(text), 10, ping, unmasked)));
  t.is(await mux.textFrom(index), text);
  t.is(await mux.textFrom(index), 'plain');
  const { kind, data } = await mux.from(index);
  t.true(kind === 'binary' && data.equals(bytes));
  t.is(await mux.textFrom(index), '');
  t.is(await mux.textFrom(index), text);
  // the strict target refuses reserved bits
  mux.send(index, text);
  t.is(await at.text(), text);
});

test('a message that is too long or not valid closes its target only', async (t) => {
  const other = await pair(t);
  const bomb = deflate(Buffer.alloc(64 * 1024 * KIB), { level: 9 });
  t.true(bomb.length < 70 * KIB);
  for (const [payload, code] of [
    [bomb, 1009],
    [Buffer.from('no deflate'), 1007],
    [deflate(Buffer.from([0xff])), 1007],
  ]) {
    const { mux, at } = await pair(t);
    at.raw(frame({ opcode: TEXT, payload, rsv: 4, ...unmasked }));
    t.is((await at.closing()).code, code);
    t.is((await mux.event()).method, 'onSocketDisconnect');
  }
  other.at.raw(frame({ opcode: BINARY, payload: deflate('alive'), rsv: 4, ...unmasked }));
  t.is(String((await other.mux.from(other.index)).data), 'alive');
});

test('a target may decline, and what was not offered fails', async (t) => {
  const mux = await Mux.open(t, server);
  const declines = await Target.listen(t);
  const index = await mux.connect(declines.url());
  const at = await declines.asked();
  at.send('plain');
  t.is(await mux.textFrom(index), 'plain');
  at.raw(deflated('not agreed', unmasked));
  t.is((await at.closing()).code, 1002);
  for (const extensions of [
    'permessage-deflate',
    `${OFFER}; client_max_window_bits=10`,
    'other',
    `${OFFER}, ${OFFER}`,
  ]) {
    const target = await Target.listen(t, answer(extensions));
    await t.throwsAsync(mux.connect(target.url()), { instanceOf: CallFailed }, extensions);
  }
});

test('a server of ws compresses for the gateway', async (t) => {
  const target = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: { threshold: 0 } });
  t.teardown(() => target.close());
  const sent = [];
  target.on('connection', (socket) => {
    socket.on('message', (data, isBinary) => {
      const before = socket._socket.bytesWritten;
      socket.send(data, { binary: isBinary }, () => sent.push(socket._socket.bytesWritten - before));
    });
  });
  await once(target, 'listening');
  const mux = await Mux.open(t, server);
  const index = await mux.connect(`ws://127.0.0.1:${target.address().port}`);
  const text = JSON.stringify({ list: Array.from({ length: 500 }, (_, id) => ({ id, name: `user ${id}` })) });
  for (let count = 0; count < 3; count++) {
    mux.send(index, text);
    t.is(await mux.textFrom(index), text);
  }
  t.true(
    sent.every((bytes) => bytes < text.length / 4),
    `${sent} of ${text.length}`,
  );
});

test('without the option nothing is offered', async (t) => {
  const own = await ownServer(t, options());
  const [mux, target] = [await Mux.open(t, own), await Target.listen(t)];
  await mux.connect(target.url());
  t.is((await target.asked()).header('Sec-WebSocket-Extensions'), undefined);
});
