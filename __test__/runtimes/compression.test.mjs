// permessage-deflate in every runtime: the server runs there, and its clients are the strict one, `ws`, and the class
// WebSocket of the runtime itself.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import test from 'ava';

import { runtimePath } from '../../scripts/runtimes.mjs';
import { within } from '../support/deadline.mjs';
import { Compression, deflate, deflated } from '../support/deflate.mjs';
import { BINARY, frame } from '../support/frames.mjs';
import { patterned } from '../support/patterned.mjs';
import { inEach } from '../support/runtimes.mjs';
import { open, worker } from '../support/server.mjs';
import { endWith } from '../support/teardown.mjs';

const MIB = 1 << 20;
const ECHO = { workerPath: worker('echo'), threads: 1, ioThreads: 1 };
const TAKEOVER = { serverContextTakeover: true, clientContextTakeover: true };

for (const [terms, compression, offer] of [
  ['the defaults', true, undefined],
  ['context takeover both ways', TAKEOVER, undefined],
  ['small windows', { ...TAKEOVER, threshold: 0 }, 'client_max_window_bits=9; server_max_window_bits=9'],
]) {
  inEach(test, `a strict client, and ${terms}`, async (t, { launch }) => {
    const server = await launch({ ...ECHO, compression });
    const [one, compressions] = [[], []];
    for (let index = 0; index < 2; index++) {
      compressions.push(new Compression(offer));
      one.push(await open(t, server, { compression: compressions[index] }));
    }
    const messages = [0, 10, 600, 600, 5000, 70_000, 300_000, 600].map((length) => patterned(1, length));
    for (const message of messages.flatMap((text) => [text, Buffer.from(text)])) {
      for (const [index, ws] of one.entries()) {
        await ws.raw(compressions[index].frame(message));
        t.deepEqual((await ws.next()).data, message);
      }
    }
    t.deepEqual(
      compressions.map(({ inflated }) => inflated),
      [12, 12],
    );
    // also those of 0 and 10 bytes are tried without a threshold
    t.is((await server.call('stats')).compressedMessages, compression.threshold === 0 ? 32 : 24);
  });
}

inEach(test, 'a bomb costs its bound, and other connections go on', async (t, { launch }) => {
  const server = await launch({ ...ECHO, compression: true });
  const other = await open(t, server, { compression: new Compression() });
  const part = Buffer.concat([deflate(Buffer.alloc(MIB)), Buffer.from([0, 0, 0xff, 0xff])]);
  const bomb = frame({ opcode: BINARY, payload: Buffer.concat(Array(1024).fill(part)).subarray(0, -4), rsv: 4 });
  const before = (await server.usage()).rss;
  for (let round = 0; round < 3; round++) {
    const ws = await open(t, server, { compression: new Compression() });
    await ws.raw(bomb);
    t.is((await ws.closed()).code, 1009);
    await other.raw(deflated('still here'));
    t.is(await other.text(), 'still here');
  }
  const grown = (await server.usage()).rss - before;
  t.true(grown < 64 * MIB, `${grown / MIB} MiB more`);
});

inEach(test, 'what is invalid closes with the code of its kind', async (t, { launch }) => {
  const server = await launch({ ...ECHO, compression: true });
  for (const [code, bytes] of [
    [1002, frame({ opcode: 9, rsv: 4 })],
    [1007, frame({ payload: Buffer.alloc(50, 0xff), rsv: 4 })],
    [1007, deflated('', { payload: deflate(Buffer.from([0x61, 0xff])) })],
  ]) {
    const ws = await open(t, server, { compression: new Compression() });
    await ws.raw(bytes);
    t.is((await ws.closed()).code, code);
  }
});

const CLIENT = fileURLToPath(new URL('../support/echo-client.mjs', import.meta.url));

/** Before version 22, Node.js has the class only with this flag. */
const NODE_FLAGS = globalThis.WebSocket === undefined ? ['--experimental-websocket'] : [];

/** What the program of support/echo-client.mjs prints. */
async function clientIn(t, runtime, address, kind) {
  const before = { node: NODE_FLAGS, bun: ['run'], deno: ['run', '-A', '--quiet'] }[runtime];
  const child = spawn(runtimePath(runtime), [...before, CLIENT, `ws://${address}/`, kind], { stdio: 'pipe' });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk;
    });
  }
  const code = await within(endWith(t, child), () => `the client's end\n${output}`);
  if (code !== 0) throw new Error(`the client ended with ${code}:\n${output}`);
  return JSON.parse(output);
}

/** What is known of each client: whether it offers compression, and whether it compresses what it sends. */
const CLIENTS = {
  node: { global: [true, false], ws: [true, true] },
  bun: { global: [true, true], ws: [true, true] },
  deno: { global: [false, false], ws: [true, true] },
};

inEach(test, 'the clients of the runtime itself', async (t, { runtime, launch }) => {
  for (const compression of [true, TAKEOVER]) {
    const server = await launch({ ...ECHO, compression });
    for (const [kind, [offers, compresses]] of Object.entries(CLIENTS[runtime])) {
      const before = await server.call('stats');
      const { extensions, ...seen } = await clientIn(t, runtime, server.addresses[0], kind);
      t.deepEqual(seen, { messages: 14, bytes: 2 * 376_210, code: 1000 });
      t.is(extensions.includes('permessage-deflate'), offers, kind);
      const { compressedMessages, bytesIn } = await server.call('stats');
      t.is(compressedMessages - before.compressedMessages, offers ? 10 : 0, kind);
      t.is(bytesIn - before.bytesIn < seen.bytes / 2, compresses, kind);
    }
  }
});
