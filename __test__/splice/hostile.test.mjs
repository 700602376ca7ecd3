// Arbitrary input from clients and targets of splice: sessions end or continue, the server survives, and nothing is
// left behind.
import net from 'node:net';

import test from 'ava';

import { until } from '../support/deadline.mjs';
import { frame } from '../support/frames.mjs';
import { connectOptions, handshakeBytes } from '../support/http.mjs';
import { ownServer } from '../support/server.mjs';
import { CONTROL, Mux, options, prefixed, reach, Target } from '../support/splice.mjs';

/** Pseudo-random numbers, the same for the same seed. */
function chance(seed) {
  let state = seed * 2_654_435_761 + 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

const pick = (next, list) => list[next(list.length)];

function call(next, url) {
  const params = pick(next, [
    { url },
    { url, webSocket: true },
    { url: `${url}${'x'.repeat(next(100))}`, timeout: next(50) },
    { url: 'ws://127.0.0.1:1/' },
    { index: next(4) - 1 },
    { index: next(4), code: 1000 + next(4000), reason: 'r'.repeat(next(130)) },
    null,
  ]);
  const method = pick(next, ['connect', 'connect', 'connect', 'terminate', 'disconnect', 'none']);
  const document = Buffer.from(JSON.stringify({ id: next(10) - 5, type: 'method', method, params }));
  if (next(5) === 0) document[next(document.length)] = next(256);
  return document.subarray(0, next(8) === 0 ? next(document.length) : document.length);
}

/** A frame that may be valid. */
function something(next, masked, payload) {
  const opcode = pick(next, [1, 2, 2, 2, 2, 0, 9, 10, ...(next(10) === 0 ? [8, 3, 11] : [])]);
  const odd = next(30);
  return frame({
    opcode,
    payload: opcode > 7 ? payload.subarray(0, 126) : payload,
    fin: opcode > 7 || next(4) !== 0,
    rsv: odd === 0 ? next(8) : 0,
    masked: odd === 1 ? !masked : masked,
    ...(odd === 2 && { form: pick(next, [7, 16, 64]), announce: next(1000) }),
  });
}

function ofClient(next, url) {
  const index = pick(next, [0, 0, 1, 2, 3, 200, 65_534, CONTROL, CONTROL, CONTROL]);
  const payload =
    index === CONTROL ? call(next, url) : Buffer.alloc(next(3) === 0 ? next(70_000) : next(50), next(256));
  return something(next, true, prefixed(index, payload).subarray(next(20) === 0 ? 1 : 0));
}

const ofTarget = (next) => something(next, false, Buffer.alloc(next(3) === 0 ? next(70_000) : next(50), next(128)));

/** Sends arbitrary frames, and ends in one of several ways. */
function mess(address, url, seed) {
  const next = chance(seed);
  return new Promise((resolve) => {
    const socket = net.connect(connectOptions(address));
    socket.on('error', () => {});
    socket.on('close', resolve);
    const reads = next(4) !== 0;
    let seen = '';
    const connect = JSON.stringify({ id: 1, type: 'method', method: 'connect', params: { url } });
    socket.write(Buffer.concat([handshakeBytes(), frame({ opcode: 2, payload: prefixed(CONTROL, connect) })]));
    const goOn = async () => {
      socket.off('data', look);
      if (reads) socket.resume();
      else socket.pause();
      socket.write(Buffer.concat(Array.from({ length: next(40) }, () => ofClient(next, url))));
      for (let turns = next(100); turns > 0; turns--) await new Promise(setImmediate);
      if (reads && next(3) === 0) socket.end();
      else if (next(2) === 0) socket.resetAndDestroy();
      else socket.destroy();
    };
    const look = (bytes) => {
      seen += bytes.toString('latin1');
      if (seen.includes('"type":"reply"')) goOn();
    };
    socket.on('data', look);
  });
}

test('pseudo-random frames from clients and targets', async (t) => {
  const server = await ownServer(t, options({}, { limits: { targetsPerSession: 8, closeTimeoutMs: 500 } }));
  let targets = 0;
  const accept = (at) => {
    const next = chance(++targets);
    const early = Buffer.concat(Array.from({ length: next(10) }, () => ofTarget(next)));
    at.accept({ early });
    for (let count = next(20); count > 0; count--) at.raw(ofTarget(next));
    const end = next(4);
    if (end === 0) at.end();
    else if (end === 1) at.reset();
  };
  const wild = await Target.listen(t, { accept });
  for (let seed = 1; seed <= 600; seed += 20) {
    await Promise.all(Array.from({ length: 20 }, (_, n) => mess(server.addresses[0], wild.url(), seed + n)));
  }
  t.true(targets > 300, `${targets} targets were reached`);
  t.deepEqual(
    wild.connections.map(({ violation }) => violation).filter((violation) => violation !== undefined),
    [],
    'what targets get is always right',
  );
  await until(async () => (await server.call('stats')).connections === 0, 'all connections to be gone');
  const mux = await Mux.open(t, server);
  const { index, at } = await reach(mux, await Target.listen(t));
  mux.send(index, 'well');
  t.is(await at.text(), 'well');
  t.deepEqual(await server.errors(), []);
});
