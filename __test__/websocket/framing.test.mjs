// RFC 6455 §5: lengths, masks, reserved bits and opcodes, length forms (modelled on Autobahn's cases 1, 3 and 4).
import test from 'ava';

import { BINARY, binary, CLOSE, CONTINUATION, close, frame, PING, PONG, ping, TEXT, text } from '../support/frames.mjs';
import { open, sharedServer, worker } from '../support/server.mjs';

const server = sharedServer(test, { workerPath: worker('echo'), threads: 1 });
const LENGTHS = [0, 1, 125, 126, 127, 128, 65_535, 65_536];

/** Sends `bytes` and expects the connection to be closed with `code` after an orderly close frame. */
async function closesWith(t, bytes, code, client) {
  const ws = client ?? (await open(t, server));
  await ws.raw(bytes);
  const end = await ws.closed();
  t.is(end.code, code);
  t.deepEqual(ws.inbox, []);
}

for (const length of LENGTHS) {
  test(`1.1 text of ${length} bytes comes back`, async (t) => {
    const ws = await open(t, server);
    const payload = '*'.repeat(length);
    ws.send(payload);
    t.is(await ws.text(), payload);
    ws.close(1000);
    t.is((await ws.closed()).code, 1000);
  });

  test(`1.2 binary of ${length} bytes comes back`, async (t) => {
    const ws = await open(t, server);
    const payload = Buffer.alloc(length, 0xfe);
    ws.send(payload);
    const message = await ws.next();
    t.is(message.kind, 'binary');
    t.true(payload.equals(message.data));
    ws.close(1000);
    t.is((await ws.closed()).code, 1000);
  });
}

const chop = (bytes, size) =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size));

test('1.1.8 text of 65536 bytes in pieces of 997 octets', async (t) => {
  const ws = await open(t, server);
  await ws.raw(chop(text('*'.repeat(65_536)), 997));
  t.is((await ws.text()).length, 65_536);
});

test('1.2.8 binary of 65536 bytes in pieces of 997 octets', async (t) => {
  const ws = await open(t, server);
  await ws.raw(chop(binary(Buffer.alloc(65_536, 0xfe)), 997));
  t.is((await ws.next()).data.length, 65_536);
});

for (const length of [0, 1, 125, 126, 200]) {
  test(`a message of ${length} bytes sent octet by octet`, async (t) => {
    const ws = await open(t, server);
    await ws.raw(chop(text('x'.repeat(length)), 1));
    t.is(await ws.text(), 'x'.repeat(length));
  });
}

test('a frame cut in two at every position', async (t) => {
  const ws = await open(t, server);
  const bytes = Buffer.concat([text('first'), binary(Buffer.alloc(130, 7)), ping('p')]);
  for (let cut = 1; cut < bytes.length; cut++) {
    await ws.raw([bytes.subarray(0, cut), bytes.subarray(cut)]);
    t.is(await ws.text(), 'first');
    t.is((await ws.next()).data.length, 130);
    t.is((await ws.pong()).toString(), 'p');
  }
});

test('200 messages in one segment come back in order', async (t) => {
  const ws = await open(t, server);
  const sent = Array.from({ length: 200 }, (_, index) => `message ${index}`);
  await ws.raw(Buffer.concat(sent.map((payload) => text(payload))));
  for (const payload of sent) t.is(await ws.text(), payload);
});

for (const mask of [
  [0, 0, 0, 0],
  [255, 255, 255, 255],
  [0x61, 0, 0x80, 0xff],
]) {
  test(`mask ${mask} is removed at every alignment`, async (t) => {
    const ws = await open(t, server);
    const whole = 'abcdefghijklmnopqrstuvwxyzäöü€😀';
    for (let length = 0; length <= 40; length++) {
      const payload = whole.slice(0, length);
      await ws.raw(text(payload, { mask }));
      t.is(await ws.text(), Buffer.from(payload).toString());
    }
  });
}

