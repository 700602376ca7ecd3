// Who has published a message, as clients of millrace.v1 on other nodes see it where the terms of the channel say so.
import test from 'ava';

import { Nats, needingNats } from '../support/nats.mjs';
import { hears, startNodes } from '../support/nodes.mjs';
import { needingRedis, Redis } from '../support/redis.mjs';
import { worker } from '../support/server.mjs';
import { speak } from '../support/v1.mjs';

const redis = Redis.of(test);
const channels = [
  ['named:*', { clients: { subscribe: true, publish: { from: true } } }],
  ['room:*', { clients: { subscribe: true, publish: true } }],
];

async function areSeen(t, url) {
  const nodes = await startNodes(t, url, { workerPath: worker('commands'), threads: 1, channels });
  const [here, there] = await Promise.all(nodes.map((node) => speak(t, node)));
  for (const client of [here, there]) for (const c of ['named:1', 'room:1']) await client.subscribe(c);
  await Promise.all(nodes.map((node) => hears(node, 2)));
  const long = 'x'.repeat(300_000);
  for (const [from, payloads] of [
    [here, ['text', Buffer.from([1, 255]), '', long]],
    [there, [JSON.stringify({ back: true })]],
  ]) {
    for (const payload of payloads) {
      from.send({ t: 'pub', c: 'named:1' }, payload);
      for (const client of [here, there]) t.deepEqual(await client.next(), [{ c: 'named:1', f: from.hi.s }, payload]);
    }
  }
  // neither where the terms do not say so, nor what the application has published
  here.send({ t: 'pub', c: 'room:1' }, 'unnamed');
  t.deepEqual(await there.next(), [{ c: 'room:1' }, 'unnamed']);
  await nodes[0].call('send', 'named:1', 'of the server');
  t.deepEqual(await there.next(), [{ c: 'named:1' }, 'of the server']);
}

needingRedis(test)('over Redis', (t) => areSeen(t, redis.url));

needingNats(test)('over NATS', async (t) => areSeen(t, (await Nats.with(t, [])).url));
