// Random clients that subscribe, unsubscribe and publish at once: within a subscription each publisher's messages come
// without a hole and in order, and outside of it none comes.
import test from 'ava';

import { sharedServer, worker } from '../support/server.mjs';
import { speak } from '../support/v1.mjs';

const server = sharedServer(test, {
  workerPath: worker('no-handlers'),
  threads: 1,
  ioThreads: 3,
  compression: true,
  channels: { 'room:*': { clients: { subscribe: true, publish: { from: true } } } },
});

const CLIENTS = 9;
const CHANNELS = ['room:a', 'room:b', 'room:c'];
const STEPS = 400;

/** Numbers that look random, the same for the same seed. */
function randomOf(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Sends a random mix of messages, some of them at once, and then asks for an answer. */
function act(client, random) {
  const wants = new Set();
  const sent = new Map(CHANNELS.map((name) => [name, 0]));
  for (let step = 0; step < STEPS; step++) {
    const c = CHANNELS[random(CHANNELS.length)];
    const choice = random(10);
    if (choice < 6) {
      const number = sent.get(c) + 1;
      sent.set(c, number);
      client.send({ t: 'pub', c }, choice === 0 ? `${number} ${'x'.repeat(random(5000))}` : `${number}`);
    } else if (wants.has(c)) {
      wants.delete(c);
      client.send({ t: 'unsub', id: `- ${c}`, c });
    } else {
      wants.add(c);
      client.send({ t: 'sub', id: `+ ${c}`, c });
    }
  }
  client.send({ t: 'pub', id: 'last', c: 'room:last' }, '');
}

/** Checks what a client gets until the answer to its last message. Returns the number of publications. */
async function check(t, client) {
  /** The last number of each publisher, by channel; none: it is not subscribed. */
  const channels = new Map();
  let publications = 0;
  for (;;) {
    const [{ t: kind, id, c, f }, payload] = await client.next();
    if (id === 'last') return publications;
    if (kind === 'ok' && id.startsWith('+')) channels.set(id.slice(2), new Map());
    else if (kind === 'ok') channels.delete(id.slice(2));
    else {
      const seen = channels.get(c);
      if (kind !== undefined || seen === undefined) {
        t.fail(`not expected: ${JSON.stringify([kind, id, c, f])}`);
        return publications;
      }
      const number = Number.parseInt(payload, 10);
      const before = seen.get(f);
      if (before !== undefined && number !== before + 1) {
        t.fail(`${number} behind ${before} of ${f} in ${c}`);
        return publications;
      }
      seen.set(f, number);
      publications += 1;
    }
  }
}

for (const seed of [1, 2, 3]) {
  test(`messages have no hole within a subscription, and none comes outside of it: ${seed}`, async (t) => {
    const open = (index) => speak(t, server, { perMessageDeflate: index % 3 === 0 });
    const clients = await Promise.all(Array.from({ length: CLIENTS }, (_, index) => open(index)));
    const checked = clients.map((client) => check(t, client));
    for (const [index, client] of clients.entries()) act(client, randomOf(seed * 100 + index));
    const counts = await Promise.all(checked);
    t.true(Math.min(...counts) > 50, `${counts} publications`);
  });
}
