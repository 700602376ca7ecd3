// Nodes in every runtime on one backplane: the runtime's own node and one in Node tell each other everything.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { Nats, needingNats } from '../support/nats.mjs';
import { hears, linkThat } from '../support/nodes.mjs';
import { needingRedis, Redis } from '../support/redis.mjs';
import { inEach } from '../support/runtimes.mjs';
import { ask, open, ownServer, worker } from '../support/server.mjs';
import { encode } from '../support/wire.mjs';

async function subscriber(t, node, ...channels) {
  const client = await open(t, node);
  for (const channel of channels) await ask(client, { cmd: 'sub', channel: encode(channel) });
  return client;
}

const bytes = Buffer.from([0, 255, 10]);

async function nodesTellEachOther(t, launch, url) {
  const options = { workerPath: worker('backplane'), threads: 2, ioThreads: 1, backplane: { url, waitMs: 60_000 } };
  const nodes = [await launch(options), await ownServer(t, options)];
  const clients = await Promise.all(nodes.map((node) => subscriber(t, node, 'room', { pattern: 'r?*:*' })));
  await Promise.all(nodes.map((node) => hears(node, 2)));
  for (const node of nodes) {
    for (const text of ['grüße', bytes]) await node.call('send', 'room', text);
    await node.call('send', 'room:1', 'by pattern');
  }
  for (const client of clients) {
    // each node's own in order, and nothing twice
    const got = [];
    while (got.length < 6) got.push((await client.next()).data);
    t.is(got.filter((data) => data === 'grüße').length, 2);
    t.is(got.filter((data) => Buffer.isBuffer(data) && data.equals(bytes)).length, 2);
    t.is(got.filter((data) => data === 'by pattern').length, 2);
    await ask(client, { cmd: 'unsub', channel: encode('nothing') });
    t.is(client.inbox.length, 0);
  }
  for (const node of nodes) {
    const info = await until(async () => {
      const answer = await node.call('clusterInfo', ['room', 'nobody']);
      // incomplete where the other node is too busy to answer within a second
      return answer.nodes.length === 2 && answer.isComplete && answer;
    }, 'both nodes to know each other');
    t.deepEqual(info.subscribers, [2, 0]);
    const link = await linkThat(node, 'has sent three', ({ sent }) => sent === 3);
    t.like(link, { missed: 0, duplicates: 0, malformed: 0, losses: 0 });
  }
  await nodes[0].stop();
  await until(async () => (await nodes[1].call('clusterInfo')).nodes.length === 1, 'the other one to say goodbye');
}

inEach(needingRedis(test), 'nodes on one Redis tell each other everything', async (t, { launch }) => {
  await nodesTellEachOther(t, launch, (await Redis.with(t)).url);
});

inEach(needingNats(test), 'nodes on one NATS tell each other everything', async (t, { launch }) => {
  await nodesTellEachOther(t, launch, (await Nats.with(t)).url);
});

inEach(
  needingRedis(test),
  'wrong options are told, and a link that is not there is waited for',
  async (t, { launch }) => {
    const server = await launch();
    const start = (backplane) => server.start({ workerPath: worker('backplane'), threads: 1, backplane });
    const wrong = await t.throwsAsync(start({ url: 'redis+sentinel://h', prefix: '*', waitMs: -1 }));
    t.is(wrong.name, 'TypeError');
    for (const at of ['url', 'prefix', 'waitMs']) t.regex(wrong.message, new RegExp(`options\\.backplane\\.${at} `));
    const redis = await Redis.with(t);
    await redis.stop();
    const late = await t.throwsAsync(start({ url: redis.url, waitMs: 200 }));
    t.is(late.code, 'ERR_MILLRACE_BACKPLANE_LOST');
    await redis.launchAgain();
    await start({ url: redis.url, waitMs: 60_000 });
    t.like(await server.call('stats'), { backplane: { state: 'ready' } });
  },
);
