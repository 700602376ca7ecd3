// Gap-freedom as a property: publishers, clients that are cut at random points, and workers that are killed. Each client's
// numbers are 1..N without a hole, a double or disorder, or it is told of a gap, exactly where history was exceeded.
// MILLRACE_TEST_HISTORY=full checks a million deliveries.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { open, ownServer, worker } from '../support/server.mjs';
import { speak } from '../support/v1.mjs';

const FULL = process.env.MILLRACE_TEST_HISTORY === 'full';
const DELIVERIES = FULL ? 1_000_000 : 50_000;
const HISTORY = 150;
const READERS = 24;
const PUBLISHERS = 3;
const IN_FLIGHT = 20;
const CHANNELS = ['room:a', 'room:b', 'room:c'];

/** Numbers that look random, the same for the same seed. */
function randomOf(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** What everybody has seen: each channel's epoch, the payload of each number, and the newest number. */
class Seen {
  deliveries = 0;
  recoveries = 0;
  failures = [];
  /** Whether no reader waits for a message any more. */
  isOver = false;
  #channels = new Map(CHANNELS.map((name) => [name, { epoch: undefined, payloads: [], newest: 0, gaps: [] }]));

  get isDone() {
    return this.deliveries >= DELIVERIES || this.failures.length > 0;
  }

  check(condition, message) {
    if (!condition) this.failures.push(message());
    return condition;
  }

  newest = (name) => this.#channels.get(name).newest;
  gaps = () => [...this.#channels.values()].flatMap(({ gaps }) => gaps);

  position(name, { e, o }) {
    const channel = this.#channels.get(name);
    channel.epoch ??= e;
    channel.newest = Math.max(channel.newest, o);
    this.check(channel.epoch === e, () => `${name} has epochs ${channel.epoch} and ${e}`);
  }

  message(name, offset, payload) {
    const channel = this.#channels.get(name);
    channel.newest = Math.max(channel.newest, offset);
    channel.payloads[offset] ??= payload;
    const known = channel.payloads[offset];
    this.check(known === payload, () => `${name} ${offset} is ${known} and ${payload}`);
    this.deliveries += 1;
  }

  gap = (name, offset) => this.#channels.get(name).gaps.push(offset);

  /** What was told to be gone was, and no message has two numbers. */
  finish(t) {
    t.deepEqual(this.failures, []);
    for (const [name, { payloads, newest, gaps }] of this.#channels) {
      for (const offset of gaps)
        t.true(newest >= offset + HISTORY, `${name}: a gap to ${offset}, and ${newest} is newest`);
      const all = Object.values(payloads);
      t.is(new Set(all).size, all.length, `${name} has a message twice`);
    }
  }
}

/** Opens a connection, as soon as there is a worker. */
async function connect(t, server, seen, options) {
  while (!seen.isOver) {
    try {
      return await speak(t, server, options);
    } catch {
      // a worker that was killed is being replaced
    }
  }
}

/** Reads a channel, is cut at random points, and comes back with the position of what it has seen last. */
async function read(t, server, seen, index) {
  const random = randomOf(1000 + index);
  const name = CHANNELS[index % CHANNELS.length];
  let last;
  while (!seen.isDone) {
    const client = await connect(t, server, seen, { perMessageDeflate: index % 3 === 0 });
    if (!client) return;
    client.send({ t: 'sub', id: 1, c: name, ...(last && { since: last }) });
    const cut = random(4) === 0 ? random(5) : random(400);
    for (let count = 0; count < cut && !seen.isDone; count++) {
      const message = await client.next().catch(() => undefined);
      if (!message) break;
      last = take(seen, name, last, message);
    }
    client.ws.terminate();
    if (last && random(8) === 0) {
      // away for longer than history reaches
      const back = last.o + HISTORY + 1 + random(50);
      await until(
        () => seen.isDone || seen.newest(name) >= back,
        () => `${name} to reach ${back}`,
      );
    }
  }
}

/** Checks a message of a reader. Returns its position behind it. */
function take(seen, name, last, [{ t: kind, o, e, recovered }, payload]) {
  if (kind === 'ok') {
    seen.position(name, { e, o });
    if (!last) return { e, o };
    const missed = o - last.o;
    seen.check(recovered === missed <= HISTORY, () => `${name}: ${recovered} with ${missed} missed`);
    seen.recoveries += 1;
    if (recovered) return last;
    seen.gap(name, o - HISTORY);
    return { e, o };
  }
  if (kind === 'gap') {
    seen.check(o > last?.o, () => `${name}: a gap to ${o} behind ${last?.o}`);
    seen.gap(name, o);
    return { e, o };
  }
  seen.check(kind === undefined && o === last?.o + 1, () => `${name}: ${kind} ${o} behind ${last?.o}`);
  seen.message(name, o, payload);
  return { ...last, o };
}

/** Publishes in all channels, a few messages at once. */
async function publish(t, server, seen, index) {
  const random = randomOf(index);
  for (let serial = 0; !seen.isOver; ) {
    const client = await connect(t, server, seen);
    let waiting = 0;
    while (client && !seen.isOver) {
      while (waiting < IN_FLIGHT) {
        const c = CHANNELS[random(CHANNELS.length)];
        client.send({ t: 'pub', id: c, c }, `${index} ${++serial} ${'x'.repeat(random(20) === 0 ? 3000 : 10)}`);
        waiting += 1;
      }
      const answer = await client.next().catch(() => undefined);
      if (!answer) break;
      const [{ t: kind, id, e, o }] = answer;
      if (kind === 'ok') seen.position(id, { e, o });
      waiting -= 1;
    }
    client?.ws.terminate();
  }
}

/** Publishes from JavaScript, in which nobody is cut. */
async function send(server, seen) {
  for (let serial = 0; !seen.isOver; serial++) {
    await server.call('publish', CHANNELS[serial % CHANNELS.length], `main ${serial}`);
  }
}

/** Kills a worker after every fifth of the deliveries. */
async function kill(t, server, seen) {
  for (let killed = 1; killed < 5; killed++) {
    await until(
      () => seen.isDone || seen.deliveries > (killed * DELIVERIES) / 5,
      () => `${killed} fifths of the deliveries`,
      FULL ? 600_000 : undefined,
    );
    if (seen.isDone) return;
    const client = await open(t, server).catch(() => undefined);
    client?.send(JSON.stringify({ n: 1, cmd: 'exit', code: 1 }));
  }
}

test('no client misses a message without being told, and none gets one twice', async (t) => {
  t.timeout(FULL ? 1_200_000 : 120_000);
  const server = await ownServer(t, {
    workerPath: worker('commands'),
    threads: 2,
    ioThreads: 2,
    compression: true,
    channels: {
      'room:*': { history: { messages: HISTORY, ageMs: 600_000 }, clients: { subscribe: true, publish: true } },
    },
  });
  const seen = new Seen();
  const several = (count, run) => Array.from({ length: count }, (_, index) => run(t, server, seen, index));
  const publishing = [...several(PUBLISHERS, publish), send(server, seen), kill(t, server, seen)];
  await Promise.all(several(READERS, read));
  seen.isOver = true;
  await Promise.all(publishing);
  seen.finish(t);
  t.true(seen.recoveries > READERS, `${seen.recoveries} recoveries`);
  t.true(seen.gaps().length > 5, `${seen.gaps().length} gaps`);
});
