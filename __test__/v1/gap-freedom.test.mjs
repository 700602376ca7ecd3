// Gap-freedom as a property: publishers, clients that are cut at random points, and workers that are killed. Each client's
// numbers are 1..N without a hole, a double or disorder, or it is told of a gap, exactly where history was exceeded.
// MILLRACE_TEST_HISTORY=full checks a million deliveries.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { DELIVERIES, FULL, randomOf, Seen, take } from '../support/gap-freedom.mjs';
import { open, ownServer, worker } from '../support/server.mjs';
import { speak } from '../support/v1.mjs';

const HISTORY = 150;
const READERS = 24;
const PUBLISHERS = 3;
const IN_FLIGHT = 20;
const CHANNELS = ['room:a', 'room:b', 'room:c'];

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

/** Kills a worker after every fifth of the deliveries. Resolves with how many it has killed. */
async function kill(t, server, seen) {
  let killed = 0;
  for (let fifth = 1; fifth < 5; fifth++) {
    await until(
      () => seen.isDone || seen.deliveries > (fifth * DELIVERIES) / 5,
      () => `${fifth} fifths of the deliveries`,
      FULL ? 600_000 : undefined,
    );
    if (seen.isDone) break;
    const client = await open(t, server).catch(() => undefined);
    client?.send(JSON.stringify({ cmd: 'exit', n: 1, code: 1 }));
    await client?.closed();
    if (client) killed += 1;
  }
  return killed;
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
  const seen = new Seen(Object.fromEntries(CHANNELS.map((name) => [name, HISTORY])));
  const several = (count, run) => Array.from({ length: count }, (_, index) => run(t, server, seen, index));
  const publishing = [...several(PUBLISHERS, publish), send(server, seen), kill(t, server, seen)];
  await Promise.all(several(READERS, read));
  seen.isOver = true;
  const killed = (await Promise.all(publishing)).at(-1);
  seen.finish(t);
  t.true(killed > 1, `${killed} workers were killed`);
  t.true(seen.recoveries > READERS, `${seen.recoveries} recoveries`);
  t.true(seen.gaps().length > 5, `${seen.gaps().length} gaps`);
});
