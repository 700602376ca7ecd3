// RFC 6455 §5.5: pings and pongs (modelled on Autobahn's case 2), and the protection against a flood of them.
import test from 'ava';

import { CLOSE, frame, PING, PONG, ping, pong, text } from '../support/frames.mjs';
import { open, ownServer, sharedServer, worker } from '../support/server.mjs';

const server = sharedServer(test, { workerPath: worker('echo'), threads: 1 });

for (const length of [0, 1, 2, 8, 64, 124, 125]) {
  test(`2 a ping of ${length} bytes is answered with the same payload`, async (t) => {
    const ws = await open(t, server);
    const payload = Buffer.from(Array.from({ length }, (_, index) => (index * 37 + 200) & 0xff));
    ws.ping(payload);
    t.deepEqual(await ws.pong(), payload);
    ws.close(1000);
    t.is((await ws.closed()).code, 1000);
  });
}

test('2.1-2.5 a ping of every length from 0 to 125 bytes', async (t) => {
  const ws = await open(t, server);
  for (let length = 0; length <= 125; length++) ws.ping(Buffer.alloc(length, length));
  for (let length = 0; length <= 125; length++) {
    const payload = await ws.pong();
    t.true(payload.equals(Buffer.alloc(length, length)), `ping of ${length} bytes`);
  }
});

for (const [name, opcode] of Object.entries({ PING, PONG, CLOSE })) {
  for (const length of [126, 127, 65_536]) {
    test(`2.5 ${name} of ${length} bytes is a protocol error`, async (t) => {
      const ws = await open(t, server);
      await ws.raw(frame({ opcode, payload: Buffer.alloc(length, 0xfe) }));
      t.is((await ws.closed()).code, 1002);
      t.deepEqual(ws.pongs, []);
    });
  }
}

test('2.6 a ping sent octet by octet', async (t) => {
  const ws = await open(t, server);
  await ws.raw(Array.from(ping(Buffer.alloc(125, 0xfe)), (byte) => Buffer.from([byte])));
  t.deepEqual(await ws.pong(), Buffer.alloc(125, 0xfe));
});

for (const payload of ['', 'unsolicited', Buffer.alloc(125, 0xff)]) {
  test(`2.7-2.9 an unsolicited pong of ${payload.length} bytes is ignored`, async (t) => {
    const ws = await open(t, server);
    await ws.raw([pong(payload), ping('answer me')]);
    t.is((await ws.pong()).toString(), 'answer me');
    ws.send('alive');
    t.is(await ws.text(), 'alive');
    t.deepEqual(ws.pongs, []);
  });
}

test('2.10 ten pings are answered in order', async (t) => {
  const ws = await open(t, server);
  for (let index = 0; index < 10; index++) ws.ping(`payload-${index}`);
  for (let index = 0; index < 10; index++) t.is((await ws.pong()).toString(), `payload-${index}`);
});

test('2.11 ten pings sent octet by octet', async (t) => {
  const ws = await open(t, server);
  const bytes = Buffer.concat(Array.from({ length: 10 }, (_, index) => ping(`payload-${index}`)));
  await ws.raw(Array.from(bytes, (byte) => Buffer.from([byte])));
  for (let index = 0; index < 10; index++) t.is((await ws.pong()).toString(), `payload-${index}`);
});

test('a ping payload need not be UTF-8', async (t) => {
  const ws = await open(t, server);
  const payload = Buffer.from([0xff, 0xc0, 0x80, 0xed, 0xa0]);
  ws.ping(payload);
  t.deepEqual(await ws.pong(), payload);
});

test('pings are answered while a handler is running, with the same payload', async (t) => {
  const ws = await open(t, server);
  const name = `slow ${Math.random()}`;
  ws.send(name);
  t.is(await ws.text(), 'started');
  for (const payload of ['one', '', 'three', 'x'.repeat(125)]) {
    ws.ping(payload);
    t.is((await ws.pong()).toString(), payload);
  }
  t.is(ws.inbox.length, 0);
  await server.call('setKey', name, 'go');
  t.is(await ws.text(), name);
});

test('a ping after messages that wait for a handler is answered before them', async (t) => {
  const ws = await open(t, server);
  const name = `slow ${Math.random()}`;
  await ws.raw(Buffer.concat([text(name), text('waits 1'), text('waits 2'), ping('overtakes')]));
  t.is(await ws.text(), 'started');
  t.is((await ws.pong()).toString(), 'overtakes');
  t.is(ws.inbox.length, 0);
  await server.call('setKey', name, 'go');
  t.deepEqual([await ws.text(), await ws.text(), await ws.text()], [name, 'waits 1', 'waits 2']);
});

test('a client that floods pings is closed with 1008, other clients are not affected', async (t) => {
  const [flooder, bystander] = await Promise.all([open(t, server), open(t, server)]);
  const before = performance.now();
  await flooder.raw(Buffer.concat(Array.from({ length: 3000 }, () => ping('flood'))));
  t.is((await flooder.closed()).code, 1008);
  // a burst of 1,000, and 100 for each second since then
  const most = 1100 + (performance.now() - before) / 10;
  t.true(flooder.pongs.length <= most, `${flooder.pongs.length} pongs, not ${most}`);
  bystander.ping('still here');
  t.is((await bystander.pong()).toString(), 'still here');
});

test('a client that floods pongs is closed with 1008, too', async (t) => {
  const ws = await open(t, server);
  await ws.raw(Buffer.concat(Array.from({ length: 3000 }, () => pong('flood'))));
  t.is((await ws.closed()).code, 1008);
});

test('a burst of 900 pings is within the default limit', async (t) => {
  const ws = await open(t, server);
  await ws.raw(Buffer.concat(Array.from({ length: 900 }, (_, index) => ping(String(index)))));
  for (let index = 0; index < 900; index++) t.is((await ws.pong()).toString(), String(index));
});

test('options set the limits of control frames', async (t) => {
  const small = await ownServer(t, {
    workerPath: worker('echo'),
    threads: 1,
    limits: { controlFramesPerSecond: 1, controlFramesBurst: 5 },
  });
  const polite = await open(t, small);
  for (let index = 0; index < 4; index++) polite.ping(String(index));
  for (let index = 0; index < 4; index++) t.is((await polite.pong()).toString(), String(index));
  const flooder = await open(t, small);
  await flooder.raw(Buffer.concat(Array.from({ length: 20 }, () => ping('x'))));
  t.is((await flooder.closed()).code, 1008);
});
