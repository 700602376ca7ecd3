// What is counted of channels whose members two nodes share, in `stats()` and over HTTP.
import test from 'ava';

import { linkThat } from '../support/nodes.mjs';
import { earlyNodes, knowAll, present } from '../support/presence.mjs';
import { needingRedis, Redis } from '../support/redis.mjs';

const get = async (node, where) => (await fetch(`http://${node.addresses[0]}${where}`)).text();

/** Waits until the counters of a node are these. */
const counts = (node, expected) =>
  linkThat(node, `has ${JSON.stringify(expected)}`, ({ presence }) =>
    Object.entries(expected).every(([name, value]) => presence[name] === value),
  );

needingRedis(test)('the store of members is counted, and its state shown', async (t) => {
  const redis = await Redis.with(t);
  const nodes = await earlyNodes(t, redis.url, 2, { stats: true, metrics: true });
  const [here, there] = nodes;
  for (const node of nodes) await counts(node, { state: 'ready', followed: 0, sessions: 1 });
  const members = [[(await present(t, here, 'room:1', 'here')).hi.s, 'here']];
  await knowAll(nodes, 'room:1', members);
  const fine = { state: 'ready', followed: 1, sessions: 1, rewritten: 0, reread: 0, losses: 0 };
  for (const node of nodes) {
    await counts(node, fine);
    t.deepEqual(JSON.parse(await get(node, '/stats')).backplane.presence, fine);
  }
  const metrics = await get(there, '/metrics');
  for (const line of [
    'up 1',
    'followed 1',
    'sessions_total 1',
    'rewrites_total 0',
    'rereads_total 0',
    'losses_total 0',
  ])
    t.true(metrics.includes(`\nmillrace_presence_${line}\n`), line);

  // it keeps nothing over a restart
  await redis.stop();
  for (const node of nodes) await counts(node, { state: 'lost', followed: 1, losses: 1 });
  t.true((await get(there, '/metrics')).includes('\nmillrace_presence_up 0\n'));
  await redis.launchAgain();
  await counts(here, { state: 'ready', sessions: 2, rewritten: 1, losses: 1 });
  await counts(there, { state: 'ready', sessions: 2, rewritten: 0, losses: 1 });
  await knowAll(nodes, 'room:1', members);
});
