// permessage-deflate in volume: a strict client has messages of many kinds and sizes echoed, whole and in fragments, by
// every combination of parameters. MILLRACE_TEST_COMPRESSION=full sends a thousand of each.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { Compression, deflatedFragments } from '../support/deflate.mjs';
import { BINARY, TEXT } from '../support/frames.mjs';
import { open, sharedServer, worker } from '../support/server.mjs';
import { IS_FULL, KINDS } from '../support/volume.mjs';

const SIZES = [16, 64, 256, 1024, 4096, 8192, 16_384, 32_768, 65_536, 131_072];
const CASES = [
  ...SIZES.map((size) => ({ size })),
  ...[8192, 16_384, 32_768, 65_536, 131_072].map((size) => ({ size, fragment: 256 })),
  ...[1024, 4096, 32_768].map((fragment) => ({ size: 131_072, fragment })),
];
/** Level 0 makes stored blocks. */
const LEVELS = [6, 1, 9, 0];
/** How many messages are on their way at once. */
const AHEAD = 4;

const LISTENERS = {
  'with context takeover both ways': { serverContextTakeover: true, clientContextTakeover: true, threshold: 0 },
  'without context takeover of the server': { threshold: 0 },
};
const server = sharedServer(test, {
  // the samples are pages of this project, whose texts may be what another worker takes for a command
  workerPath: worker('verbatim'),
  threads: 1,
  bind: Object.values(LISTENERS).map((compression) => ({ address: '127.0.0.1:0', compression })),
  limits: { messageBytes: 1 << 20 },
});
/** Messages of the server that it has compressed, also those that did not get shorter by that. */
const compressed = async () => (await server.call('stats')).compressedMessages;

const SERVER = 'server_no_context_takeover';
const CLIENT = 'client_no_context_takeover';
const ANY = 'client_max_window_bits';
const BITS = 'server_max_window_bits';
const both = (bits) => `${ANY}=${bits}; ${BITS}=${bits}`;

/** What is offered, and the terms that a listener without wishes of its own agrees to. */
const OFFERS = [
  [[ANY], {}],
  [[`${CLIENT}; ${ANY}`], { [CLIENT]: true }],
  [[`${ANY}; ${SERVER}`], { [SERVER]: true }],
  [[`${ANY}; ${BITS}=9`], { [BITS]: 9 }],
  [[`${ANY}; ${BITS}=15`], { [BITS]: 15 }],
  [[`${CLIENT}; ${ANY}; ${SERVER}; ${BITS}=9`], { [CLIENT]: true, [SERVER]: true, [BITS]: 9 }],
  [[`${ANY}; ${SERVER}; ${BITS}=15`], { [SERVER]: true, [BITS]: 15 }],
  [[`${ANY}; ${SERVER}; ${BITS}=9`, `${ANY}; ${SERVER}`, ANY], { [SERVER]: true, [BITS]: 9 }],
  [[`${BITS}=7`, `${ANY}; ${BITS}=10; x`, `${both(12)}; ${SERVER}`, ANY], { [SERVER]: true, [ANY]: 12, [BITS]: 12 }],
  ...[8, 9, 10, 11, 12, 13, 14].map((bits) => [[both(bits)], { [ANY]: bits, [BITS]: bits }]),
  [[both(15)], { [BITS]: 15 }],
];

/** Echoes `count` messages through one connection. Returns how many came back compressed. */
async function echoed(t, { listener, offers, terms, kind, size, fragment, count }) {
  const compression = new Compression(...offers);
  const address = server.addresses[listener];
  const ws = await open(t, server, { address, compression });
  t.deepEqual(compression.terms, listener === 0 ? terms : { [SERVER]: true, ...terms });
  const { source, compresses } = KINDS[kind];
  const underway = [];
  const check = async () => {
    const [expected, { data }] = [underway.shift(), await ws.next()];
    if (typeof expected === 'string' ? data !== expected : !expected.equals(data)) {
      throw new Error(`another message than the one of ${size} bytes that was sent`);
    }
  };
  for (let index = 0; index < count; index++) {
    const message = source.message(size, index);
    const payload = compression.deflate(message, { level: LEVELS[index % LEVELS.length] });
    const frames = deflatedFragments(typeof message === 'string' ? TEXT : BINARY, payload, fragment ?? Infinity);
    await ws.raw(index % 2 === 0 ? Buffer.concat(frames) : frames);
    underway.push(message);
    if (underway.length === AHEAD) await check();
  }
  while (underway.length > 0) await check();
  ws.close(1000);
  t.deepEqual(await ws.closed(), { code: 1000, reason: '', finished: true });
  if (compresses && size >= 1024) t.is(compression.inflated, count, `${size} bytes`);
  return compression.inflated;
}

/** Every case with the same offers. `full` is the number of messages of a case in a full run. */
function volume(title, { full, ...more }) {
  test.serial(title, async (t) => {
    const before = await compressed();
    const count = IS_FULL ? full : 3;
    let inflated = 0;
    for (const one of CASES) inflated += await echoed(t, { ...more, ...one, count });
    t.is((await compressed()) - before, count * CASES.length);
    t.log(`${count * CASES.length} messages, of which ${inflated} came back compressed`);
  });
}

for (const kind of Object.keys(KINDS)) {
  volume(`${kind}, ${Object.keys(LISTENERS)[0]}`, { listener: 0, offers: [ANY], terms: {}, kind, full: 1000 });
}

for (const [index, [offers, terms]] of OFFERS.entries()) {
  const kind = Object.keys(KINDS)[index % 4];
  for (const [listener, name] of Object.keys(LISTENERS).entries()) {
    // the first ones are those of the public suite
    const full = listener === 0 && index < 8 ? 1000 : 100;
    volume(`the offer ${offers.join(', ')}: ${kind}, ${name}`, { listener, offers, terms, kind, full });
  }
}

test.serial('nothing of all of this is kept', async (t) => {
  await until(async () => {
    const { inboundBytes, outboxBytes } = await server.call('stats');
    return inboundBytes + outboxBytes === 0;
  }, 'the buffers to be empty');
  const { rss } = await server.usage();
  t.log(`${(rss / (1 << 20)).toFixed(0)} MiB`);
  t.true(rss < 300 << 20);
});
