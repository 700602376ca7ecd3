// permessage-deflate: what a message may refer to by the agreed terms, blocks that are no DEFLATE, and fragments. What is
// invalid closes the connection with the right code, takes bounded memory, and no other connection notices.
import test from 'ava';

import { bits, DYNAMIC, END, FIXED, fixed, literals, RESERVED } from '../support/bits.mjs';
import { Compression, deflate, deflated, deflatedFragments } from '../support/deflate.mjs';
import { BINARY, CONTINUATION, frame, ping, TEXT, text } from '../support/frames.mjs';
import { open, ownServer, sharedServer, worker } from '../support/server.mjs';

const MIB = 1 << 20;
const OPTIONS = {
  workerPath: worker('echo'),
  threads: 1,
  ioThreads: 1,
  compression: { threshold: 0, serverContextTakeover: true },
  limits: { messageBytes: MIB },
};
const shared = sharedServer(test, OPTIONS);

/** A connection that has agreed on exactly these terms. */
async function agreed(t, offer, terms, server = shared) {
  const compression = new Compression(offer);
  const ws = await open(t, server, { compression });
  t.deepEqual(compression.terms, terms);
  return ws;
}

const raw = (payload, more) => frame({ payload, rsv: 4, ...more });
const noise = (length, salt) =>
  Buffer.from(Array.from({ length }, (_, index) => Math.imul(index + salt * length, 2654435761) >>> 19));

/** The invalid frames end the connection with `code`, without an answer, while another one is served. */
async function refused(t, ws, frames, code, server = shared) {
  const other = await open(t, server, { compression: new Compression() });
  await ws.raw(frames);
  t.is((await ws.closed()).code, code);
  t.deepEqual(ws.inbox, []);
  await other.raw(deflated('still here'));
  t.is(await other.text(), 'still here');
}

test('with context takeover a message may refer to all earlier ones within the window, but not to plain ones', async (t) => {
  const ws = await agreed(t, '', {});
  const [first, plain] = [noise(1000, 1), noise(1000, 2)];
  await ws.raw(raw(deflate(first), { opcode: BINARY }));
  // an uncompressed message and a ping between them are no part of the context
  await ws.raw([frame({ opcode: BINARY, payload: plain }), ping('p'), raw(deflate(''), { opcode: BINARY })]);
  await ws.raw(raw(deflate(first, { dictionary: first }), { opcode: BINARY }));
  for (const expected of [first, plain, Buffer.alloc(0), first]) t.deepEqual((await ws.next()).data, expected);
  await refused(t, ws, raw(deflate(plain, { dictionary: Buffer.concat([plain, first, first]) })), 1007);
});

for (const [offer, terms] of [
  ['client_no_context_takeover', { client_no_context_takeover: true }],
  ['client_max_window_bits=9', { client_max_window_bits: 9 }],
]) {
  test(`a reference that the terms forbid closes with 1007: ${offer}`, async (t) => {
    const ws = await agreed(t, offer, terms);
    const first = noise(2000, 3);
    await ws.raw(raw(deflate(first), { opcode: BINARY }));
    t.deepEqual((await ws.next()).data, first);
    // 1,500 bytes back
    const again = deflate(first.subarray(500, 900), { dictionary: first });
    t.true(again.length < 50);
    await refused(t, ws, raw(again), 1007);
  });
}

test('a message may refer to its own text farther back than the agreed window, but not to earlier messages', async (t) => {
  const ws = await agreed(t, 'client_max_window_bits=9', { client_max_window_bits: 9 });
  // not within the window of 512 bytes: zlib is given that of 32 KiB
  const part = noise(1000, 5);
  const whole = Buffer.concat([part, noise(29_000, 6), part]);
  const compressed = deflate(whole);
  t.true(compressed.length < deflate(whole, { windowBits: 9 }).length - 500);
  for (const _ of [1, 2]) {
    await ws.raw(raw(compressed, { opcode: BINARY }));
    t.deepEqual((await ws.next()).data, whole);
  }
  await refused(t, ws, raw(deflate(part, { dictionary: whole.subarray(0, 2000) })), 1007);
});

