// Many numbered messages between two nodes: none lost, none twice, each publisher's in order; and while the server is
// restarted, what is lost is counted to the last message. MILLRACE_TEST_BACKPLANE=full sends a million.
import test from 'ava';

import { SOON, until } from './support/deadline.mjs';
import { accounted, IS_FULL, publish, share, subscribers } from './support/flow.mjs';
import { Nats, needingNats } from './support/nats.mjs';
import { linkOf, linkThat, startNodes } from './support/nodes.mjs';
import { needingRedis, Redis } from './support/redis.mjs';

const CHANNELS = 25;
const SUBSCRIBERS = 100;
const EACH = IS_FULL ? 250_000 : 20_000;
const limits = { handlerTimeoutMs: 0, workerTimeoutMs: 0 };

/** Every subscriber has got every message of its channel once, in each publisher's order. */
async function nothingLost(t, nodes) {
  const lists = await subscribers(t, nodes, { channels: CHANNELS, count: SUBSCRIBERS });
  const before = performance.now();
  const sent = await publish(t, nodes, { channels: CHANNELS, count: EACH, batch: 500, pauseMs: 0 });
  const links = await accounted(nodes, sent);
  const all = lists.flatMap((list) => list.map((subscriber, index) => ({ subscriber, channel: index % CHANNELS })));
  const wanted = ({ channel }) => [...sent.values()].reduce((sum, count) => sum + share(count, CHANNELS, channel), 0);
  await until(() => all.every((one) => one.subscriber.total >= wanted(one)), 'every delivery', 8 * SOON);
  const seconds = (performance.now() - before) / 1000;
  t.log(
    `${4 * EACH} messages, ${all.reduce((sum, one) => sum + one.subscriber.total, 0)} deliveries, ${seconds.toFixed(1)} s`,
  );
  for (const one of all) {
    t.is(one.subscriber.total, wanted(one));
    t.deepEqual(one.subscriber.misplaced, []);
    t.deepEqual(one.subscriber.others, []);
    t.true([...one.subscriber.missing.values()].every((count) => count === 0));
  }
  for (const link of links) {
    t.like(link, { received: 2 * EACH, missed: 0, duplicates: 0, malformed: 0, dropped: 0, losses: 0 });
  }
  await Promise.all(nodes.map((node) => linkThat(node, 'has sent all', (link) => link.sent === 2 * EACH)));
}

/** The server is restarted twice while messages flow: the sums are those of all messages, to the last. */
async function restarts(t, nodes, server) {
  const lists = await subscribers(t, nodes, { channels: CHANNELS, count: SUBSCRIBERS });
  // until they are stopped, or a million
  const pace = IS_FULL ? { count: EACH, batch: 50, pauseMs: 2 } : { count: 2 ** 40, batch: 50, pauseMs: 5 };
  const [began, flowing] = [performance.now(), publish(t, nodes, { channels: CHANNELS, ...pace })];
  const received = async () => Promise.all(nodes.map(async (node) => (await linkOf(node)).received));
  const flows = async (before) =>
    (await received()).every((count, node) => count > before[node] + (IS_FULL ? 50_000 : 2000));
  await until(() => flows([0, 0]), 'messages to flow');
  for (let restart = 0; restart < 2; restart++) {
    await server.stop();
    await Promise.all(nodes.map((node) => linkThat(node, 'is lost', (link) => link.state === 'lost')));
    const before = await received();
    await server.launchAgain();
    const up = performance.now();
    const resumed = nodes.map((node, own) => linkThat(node, 'receives again', (link) => link.received > before[own]));
    await Promise.all(resumed);
    const ms = performance.now() - up;
    t.log(`restart ${restart + 1}: messages arrive again after ${ms.toFixed(0)} ms`);
    if (IS_FULL) t.true(ms < 2000);
    await until(() => flows(before), 'messages to flow again');
  }
  // some more, so that each channel's last message comes after what was lost; then the end
  const before = await received();
  await until(() => flows(before), 'messages to flow to the end');
  if (!IS_FULL) await Promise.all(nodes.map((node) => node.call('setKey', 'stop', 'yes')));
  const sent = await flowing;
  const total = [...sent.values()].reduce((sum, count) => sum + count, 0);
  t.log(`${total} messages, ${((performance.now() - began) / 1000).toFixed(1)} s`);
  const links = await accounted(nodes, sent);
  t.log(links.map(({ received: got, missed, unconfirmed, dropped }) => ({ got, missed, unconfirmed, dropped })));
  for (const [own, node] of nodes.entries()) {
    const published = [...sent].filter(([name]) => Number(name[0]) === own).reduce((sum, [, count]) => sum + count, 0);
    const link = await linkThat(node, 'has nothing left', ({ queued, inFlight }) => queued + inFlight === 0);
    t.is(link.sent + link.unconfirmed + link.dropped + link.refused, published);
    t.like(link, { duplicates: 0, malformed: 0, losses: 2 });
    for (const [index, subscriber] of lists[own].entries()) {
      t.deepEqual(subscriber.misplaced, []);
      for (const [name, count] of sent) {
        const wanted = share(count, CHANNELS, index % CHANNELS);
        const got = () => (subscriber.received.get(name) ?? 0) + (subscriber.missing.get(name) ?? 0);
        await until(
          () => got() === wanted,
          () => `${wanted} of ${name}, not ${got()}`,
        );
        // what was published on its own node always arrives
        if (Number(name[0]) === own) t.is(subscriber.missing.get(name), 0);
      }
    }
    // what the subscribers of one channel each see missing is what the node has counted
    const seen = lists[own].slice(0, CHANNELS).flatMap((subscriber) => [...subscriber.missing.values()]);
    t.is(
      seen.reduce((sum, count) => sum + count, 0),
      link.missed,
    );
  }
}

needingRedis(test.serial)('Redis: none lost, none twice, each publisher in order', async (t) => {
  const redis = await Redis.with(t);
  await nothingLost(t, await startNodes(t, redis.url, { limits }));
});

needingRedis(test.serial)('Redis restarted twice: what is lost is counted to the last message', async (t) => {
  const redis = await Redis.with(t);
  await restarts(t, await startNodes(t, redis.url, { limits }), redis);
});

needingNats(test.serial)('NATS: none lost, none twice, each publisher in order', async (t) => {
  const nats = await Nats.with(t);
  await nothingLost(t, await startNodes(t, nats.url, { limits }));
});

needingNats(test.serial)('NATS restarted twice: what is lost is counted to the last message', async (t) => {
  const nats = await Nats.with(t);
  await restarts(t, await startNodes(t, nats.url, { limits }), nats);
});
