// Presence on several nodes: nodes that die, are suspended or stopped, and a Redis that loses everything or is away.
import test from 'ava';

import { declareLosses } from '../support/presence-losses.mjs';
import { needingRedis, Redis } from '../support/redis.mjs';

declareLosses(needingRedis(test.serial), {
  start: (t) => Redis.with(t),
  hasSessions: async (redis, count) => (await redis.cli('HLEN', 'millrace!i{room:1}')).trim() === `${count}`,
  lose: (redis) => redis.cli('FLUSHALL'),
});
