// permessage-deflate (RFC 7692): what a strict client sees of negotiation, and of valid and invalid messages.
import test from 'ava';

import { Compression, deflate, deflated, deflatedFragments } from '../support/deflate.mjs';
import { BINARY, binary, CONTINUATION, frame, ping, TEXT, text } from '../support/frames.mjs';
import { handshake } from '../support/http.mjs';
import { open, sharedServer, worker } from '../support/server.mjs';

const LISTENERS = {
  usual: { compression: true },
  small: { compression: { serverMaxWindowBits: 10, clientMaxWindowBits: 11, clientContextTakeover: false } },
  takeover: { compression: { serverContextTakeover: true, clientContextTakeover: true } },
  none: { compression: false },
};
const server = sharedServer(test, {
  workerPath: worker('echo'),
  threads: 1,
  compression: { threshold: 0 },
  bind: Object.values(LISTENERS).map((options) => ({ address: '127.0.0.1:0', ...options })),
  limits: { messageBytes: 1 << 20 },
});
const addressOf = (listener) => server.addresses[Object.keys(LISTENERS).indexOf(listener)];
const opened = (t, listener, options) => open(t, { addresses: [addressOf(listener)] }, options);

const ALONE = 'server_no_context_takeover';
const BOTH_ALONE = 'server_no_context_takeover; client_no_context_takeover';
const D = 'permessage-deflate';

/** Offers, and the answers of the listeners `usual`, `small` and `takeover`; undefined: declined. */
const OFFERS = {
  [D]: [`${D}; ${ALONE}`, `${D}; ${BOTH_ALONE}`, D],
  [`${D}; client_max_window_bits`]: [`${D}; ${ALONE}`, `${D}; ${BOTH_ALONE}; client_max_window_bits=11`, D],
  [`${D}; client_max_window_bits=9; server_max_window_bits=9`]: [
    `${D}; ${ALONE}; server_max_window_bits=9; client_max_window_bits=9`,
    `${D}; ${BOTH_ALONE}; server_max_window_bits=9; client_max_window_bits=9`,
    `${D}; server_max_window_bits=9; client_max_window_bits=9`,
  ],
  [`${D};server_max_window_bits="12"; client_no_context_takeover`]: [
    `${D}; ${BOTH_ALONE}; server_max_window_bits=12`,
    `${D}; ${BOTH_ALONE}; server_max_window_bits=10`,
    `${D}; client_no_context_takeover; server_max_window_bits=12`,
  ],
  [`${D}; server_no_context_takeover`]: [`${D}; ${ALONE}`, `${D}; ${BOTH_ALONE}`, `${D}; ${ALONE}`],
  [`${D}; server_max_window_bits=7, ${D}; unknown, x-other; a=b, ${D}; client_max_window_bits=10, ${D}`]: [
    `${D}; ${ALONE}; client_max_window_bits=10`,
    `${D}; ${BOTH_ALONE}; client_max_window_bits=10`,
    `${D}; client_max_window_bits=10`,
  ],
  'x-webkit-deflate-frame': [undefined, undefined, undefined],
  [`${D}; server_max_window_bits`]: [undefined, undefined, undefined],
  [`${D}; server_max_window_bits=16`]: [undefined, undefined, undefined],
  [`${D}; server_max_window_bits=08`]: [undefined, undefined, undefined],
  [`${D}; client_max_window_bits=7`]: [undefined, undefined, undefined],
  [`${D}; server_no_context_takeover=1`]: [undefined, undefined, undefined],
  [`${D}; client_no_context_takeover; client_no_context_takeover`]: [undefined, undefined, undefined],
  [`${D}; mode=fast`]: [undefined, undefined, undefined],
};

/** Requests that are answered with and without hyper, which parses those with a length. */
const WAYS = { directly: {}, 'by hyper': { 'Content-Length': '0' } };

for (const [offer, answers] of Object.entries(OFFERS)) {
  test(`the offer ${offer}`, async (t) => {
    for (const [index, answer] of answers.entries()) {
      for (const [way, headers] of Object.entries(WAYS)) {
        const address = server.addresses[index];
        const got = await handshake(address, { headers: { 'Sec-WebSocket-Extensions': offer, ...headers } });
        t.is(got.status, 101);
        t.is(got.headers['sec-websocket-extensions'], answer, `listener ${index}, ${way}`);
      }
    }
    const plain = await handshake(addressOf('none'), { headers: { 'Sec-WebSocket-Extensions': offer } });
    t.deepEqual([plain.status, plain.headers['sec-websocket-extensions']], [101, undefined]);
  });
}

