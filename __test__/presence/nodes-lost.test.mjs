// Presence on several nodes: nodes that die, are suspended or stopped, and a Redis that loses everything or is away.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { agrees, knowAll, present, presentNodes, Watcher, witness } from '../support/presence.mjs';
import { declareLosses } from '../support/presence-losses.mjs';
import { needingRedis, Redis } from '../support/redis.mjs';

declareLosses(needingRedis(test.serial), {
  start: (t) => Redis.with(t),
  hasSessions: async (redis, count) => (await redis.cli('HLEN', 'millrace!i{room:1}')).trim() === `${count}`,
  lose: (redis) => redis.cli('FLUSHALL'),
});

needingRedis(test.serial)('a number that was told before the server has answered is told anew', async (t) => {
  const redis = await Redis.with(t);
  const nodes = await presentNodes(t, redis.url, 2, { limits: { presenceEvents: 4 } });
  await knowAll(nodes, 'room:0', []);
  redis.pause();
  const watchers = [];
  for (const node of nodes) watchers.push(await Watcher.on(t, node, 'room:1'));
  for (let n = 0; n < 8; n++) await present(t, nodes[n % 2], 'room:1', n);
  for (const watcher of watchers) await until(() => watcher.counts.at(-1) === 5, 'the number of one node');
  redis.goOn();
  const seen = witness(nodes, watchers);
  for (const [index, watcher] of watchers.entries()) {
    await seen(() => watcher.counts.at(-1) === 10, 'the number of all');
    await agrees(nodes[index], watcher);
    t.is((await nodes[index].call('presenceCount', 'room:1')).sockets, 10);
  }
});