test('stored, fixed and dynamic blocks in one message, whose matches reach back over all of them', async (t) => {
  const ws = await agreed(t, 'client_no_context_takeover', { client_no_context_takeover: true });
  const words = JSON.stringify(Array.from({ length: 500 }, (_, id) => ({ id, name: `member ${id % 7}` })));
  const tail = Buffer.from([0, 0, 0xff, 0xff]);
  const stored = Buffer.concat([Buffer.from([0, 5, 0, 0xfa, 0xff]), Buffer.from('first')]);
  const dynamic = deflate(words, { level: 9 });
  // a match of 5 bytes, 5 bytes and more back: length symbol 259, and the distance of the text in between
  const [symbol, extra] = distanceOf(5 + words.length);
  const back = bits(FIXED, fixed(259), symbol.toString(2).padStart(5, '0'), extra, ...END);
  await ws.raw(raw(Buffer.concat([stored, dynamic, tail, back])));
  t.is(await ws.text(), `first${words}first`);
  const empty = [Buffer.from([0, 0, 0, 0xff, 0xff]), bits(FIXED, ...END), tail, bits(...literals('x'), ...END)];
  await ws.raw(raw(Buffer.concat(empty)));
  t.is(await ws.text(), 'x');
});

/** The symbol of a distance, and its additional bits. */
function distanceOf(distance) {
  let [symbol, base] = [0, 1];
  const sizeOf = (one) => 2 ** Math.max(0, (one >> 1) - 1);
  while (base + sizeOf(symbol) <= distance) base += sizeOf(symbol++);
  return [symbol, [distance - base, Math.log2(sizeOf(symbol))]];
}

const INVALID = {
  'a block of a reserved kind': bits(RESERVED, [0, 5]),
  'a stored block whose lengths differ': Buffer.from([0, 5, 0, 0, 0, 72, 101, 108, 108, 111, 0]),
  'a stored block that is cut': Buffer.from([0, 5, 0, 0xfa, 0xff, 72, 101]),
  'a reserved length': bits(...literals('abc'), fixed(286), '00000', ...END),
  'a reserved distance': bits(...literals('abc'), fixed(257), '11110', ...END),
  'a match before the beginning': bits(...literals('abc'), fixed(257), '11101', [0, 13], ...END),
  'a fixed block without an end': bits(...literals('abcdefgh')),
  'too many symbols': bits(DYNAMIC, [31, 5], [0, 5], [0, 4], [0, 12]),
  'too many distances': bits(DYNAMIC, [0, 5], [31, 5], [0, 4], [0, 12]),
  'a code without lengths': bits(DYNAMIC, [0, 5], [0, 5], [0, 4], [0, 12], [0, 30]),
  'a code with too many symbols': bits(DYNAMIC, [0, 5], [0, 5], [0, 4], [1, 3], [1, 3], [1, 3], [1, 3], [0, 30]),
  'a repeated length without a first one': bits(
    DYNAMIC,
    [0, 5],
    [0, 5],
    [0, 4],
    [1, 3],
    [1, 3],
    [0, 3],
    [0, 3],
    '0',
    [0, 2],
  ),
};

for (const [name, payload] of Object.entries(INVALID)) {
  test(`${name} closes with 1007, alone and after a valid message`, async (t) => {
    await refused(t, await agreed(t, '', {}), [raw(payload), text('never')], 1007);
    const ws = await agreed(t, '', {});
    await ws.raw(deflated('valid'));
    t.is(await ws.text(), 'valid');
    await refused(t, ws, [...deflatedFragments(TEXT, payload, 3), text('never')], 1007);
  });
}