test('offers on several lines are tried in their order', async (t) => {
  const lines = [`${D}; server_max_window_bits=99`, `x-a, ${D}; server_max_window_bits=9`, D];
  const { headers } = await handshake(addressOf('usual'), { headers: { 'Sec-WebSocket-Extensions': lines } });
  t.is(headers['sec-websocket-extensions'], `${D}; ${ALONE}; server_max_window_bits=9`);
});

for (const line of ['', `${D};`, `${D}; =`, `${D}; a b`, `${D}; server_max_window_bits=`, `${D}; a="b`, `${D}, ;`]) {
  test(`a header that is no list of extensions is refused: ${JSON.stringify(line)}`, async (t) => {
    for (const headers of Object.values(WAYS)) {
      const offered = { headers: { 'Sec-WebSocket-Extensions': [D, line], ...headers } };
      const { status, body } = await handshake(addressOf('usual'), offered);
      t.is(status, 400);
      t.is(body, 'Sec-WebSocket-Extensions must be a list of extensions');
    }
    // without compression the header has no meaning
    const plain = await handshake(addressOf('none'), { headers: { 'Sec-WebSocket-Extensions': line } });
    t.is(plain.status, 101);
  });
}

const words = (count, salt = 0) =>
  JSON.stringify(Array.from({ length: count }, (_, index) => ({ id: (index * 31 + salt) % 97, name: 'a member' })));

for (const bits of [8, 9, 10, 11, 12, 13, 14, 15]) {
  test(`windows of 2^${bits} bytes, with and without context takeover`, async (t) => {
    for (const listener of ['usual', 'small', 'takeover']) {
      for (const more of ['', '; server_no_context_takeover', '; client_no_context_takeover']) {
        const params = `client_max_window_bits=${bits}; server_max_window_bits=${bits}${more}`;
        const compression = new Compression(params);
        const ws = await opened(t, listener, { compression });
        t.true(compression.terms.server_max_window_bits <= bits);
        const messages = ['', 'a', words(10), words(10), words(10, 1), words(300), Buffer.from(words(500)), words(10)];
        for (const level of [1, 6, 9]) {
          for (const message of messages) await ws.raw(compression.frame(message, { level }));
        }
        for (const message of [...messages, ...messages, ...messages]) t.deepEqual((await ws.next()).data, message);
        ws.close(1000);
        t.is((await ws.closed()).code, 1000);
      }
    }
  });
}

test('messages with and without compression, and pings between fragments, keep their order', async (t) => {
  const compression = new Compression();
  const ws = await opened(t, 'usual', { compression });
  const long = words(200);
  await ws.raw(text('plain'));
  await ws.raw(deflatedFragments(TEXT, compression.deflate(long), 7, ping('p')));
  await ws.raw(compression.frame('short'));
  await ws.raw([text('pl', { fin: false }), frame({ opcode: CONTINUATION, payload: 'ain' })]);
  await ws.raw(
    deflatedFragments(BINARY, compression.deflate(long), 1000, frame({ opcode: CONTINUATION, fin: false })).slice(
      0,
      -1,
    ),
  );
  t.is(await ws.text(), 'plain');
  t.is(await ws.text(), long);
  t.is(await ws.text(), 'short');
  t.is(await ws.text(), 'plain');
  t.is((await ws.next()).data.toString(), long);
  t.true(ws.pongs.length > 20);
});

const STORED = Buffer.concat([Buffer.from([0, 5, 0, 0xfa, 0xff]), Buffer.from('Hello'), Buffer.from([0])]);
const HELLO = Buffer.from([0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00]);
const FINAL = Buffer.from([0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00]);
const VALID = {
  'an empty message': [Buffer.from([0]), ''],
  'a fixed block': [HELLO, 'Hello'],
  'a stored block': [STORED, 'Hello'],
  'two blocks': [Buffer.concat([HELLO, Buffer.from([0, 0, 0xff, 0xff]), HELLO]), 'HelloHello'],
  'a final block, and an empty one after it': [Buffer.concat([FINAL, Buffer.from([0])]), 'Hello'],
  'a final block at the end': [FINAL, 'Hello'],
  'text after a final block': [Buffer.concat([FINAL, STORED]), 'HelloHello'],
  'level 0': [deflate(words(2000), { level: 0 }), words(2000)],
};

