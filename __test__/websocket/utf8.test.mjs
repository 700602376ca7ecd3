// RFC 6455 §8.1: text is UTF-8, and is checked as early as possible (modelled on Autobahn's case 6).
import test from 'ava';

import { binary, continuation, fragments, ping, TEXT, text } from '../support/frames.mjs';
import { open, sharedServer, worker } from '../support/server.mjs';
import { INVALID, TRUNCATED, VALID } from '../support/utf8-cases.mjs';

const server = sharedServer(test, { workerPath: worker('echo'), threads: 1 });

/** Every way to cut bytes in two, empty parts included. */
const cuts = (bytes) =>
  Array.from({ length: bytes.length + 1 }, (_, cut) => [bytes.subarray(0, cut), bytes.subarray(cut)]);
const octets = (bytes) => Array.from(bytes, (byte) => Buffer.from([byte]));

for (const [name, bytes] of Object.entries(VALID)) {
  test(`valid: ${name}, whole and in fragments cut at every byte`, async (t) => {
    const ws = await open(t, server);
    const expected = bytes.toString();
    await ws.raw(text(bytes));
    t.is(await ws.text(), expected);
    for (const parts of cuts(bytes)) {
      await ws.raw(Buffer.concat(fragments(TEXT, parts)));
      t.is(await ws.text(), expected);
    }
    await ws.raw(fragments(TEXT, octets(bytes)));
    t.is(await ws.text(), expected);
    const frame = text(bytes);
    for (let cut = 1; cut < frame.length; cut++) {
      await ws.raw([frame.subarray(0, cut), frame.subarray(cut)]);
      t.is(await ws.text(), expected);
    }
  });
}

for (const [name, [bytes, enough]] of Object.entries(INVALID)) {
  test(`invalid: ${name}, in one frame`, async (t) => {
    const ws = await open(t, server);
    await ws.raw(text(bytes));
    t.is((await ws.closed()).code, 1007);
    t.deepEqual(ws.inbox, []);
  });

  test(`invalid: ${name}, in fragments cut at every byte`, async (t) => {
    for (const parts of cuts(bytes)) {
      const ws = await open(t, server);
      await ws.raw(fragments(TEXT, parts));
      t.is((await ws.closed()).code, 1007);
      t.deepEqual(ws.inbox, []);
    }
  });

  test(`fail fast: ${name}, refused at byte ${enough} of an unfinished message and not before`, async (t) => {
    const ws = await open(t, server);
    await ws.raw([
      text(Buffer.concat([Buffer.from('good '), bytes.subarray(0, enough - 1)]), { fin: false }),
      ping('so far so good'),
    ]);
    t.is((await ws.pong()).toString(), 'so far so good');
    await ws.raw(continuation(bytes.subarray(enough - 1, enough), { fin: false }));
    t.is((await ws.closed()).code, 1007);
  });

  test(`fail fast: ${name}, refused inside an unfinished frame`, async (t) => {
    const ws = await open(t, server);
    // The frame announces 1000 bytes; the invalid one comes early, and the rest is not sent.
    const frame = text(Buffer.concat([Buffer.from('good '), bytes, Buffer.alloc(1000, 0x20)]).subarray(0, 1000));
    const head = 8 + 5;
    await ws.raw([frame.subarray(0, head + enough - 1), frame.subarray(head + enough - 1, head + enough)]);
    t.is((await ws.closed()).code, 1007);
  });
}

for (const [name, bytes] of Object.entries(TRUNCATED)) {
  test(`truncated: ${name}, refused at the end of the message and not before`, async (t) => {
    const ws = await open(t, server);
    await ws.raw([text(bytes, { fin: false }), ping('not yet')]);
    t.is((await ws.pong()).toString(), 'not yet');
    await ws.raw(continuation('', { fin: true }));
    t.is((await ws.closed()).code, 1007);
    t.deepEqual(ws.inbox, []);
  });

  test(`truncated: ${name}, in one frame`, async (t) => {
    const ws = await open(t, server);
    await ws.raw(text(bytes));
    t.is((await ws.closed()).code, 1007);
  });
}

test('a character split between two fragments with a ping in between is decoded', async (t) => {
  const ws = await open(t, server);
  const bytes = Buffer.from('€');
  await ws.raw([
    text(bytes.subarray(0, 1), { fin: false }),
    ping('1'),
    continuation(bytes.subarray(1, 2), { fin: false }),
    ping('2'),
    continuation(bytes.subarray(2)),
  ]);
  t.is(await ws.text(), '€');
  t.is(ws.pongs.length, 2);
});

test('the decoder starts anew for each message', async (t) => {
  const ws = await open(t, server);
  for (const [bytes] of Object.values(INVALID)) {
    await ws.raw([binary(bytes), text('fine')]);
    t.deepEqual((await ws.next()).data, bytes);
    t.is(await ws.text(), 'fine');
  }
});

test('binary messages are not checked, fragmented or not', async (t) => {
  const ws = await open(t, server);
  const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  await ws.raw([binary(all), binary(all.subarray(0, 130), { fin: false }), continuation(all.subarray(130))]);
  t.deepEqual((await ws.next()).data, all);
  t.deepEqual((await ws.next()).data, all);
});

test('a long text with characters across every kind of buffer boundary', async (t) => {
  const ws = await open(t, server);
  const payload = 'a¢€😀'.repeat(20_000);
  const bytes = text(payload);
  const pieces = [];
  for (let at = 0, size = 1; at < bytes.length; at += size, size = (size * 7 + 3) % 8191)
    pieces.push(bytes.subarray(at, at + size));
  await ws.raw(pieces);
  t.is(await ws.text(), payload);
});
