// Channels with history on two nodes that share a Redis cluster: each channel is kept by the server that has its slot.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { Follower, mortalNodes } from '../support/history-nodes.mjs';
import { needing } from '../support/needing.mjs';
import { freePort } from '../support/ports.mjs';
import { needingRedis, Redis } from '../support/redis.mjs';

const withCluster = needing(needingRedis(test), 'redis-server of 7.0 or newer');

async function cluster(t) {
  const servers = [];
  for (let index = 0; index < 3; index++) {
    servers.push(await Redis.with(t, ['--cluster-enabled', 'yes', '--cluster-port', String(await freePort())]));
  }
  const addresses = servers.map((server) => `127.0.0.1:${server.port}`);
  await servers[0].cli('--cluster', 'create', ...addresses, '--cluster-yes');
  for (const server of servers) {
    await until(async () => /cluster_state:ok/.test(await server.cli('CLUSTER', 'INFO')), 'the cluster');
  }
  return `redis+cluster://${addresses.join(',')}`;
}

withCluster('both nodes see one order in channels of all servers, and a client goes on at the other one', async (t) => {
  const [here, there] = await mortalNodes(t, await cluster(t));
  const channels = Array.from({ length: 9 }, (_, index) => `room:${index}`);
  const followers = await Promise.all(
    channels.map(async (channel) => [await Follower.enter(t, here, channel), await Follower.enter(t, there, channel)]),
  );
  const publish = async (first, end) => {
    for (let n = first; n < end; n++) {
      await Promise.all(
        channels.flatMap((channel) => [here, there].map((node, own) => node.call('publish', channel, `${own} ${n}`))),
      );
    }
  };
  await publish(0, 10);
  for (const [near, far] of followers) {
    await Promise.all([near.has(20), far.has(20)]);
    t.deepEqual(near.got, far.got);
    near.cut();
  }
  await publish(10, 15);
  for (const [index, channel] of channels.entries()) {
    const [near, far] = followers[index];
    const back = await Follower.enter(t, there, channel, { since: near.position });
    t.true(back.answer.recovered);
    await Promise.all([back.has(10), far.has(30)]);
    t.deepEqual([...near.got, ...back.got], far.got);
    t.deepEqual([...near.violations, ...back.violations, ...far.violations, ...far.gaps, ...back.gaps], []);
  }
});
