// RFC 6455 §7: the closing handshake, its codes and reasons (modelled on Autobahn's case 7).
import test from 'ava';

import { CLOSE, close, frame, ping, text } from '../support/frames.mjs';
import { ask, forgotten, member, open, ownServer, sharedServer, worker } from '../support/server.mjs';
import { INVALID, TRUNCATED } from '../support/utf8-cases.mjs';

const server = sharedServer(test, { workerPath: worker('commands'), threads: 1 });

const VALID_CODES = [
  1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3001, 3999, 4000, 4001, 4321, 4999,
];
const INVALID_CODES = [0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 5001, 32_768, 65_535];

for (const code of VALID_CODES) {
  test(`7.7 close code ${code} is echoed`, async (t) => {
    const ws = await open(t, server, { autoClose: false });
    ws.close(code, 'a reason');
    const end = await ws.closed();
    t.is(end.code, code);
    t.true(end.finished, 'TCP ended in order');
  });
}

for (const code of INVALID_CODES) {
  test(`7.9 close code ${code} is a protocol error`, async (t) => {
    const ws = await open(t, server);
    ws.close(code);
    t.is((await ws.closed()).code, 1002);
  });

  test(`7.9 close code ${code} with a reason is a protocol error`, async (t) => {
    const ws = await open(t, server);
    ws.close(code, 'reason');
    t.is((await ws.closed()).code, 1002);
  });
}

test('7.3.1 an empty close is answered with an empty close', async (t) => {
  const ws = await open(t, server);
  ws.close();
  t.is((await ws.closed()).code, 1005);
});

for (const byte of [0x03, 0xe8, 0x00, 0xff]) {
  test(`7.3.2 a close payload of the one byte ${byte} is a protocol error`, async (t) => {
    const ws = await open(t, server);
    await ws.raw(frame({ opcode: CLOSE, payload: Buffer.from([byte]) }));
    t.is((await ws.closed()).code, 1002);
  });
}

for (const length of [0, 1, 50, 122, 123]) {
  test(`7.3.5 a close reason of ${length} bytes`, async (t) => {
    const ws = await open(t, server);
    ws.close(1000, '*'.repeat(length));
    t.is((await ws.closed()).code, 1000);
  });
}

test('7.3.6 a close reason of 124 bytes makes the frame too long', async (t) => {
  const ws = await open(t, server);
  ws.close(1000, '*'.repeat(124));
  t.is((await ws.closed()).code, 1002);
});

test('a close reason with characters of every length', async (t) => {
  const ws = await open(t, server);
  ws.close(1000, 'a¢€😀');
  t.is((await ws.closed()).code, 1000);
});

for (const [name, bytes] of [
  ...Object.entries(INVALID).map(([label, [sequence]]) => [label, sequence]),
  ...Object.entries(TRUNCATED),
]) {
  test(`7.5.1 invalid UTF-8 in a close reason: ${name}`, async (t) => {
    const ws = await open(t, server);
    await ws.raw(frame({ opcode: CLOSE, payload: Buffer.concat([Buffer.from([0x03, 0xe8]), bytes]) }));
    t.is((await ws.closed()).code, 1007);
  });
}

test('7.1.1 a message, then a close', async (t) => {
  const ws = await open(t, server, { autoClose: false });
  await ws.raw([text('hello'), close(1000)]);
  t.is((await ws.closed()).code, 1000);
  t.true(ws.inbox.length <= 1);
});

test('7.1.2 a second close is ignored', async (t) => {
  const ws = await open(t, server, { autoClose: false });
  await ws.raw(Buffer.concat([close(1000), close(4000)]));
  t.is((await ws.closed()).code, 1000);
});

test('7.1.3 a ping after the close gets no pong', async (t) => {
  const ws = await open(t, server, { autoClose: false });
  await ws.raw(Buffer.concat([close(1000), ping('late')]));
  t.is((await ws.closed()).code, 1000);
  t.deepEqual(ws.pongs, []);
});

