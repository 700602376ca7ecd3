// What is counted of channels whose history two nodes share, in `stats()` and over HTTP.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { Follower, mortalNodes } from '../support/history-nodes.mjs';
import { needingRedis, Redis } from '../support/redis.mjs';

const historyOf = async (node) => (await node.call('stats')).backplane.history;
const get = async (node, where) => (await fetch(`http://${node.addresses[0]}${where}`)).text();

/** Waits until the counters of a node are like these. */
function counts(node, expected) {
  let history;
  return until(
    async () => {
      history = await historyOf(node);
      return Object.entries(expected).every(([name, value]) => history[name] === value);
    },
    () => `${JSON.stringify(expected)}: ${JSON.stringify(history)}`,
  );
}

needingRedis(test)('the store of histories is counted, and its state shown', async (t) => {
  const redis = await Redis.with(t);
  const [here, there] = await mortalNodes(t, redis.url, { stats: true, metrics: true });
  const follower = await Follower.enter(t, there, 'room:1');
  for (const idempotencyKey of ['a', 'b', 'c', 'a']) await here.call('publish', 'room:1', 'text', { idempotencyKey });
  await follower.has(3);
  const topic = (await redis.cli('PUBSUB', 'CHANNELS')).split('\n').find((name) => name.endsWith('{room:1}'));
  await redis.cli('PUBLISH', topic, 'of another program');
  await counts(there, { state: 'ready', followed: 1, received: 3, foreign: 1, stored: 0 });
  await counts(here, { state: 'ready', followed: 0, received: 0, stored: 3, repeated: 1, failed: 0, waitingBytes: 0 });
  t.like(JSON.parse(await get(here, '/stats')).backplane.history, { stored: 3, repeated: 1, gaps: 0 });
  const metrics = await get(there, '/metrics');
  for (const line of [
    'history_up 1',
    'history_followed 1',
    'history_messages_total{result="delivered"} 3',
    'history_messages_total{result="foreign"} 1',
    'history_published_total{result="stored"} 0',
    'history_waiting_bytes 0',
  ])
    t.true(metrics.includes(`\nmillrace_${line}\n`), line);
  // it keeps nothing over a restart
  await redis.stop();
  await Promise.all([here, there].map((node) => counts(node, { state: 'lost', losses: 1 })));
  await t.throwsAsync(here.call('publish', 'room:1', 'lost'), { code: 'ERR_MILLRACE_HISTORY_UNAVAILABLE' });
  await counts(here, { failed: 1, unknown: 0, stored: 3 });
  t.true((await get(there, '/metrics')).includes('\nmillrace_history_up 0\n'));
  await redis.launchAgain();
  await counts(there, { state: 'ready', gaps: 1 });
  await until(() => follower.gaps.length === 1, 'the gap');
});