for (const [name, [payload, expected]] of Object.entries(VALID)) {
  test(`${name} is a message`, async (t) => {
    const ws = await opened(t, 'usual', { compression: new Compression() });
    await ws.raw(frame({ payload, rsv: 4 }));
    for (const byte of frame({ payload, rsv: 4 }).subarray(0, 3)) await ws.raw(Buffer.from([byte]));
    await ws.raw(frame({ payload, rsv: 4 }).subarray(3));
    t.is(await ws.text(), expected);
    t.is(await ws.text(), expected);
  });
}

const euro = Buffer.from('5 \u20ac');
const part = deflate(words(50));
const INVALID = {
  'RSV1 on a ping': [1002, frame({ opcode: 9, rsv: 4 })],
  'RSV1 on a pong': [1002, frame({ opcode: 10, rsv: 4 })],
  'RSV1 on a close': [1002, frame({ opcode: 8, rsv: 4 })],
  'RSV1 on a continuation': [
    1002,
    frame({ payload: part.subarray(0, 9), fin: false, rsv: 4 }),
    frame({ opcode: CONTINUATION, payload: part.subarray(9), rsv: 4 }),
  ],
  'RSV1 on a continuation of a plain message': [
    1002,
    text('a', { fin: false }),
    frame({ opcode: CONTINUATION, rsv: 4 }),
  ],
  'RSV2 beside RSV1': [1002, frame({ payload: HELLO, rsv: 6 })],
  RSV3: [1002, frame({ payload: HELLO, rsv: 1 })],
  'bytes that are not DEFLATE': [1007, frame({ payload: Buffer.alloc(50, 0xff), rsv: 4 })],
  'no bytes at all': [1007, frame({ rsv: 4 })],
  'half a message': [1007, frame({ payload: part.subarray(0, part.length / 2), rsv: 4 })],
  'bytes after the last block': [1007, frame({ payload: Buffer.concat([HELLO, Buffer.from('more')]), rsv: 4 })],
  'a reference to text that there never was': [
    1007,
    frame({ payload: Buffer.from([0xf2, 0x00, 0x11, 0x00, 0x00]), rsv: 4 }),
  ],
  'a thousand final blocks': [1007, frame({ payload: Buffer.alloc(2000, Buffer.from([3, 0])), rsv: 4 })],
  'invalid UTF-8': [1007, deflated(Buffer.from([0x61, 0xff]), { opcode: TEXT })],
  'half a character at the end': [1007, deflated(euro.subarray(0, -1), { opcode: TEXT })],
  'a message that inflates to one byte too many': [1009, deflated(Buffer.alloc((1 << 20) + 1))],
  'a frame that is longer than any valid message': [1009, binary(Buffer.alloc(1 << 21), { rsv: 4 })],
};

for (const [name, [code, ...frames]] of Object.entries(INVALID)) {
  test(`${name} closes with ${code}, and no other connection`, async (t) => {
    const other = await opened(t, 'usual', { compression: new Compression() });
    const ws = await opened(t, 'usual', { compression: new Compression() });
    await ws.raw([...frames, text('never')]);
    t.is((await ws.closed()).code, code);
    t.deepEqual(ws.inbox, []);
    await other.raw(deflated('still here'));
    t.is(await other.text(), 'still here');
  });
}

test('a message of exactly the limit passes, whether it can be compressed or not', async (t) => {
  const compression = new Compression();
  const ws = await opened(t, 'usual', { compression });
  const noise = Buffer.from(Array.from({ length: 1 << 20 }, (_, index) => Math.imul(index, 2654435761) >>> 13));
  for (const data of [Buffer.alloc(1 << 20), noise]) {
    await ws.raw(frame({ opcode: BINARY, payload: deflate(data, { level: 1 }), rsv: 4 }));
    t.true((await ws.next()).data.equals(data));
  }
});

test('a connection without compression refuses RSV1', async (t) => {
  for (const listener of ['usual', 'none']) {
    const ws = await opened(t, listener);
    await ws.raw(deflated('Hello'));
    t.is((await ws.closed()).code, 1002);
  }
});