test('7.1.4 a message after the close reaches no handler', async (t) => {
  const marker = `behind ${Math.random()}`;
  const ws = await open(t, server, { autoClose: false });
  await ws.raw(Buffer.concat([close(1000), text(JSON.stringify({ cmd: 'kvSet', key: marker, value: 'handled' }))]));
  t.is((await ws.closed()).code, 1000);
  t.is(await server.call('getKey', marker), undefined);
});

test('7.1.5 a close inside a fragmented message', async (t) => {
  const ws = await open(t, server, { autoClose: false });
  await ws.raw([text('first', { fin: false }), close(1000), frame({ opcode: 0, payload: 'last' })]);
  t.is((await ws.closed()).code, 1000);
  t.deepEqual(ws.inbox, []);
});

test('7.1.6 a big message, a close and a ping in one segment', async (t) => {
  const ws = await open(t, server, { autoClose: false });
  await ws.raw(Buffer.concat([text('x'.repeat(256 * 1024)), close(1000), ping('late')]));
  t.is((await ws.closed()).code, 1000);
  t.deepEqual(ws.pongs, []);
});

test('invalid bytes after the close are ignored', async (t) => {
  const ws = await open(t, server, { autoClose: false });
  await ws.raw(Buffer.concat([close(4002), Buffer.alloc(5000, 0xff)]));
  t.is((await ws.closed()).code, 4002);
});

test('a close sent octet by octet', async (t) => {
  const ws = await open(t, server, { autoClose: false });
  await ws.raw(Array.from(close(4003, 'slowly'), (byte) => Buffer.from([byte])));
  t.is((await ws.closed()).code, 4003);
});

test('the server ends the TCP connection after the closing handshake', async (t) => {
  const ws = await open(t, server, { autoClose: false });
  ws.close(1000);
  const end = await ws.closed();
  t.true(end.finished);
});

for (const [code, reason] of [
  [1000, ''],
  [4000, 'bye'],
  [4999, 'r'.repeat(123)],
  [1008, 'ends with €'],
]) {
  test(`the server closes with ${code} ${reason.slice(0, 10)}`, async (t) => {
    const ws = await member(t, server);
    t.true(await server.call('close', ws.id, code, reason));
    const end = await ws.closed();
    t.like(end, { code, reason, finished: true });
  });
}

test('messages that were sent before close() arrive before the close frame', async (t) => {
  const ws = await member(t, server);
  await ask(ws, {
    cmd: 'batch',
    calls: [
      { fn: 'send', args: [ws.id, 'one'] },
      { fn: 'send', args: [ws.id, 'two'] },
      { fn: 'close', args: [ws.id, 4001, 'done'] },
      { fn: 'send', args: [ws.id, 'three'] },
    ],
  }).catch(() => undefined);
  t.like(await ws.closed(), { code: 4001, reason: 'done' });
  t.deepEqual(
    ws.inbox.map(({ data }) => data),
    ['one', 'two'],
  );
});

test('a client that never answers the server close loses its TCP connection', async (t) => {
  const own = await ownServer(t, { workerPath: worker('commands'), threads: 1, limits: { closeTimeoutMs: 500 } });
  const ws = await member(t, own, { autoClose: false });
  t.true(await own.call('close', ws.id, 4000));
  t.is((await ws.closed()).code, 4000);
});

test('both sides close at the same time', async (t) => {
  for (let round = 0; round < 20; round++) {
    const ws = await member(t, server);
    const closing = server.call('close', ws.id, 4000);
    ws.close(4001);
    await closing;
    t.true([4000, 4001].includes((await ws.closed()).code));
  }
});

test('a TCP end without a close frame ends the connection', async (t) => {
  const ws = await member(t, server);
  ws.end();
  t.is((await ws.closed()).code, 1006);
  await forgotten(server, ws.id);
});
