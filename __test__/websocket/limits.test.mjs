// RFC 6455 §10.4 and Autobahn's case 9: big messages, many fragments, and the limits of both.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { BINARY, binary, close, continuation, fragments, TEXT, text } from '../support/frames.mjs';
import { linuxTests } from '../support/platforms.mjs';
import { open, ownServer, sharedServer, worker } from '../support/server.mjs';

const MIB = 1024 * 1024;
const LIMIT = 64 * 1024;
const server = sharedServer(test, { workerPath: worker('echo'), threads: 1 });
const small = sharedServer(test, { workerPath: worker('echo'), threads: 1, limits: { messageBytes: LIMIT } });

for (const size of [64 * 1024, 256 * 1024, MIB, 4 * MIB, 8 * MIB, 16 * MIB]) {
  test.serial(`9.1 text of ${size} bytes`, async (t) => {
    const ws = await open(t, server);
    await ws.raw(text('*'.repeat(size)));
    t.is((await ws.text(60_000)).length, size);
  });

  test.serial(`9.2 binary of ${size} bytes`, async (t) => {
    const ws = await open(t, server);
    const payload = Buffer.alloc(size, 0xab);
    await ws.raw(binary(payload));
    t.true(payload.equals((await ws.next(60_000)).data));
  });
}

test.serial('the default limit is 16 MiB: a frame that announces one more byte is refused', async (t) => {
  const ws = await open(t, server);
  await ws.raw(binary('', { announce: 16 * MIB + 1 }));
  t.is((await ws.closed()).code, 1009);
});

test.serial('16 MiB and a byte in two fragments are refused', async (t) => {
  const ws = await open(t, server);
  await ws.raw([binary(Buffer.alloc(16 * MIB), { fin: false }), continuation('x')]);
  t.is((await ws.closed(60_000)).code, 1009);
});

for (const size of [64, 256, 1024, 4096, 16_384, 65_536]) {
  test.serial(`9.3 a 4 MiB text message in fragments of ${size} bytes`, async (t) => {
    const ws = await open(t, server);
    const part = '*'.repeat(size);
    await ws.raw(
      Buffer.concat(
        fragments(
          TEXT,
          Array.from({ length: (4 * MIB) / size }, () => part),
        ),
      ),
    );
    t.is((await ws.text(60_000)).length, 4 * MIB);
  });
}

test.serial('9.4 a 4 MiB binary message in 65536 fragments is valid and does not delay others', async (t) => {
  const [ws, other] = await Promise.all([open(t, server), open(t, server)]);
  const part = Buffer.alloc(64, 7);
  const sending = ws.raw(
    Buffer.concat(
      fragments(
        BINARY,
        Array.from({ length: 65_536 }, () => part),
      ),
    ),
  );
  other.send('meanwhile');
  t.is(await other.text(), 'meanwhile');
  await sending;
  t.is((await ws.next(60_000)).data.length, 4 * MIB);
});

test.serial('9.5 a 1 MiB text message in pieces of 1024 octets', async (t) => {
  const ws = await open(t, server);
  const bytes = text('*'.repeat(MIB));
  await ws.raw(
    Array.from({ length: Math.ceil(bytes.length / 1024) }, (_, index) =>
      bytes.subarray(index * 1024, (index + 1) * 1024),
    ),
  );
  t.is((await ws.text(60_000)).length, MIB);
});

for (const size of [0, 16, 64, 256, 1024]) {
  test.serial(`9.7 1000 round trips of ${size} bytes`, async (t) => {
    const ws = await open(t, server);
    const payload = 'x'.repeat(size);
    for (let index = 0; index < 1000; index++) {
      ws.send(payload);
      if ((await ws.text()) !== payload) t.fail(`message ${index}`);
    }
    t.is(ws.received, 1000);
  });
}

test('a message of exactly the limit is accepted, whole and fragmented', async (t) => {
  const ws = await open(t, small);
  ws.send('x'.repeat(LIMIT));
  t.is((await ws.text()).length, LIMIT);
  await ws.raw(fragments(TEXT, ['x'.repeat(LIMIT - 1), 'y']));
  t.is((await ws.text()).length, LIMIT);
});

const OVER = {
  'one frame, a byte too long': [binary(Buffer.alloc(LIMIT + 1))],
  'one text frame, a byte too long': [text('x'.repeat(LIMIT + 1))],
  'only the header of a frame that is too long': [binary('', { announce: LIMIT + 1 })],
  'two fragments, together a byte too long': [binary(Buffer.alloc(LIMIT), { fin: false }), continuation('x')],
  'a continuation that announces too much': [binary('a', { fin: false }), continuation('', { announce: LIMIT })],
  'many fragments, together too long': fragments(
    BINARY,
    Array.from({ length: 70 }, () => Buffer.alloc(1024)),
  ),
  'unfinished fragments, together too long': fragments(
    TEXT,
    Array.from({ length: 70 }, () => 'x'.repeat(1024)),
  ).slice(0, -1),
};

for (const [name, pieces] of Object.entries(OVER)) {
  test(`over the limit: ${name} (1009)`, async (t) => {
    const ws = await open(t, small);
    await ws.raw(pieces);
    t.is((await ws.closed()).code, 1009);
    t.deepEqual(ws.inbox, []);
  });
}

test('the limit is per message: many messages at the limit are accepted', async (t) => {
  const ws = await open(t, small);
  for (let index = 0; index < 20; index++) {
    ws.send(Buffer.alloc(LIMIT, index));
    t.is((await ws.next()).data[0], index);
  }
});

test('an empty fragment counts 16 bytes: a thousand are accepted', async (t) => {
  const ws = await open(t, small);
  await ws.raw(
    Buffer.concat([
      text('', { fin: false }),
      ...Array.from({ length: 1000 }, () => continuation('', { fin: false })),
      continuation('end'),
    ]),
  );
  t.is(await ws.text(), 'end');
});

test('endless empty fragments end with 1009', async (t) => {
  const ws = await open(t, small);
  const many = Buffer.concat(Array.from({ length: LIMIT / 16 + 16 }, () => continuation('', { fin: false })));
  await ws.raw([text('', { fin: false }), many]);
  t.is((await ws.closed()).code, 1009);
});

test('a close after a message at the limit is answered', async (t) => {
  const ws = await open(t, small);
  await ws.raw([binary(Buffer.alloc(LIMIT)), close(4004)]);
  t.is((await ws.closed()).code, 4004);
});

linuxTests(test)('announced lengths allocate no memory', async (t) => {
  const own = await ownServer(t, { workerPath: worker('echo'), threads: 1 });
  const clients = await Promise.all(Array.from({ length: 50 }, () => open(t, own)));
  const before = await own.usage();
  for (const ws of clients) await ws.raw([binary('a', { announce: 16 * MIB })]);
  for (const ws of clients) ws.destroy();
  const others = await Promise.all(Array.from({ length: 50 }, () => open(t, own)));
  for (const ws of others) await ws.raw([binary('a'.repeat(100), { announce: 16 * MIB })]);
  await until(
    async () => Object.keys(await own.call('getDebugState', 'sockets')).length === 50,
    'the first clients to be gone',
  );
  const after = await own.usage();
  t.true(after.rss - before.rss < 24 * MIB, `grew by ${(after.rss - before.rss) / MIB} MiB for 1600 MiB announced`);
});