test('characters may be split between fragments and blocks, and a text that is not UTF-8 closes with 1007', async (t) => {
  const ws = await agreed(t, '', {});
  const words = 'Größe 漢字 🦀 '.repeat(50);
  for (const level of [0, 1, 9]) {
    await ws.raw(deflatedFragments(TEXT, deflate(words, { level }), 1));
    t.is(await ws.text(), words);
  }
  const bytes = Buffer.from('a🦀');
  const halves = [bytes.subarray(0, 3), bytes.subarray(3)].map((half) => deflate(half, { level: 0 }));
  const whole = Buffer.concat([halves[0], Buffer.from([0, 0, 0xff, 0xff]), halves[1]]);
  await ws.raw([raw(Buffer.alloc(0), { fin: false }), ...deflatedFragments(CONTINUATION, whole, 4).map(withoutRsv)]);
  t.is(await ws.text(), 'a🦀');
  // valid as bytes; the text after them copies a part of them
  const broken = Buffer.from([...bytes.subarray(0, 4), ...Buffer.from(' and more of it')]);
  await ws.raw(raw(deflate(broken), { opcode: BINARY }));
  t.deepEqual((await ws.next()).data, broken);
  await refused(t, ws, raw(deflate(broken, { dictionary: broken })), 1007);
});

/** A frame without RSV1. */
function withoutRsv(bytes) {
  const plain = Buffer.from(bytes);
  if (plain.length > 0) plain[0] &= 0xbf;
  return plain;
}

test('invalid UTF-8 far inside a long text closes with 1007', async (t) => {
  const long = Buffer.from('é'.repeat(200_000));
  long[300_001] = 0x28;
  await refused(t, await agreed(t, '', {}), raw(deflate(long)), 1007);
  await refused(t, await agreed(t, '', {}), deflatedFragments(TEXT, deflate(long), 100), 1007);
});

test('frames out of order close with 1002, with RSV1 as without', async (t) => {
  const part = raw(deflate('Hello').subarray(0, 3), { fin: false });
  for (const frames of [[part, deflated('second')], [part, text('second')], [raw('', { opcode: CONTINUATION })]]) {
    await refused(t, await agreed(t, '', {}), frames, 1002);
  }
});

test('a length that is only announced costs nothing, and one beyond every valid message closes with 1009', async (t) => {
  // its memory is measured, so no other test uses it
  const server = await ownServer(t, OPTIONS);
  const before = (await server.usage()).rss;
  const waiting = await Promise.all(Array.from({ length: 200 }, () => agreed(t, '', {}, server)));
  for (const ws of waiting) await ws.raw(raw(Buffer.alloc(10), { announce: MIB, opcode: BINARY }));
  const excessive = raw(Buffer.alloc(10), { announce: 2 ** 40, opcode: BINARY });
  await refused(t, await agreed(t, '', {}, server), excessive, 1009, server);
  const grown = (await server.usage()).rss - before;
  t.true(grown < 16 * MIB, `${grown / MIB} MiB more`);
});

test('fifty bombs at once, also in fragments, close with 1009 and cost one message after the other', async (t) => {
  const one = Buffer.concat([deflate(Buffer.alloc(MIB)), Buffer.from([0, 0, 0xff, 0xff])]);
  // a GiB
  const bomb = Buffer.concat(Array(1024).fill(one)).subarray(0, -4);
  t.true(bomb.length < 1.2 * MIB);
  const server = await ownServer(t, OPTIONS);
  const other = await open(t, server, { compression: new Compression() });
  const attackers = await Promise.all(Array.from({ length: 50 }, () => agreed(t, '', {}, server)));
  const before = (await server.usage()).rss;
  // each one lacks its last byte until all have come
  const frames = attackers.map((_, index) =>
    index % 2 === 0
      ? raw(bomb.subarray(0, 600_000), { opcode: BINARY })
      : Buffer.concat(deflatedFragments(BINARY, bomb.subarray(0, 600_000), 60_000)),
  );
  await Promise.all(attackers.map((ws, index) => ws.raw(frames[index].subarray(0, -1))));
  await Promise.all(attackers.map((ws, index) => ws.raw(frames[index].subarray(-1))));
  for (const ws of attackers) t.is((await ws.closed()).code, 1009);
  await other.raw(deflated('still here'));
  t.is(await other.text(), 'still here');
  const grown = (await server.usage()).rss - before;
  // what was received, and one text at a time
  t.true(grown < 80 * MIB, `${grown / MIB} MiB more`);
});
