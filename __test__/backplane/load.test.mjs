// Many numbered messages between two nodes: none lost, none twice, each publisher's in order; and while the server is
// restarted, losses are counted to the last message. MILLRACE_TEST_BACKPLANE=full sends a million.
import test from 'ava';

import { SOON, until } from '../support/deadline.mjs';
import { accounted, IS_FULL, paced, publish, publishers, share, subscribers } from '../support/flow.mjs';
import { Nats, needingNats } from '../support/nats.mjs';
import { linkOf, linkThat, startNodes } from '../support/nodes.mjs';
import { needingRedis, Redis } from '../support/redis.mjs';

const SUBSCRIBERS = 100;
/** How much slow readers may leave unread after an outage, when all queued messages arrive at once. */
const roomy = { outboxFrames: 1_000_000, outboxBytes: 2 ** 28, outboxesTotalBytes: 2 ** 32 };
// the subscribers answer no pings
const limits = { handlerTimeoutMs: 0, workerTimeoutMs: 0, pingIntervalMs: 0, ...roomy };
/** Of each publisher, with so many channels: where there is but one, every message goes to every subscriber. */
const each = (channels) => (IS_FULL ? 250_000 : channels > 1 ? 20_000 : 5000);

/** Every subscriber has got every message of its channel once, in each publisher's order. */
async function nothingLost(t, nodes, channels) {
  const lists = await subscribers(t, nodes, { channels, count: SUBSCRIBERS });
  const [before, count, names] = [performance.now(), each(channels), publishers(nodes)];
  const flowing = publish(t, nodes, { channels, count, batch: 500, pauseMs: 0 });
  const slowest = () => Math.min(...lists.flat().flatMap((one) => names.map((name) => one.seen(name))));
  const sent = await (channels > 1 ? flowing : paced(nodes, slowest, flowing));
  const links = await accounted(nodes, sent);
  const all = lists.flatMap((list) => list.map((subscriber, index) => ({ subscriber, channel: index % channels })));
  const wanted = ({ channel }) => [...sent.values()].reduce((sum, total) => sum + share(total, channels, channel), 0);
  await until(() => all.every((one) => one.subscriber.total >= wanted(one)), 'every delivery', 8 * SOON);
  const seconds = (performance.now() - before) / 1000;
  const deliveries = all.reduce((sum, one) => sum + one.subscriber.total, 0);
  t.log(`${4 * count} messages, ${deliveries} deliveries, ${seconds.toFixed(1)} s`);
  for (const one of all) {
    t.is(one.subscriber.total, wanted(one));
    t.deepEqual(one.subscriber.misplaced, []);
    t.deepEqual(one.subscriber.others, []);
    t.is(one.subscriber.missed, 0);
  }
  for (const link of links) {
    t.like(link, { received: 2 * count, missed: 0, duplicates: 0, malformed: 0, dropped: 0, losses: 0 });
  }
  await Promise.all(nodes.map((node) => linkThat(node, 'has sent all', (link) => link.sent === 2 * count)));
}

/** How many messages must arrive before the next step. */
const some = (channels) => (channels === 1 ? 500 : 2000) * (IS_FULL ? 25 : 1);

/** The server is restarted twice while messages flow: the sums are those of all messages, to the last. */
async function restarts(t, nodes, server, channels) {
  const lists = await subscribers(t, nodes, { channels, count: SUBSCRIBERS });
  // until they are stopped, or a million
  const plan = IS_FULL ? { count: each(channels), batch: 50, pauseMs: 2 } : { count: 2 ** 40, batch: 50, pauseMs: 5 };
  const [began, names] = [performance.now(), publishers(nodes)];
  // only messages published on the own node are certain to arrive
  const slowest = () => {
    const near = lists.flatMap((list, own) =>
      list.map((one) => names.filter((name) => Number(name[0]) === own).map((name) => one.seen(name))),
    );
    return Math.min(...near.flat());
  };
  const publishing = publish(t, nodes, { channels, ...plan });
  const flowing = channels > 1 ? publishing : paced(nodes, slowest, publishing);
  const received = async () => Promise.all(nodes.map(async (node) => (await linkOf(node)).received));
  const flows = async (before) => (await received()).every((count, node) => count > before[node] + some(channels));
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
  const links = await accounted(nodes, sent);
  for (const [own, node] of nodes.entries()) {
    const published = [...sent].filter(([name]) => Number(name[0]) === own).reduce((sum, [, count]) => sum + count, 0);
    const link = await linkThat(node, 'has nothing left', ({ queued, inFlight }) => queued + inFlight === 0);
    t.is(link.sent + link.unconfirmed + link.dropped + link.refused, published);
    t.like(link, { duplicates: 0, malformed: 0, losses: 2 });
    for (const [index, subscriber] of lists[own].entries()) {
      for (const [name, count] of sent) {
        const wanted = share(count, channels, index % channels);
        const got = () => subscriber.received(name) + subscriber.missing(name);
        await until(
          () => got() === wanted,
          () => `${wanted} of ${name}, not ${got()}`,
          8 * SOON,
        );
        // messages published on its own node always arrive
        if (Number(name[0]) === own) t.is(subscriber.missing(name), 0);
      }
      t.deepEqual([subscriber.misplaced, subscriber.others], [[], []]);
    }
    // what the subscribers of one channel each see missing is what the node has counted
    const seen = lists[own].slice(0, channels).reduce((sum, subscriber) => sum + subscriber.missed, 0);
    t.is(seen, link.missed);
  }
  const total = [...sent.values()].reduce((sum, count) => sum + count, 0);
  const deliveries = lists.flat().reduce((sum, subscriber) => sum + subscriber.total, 0);
  t.log(`${total} messages, ${deliveries} deliveries, ${((performance.now() - began) / 1000).toFixed(1)} s`);
  t.log(links.map(({ received: got, missed, unconfirmed, dropped }) => ({ got, missed, unconfirmed, dropped })));
}

/** As many channels as there are messages for different subscribers; with one, every message goes to all of them. */
for (const channels of [25, 1]) {
  const whom = channels === 1 ? 'all to every subscriber' : `${channels} channels`;

  needingRedis(test.serial)(`Redis, ${whom}: none lost, none twice, each publisher in order`, async (t) => {
    const redis = await Redis.with(t);
    await nothingLost(t, await startNodes(t, redis.url, { limits }), channels);
  });

  needingRedis(test.serial)(
    `Redis restarted twice, ${whom}: what is lost is counted to the last message`,
    async (t) => {
      const redis = await Redis.with(t);
      await restarts(t, await startNodes(t, redis.url, { limits }), redis, channels);
    },
  );

  needingNats(test.serial)(`NATS, ${whom}: none lost, none twice, each publisher in order`, async (t) => {
    const nats = await Nats.with(t);
    await nothingLost(t, await startNodes(t, nats.url, { limits }), channels);
  });

  needingNats(test.serial)(`NATS restarted twice, ${whom}: what is lost is counted to the last message`, async (t) => {
    const nats = await Nats.with(t);
    await restarts(t, await startNodes(t, nats.url, { limits }), nats, channels);
  });
}