for (const rsv of [1, 2, 3, 4, 5, 6, 7]) {
  test(`3.${rsv} a text frame with reserved bits ${rsv}`, (t) => closesWith(t, text('payload', { rsv }), 1002));

  test(`3.${rsv} a ping with reserved bits ${rsv} gets no pong`, async (t) => {
    const ws = await open(t, server);
    await closesWith(t, ping('payload', { rsv }), 1002, ws);
    t.deepEqual(ws.pongs, []);
  });

  test(`3.${rsv} reserved bits ${rsv} after a valid message, which is still answered`, async (t) => {
    const ws = await open(t, server);
    ws.send('good');
    t.is(await ws.text(), 'good');
    await closesWith(t, Buffer.concat([text('bad', { rsv }), ping()]), 1002, ws);
    t.deepEqual(ws.pongs, []);
  });
}

test('3 reserved bits on a close frame', (t) => closesWith(t, close(1000, '', { rsv: 4 }), 1002));
test('3 reserved bits on a continuation', (t) =>
  closesWith(t, [text('a', { fin: false }), frame({ opcode: CONTINUATION, payload: 'b', rsv: 2 })], 1002));

for (const opcode of [3, 4, 5, 6, 7, 11, 12, 13, 14, 15]) {
  test(`4 reserved opcode ${opcode}, empty`, (t) => closesWith(t, frame({ opcode }), 1002));
  test(`4 reserved opcode ${opcode}, with a payload, followed by a ping`, async (t) => {
    const ws = await open(t, server);
    await closesWith(t, Buffer.concat([frame({ opcode, payload: 'reserved' }), ping('after')]), 1002, ws);
    t.deepEqual(ws.pongs, []);
  });
  test(`4 reserved opcode ${opcode} inside a fragmented message`, (t) =>
    closesWith(
      t,
      [text('a', { fin: false }), frame({ opcode, payload: 'x' }), frame({ opcode: CONTINUATION, payload: 'b' })],
      1002,
    ));
}

for (const [name, opcode] of Object.entries({ CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG })) {
  test(`5.1 unmasked frame: ${name}`, (t) => closesWith(t, frame({ opcode, masked: false }), 1002));
  test(`5.1 unmasked frame with a payload: ${name}`, (t) =>
    closesWith(t, frame({ opcode, payload: 'hi', masked: false }), 1002));
}

for (const [form, length] of [
  [16, 0],
  [16, 1],
  [16, 125],
  [64, 0],
  [64, 125],
  [64, 126],
  [64, 65_535],
]) {
  test(`5.2 length ${length} in the ${form}-bit form`, (t) => closesWith(t, text('x'.repeat(length), { form }), 1002));
}

for (const [form, length] of [
  [16, 126],
  [16, 65_535],
  [64, 65_536],
]) {
  test(`5.2 length ${length} in the ${form}-bit form is the minimal one`, async (t) => {
    const ws = await open(t, server);
    await ws.raw(text('x'.repeat(length), { form }));
    t.is((await ws.text()).length, length);
  });
}

for (const opcode of [CLOSE, PING, PONG]) {
  test(`5.5 control frame ${opcode} with a 16-bit length form`, (t) =>
    closesWith(t, frame({ opcode, payload: Buffer.alloc(20), form: 16 }), 1002));
}

for (const announce of [2n ** 63n, 2n ** 63n + 5n, 2n ** 64n - 1n]) {
  test(`5.2 announced length ${announce} has the top bit set`, (t) =>
    closesWith(t, text('', { announce, form: 64 }), 1002));
}

for (const announce of [2n ** 63n - 1n, 2n ** 53n, 2n ** 32n, 2n ** 24n + 1n]) {
  test(`announced length ${announce} is too big before its first byte arrives`, (t) =>
    closesWith(t, binary('', { announce, form: 64 }), 1009));
}

test('bytes that are not frames close only their own connection', async (t) => {
  const bystander = await open(t, server);
  const ws = await open(t, server);
  await ws.raw(Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'));
  t.is((await ws.closed()).code, 1002);
  bystander.send('alive');
  t.is(await bystander.text(), 'alive');
});
