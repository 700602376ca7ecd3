// More is published than the backplane takes: workers and Redis clients wait, so that nothing is dropped. They do not
// wait forever, nor if the application turns waiting off, and `send` itself never waits.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { linkOf, linkThat, startNodes } from '../support/nodes.mjs';
import { needingRedis, Redis } from '../support/redis.mjs';
import { connect, request } from '../support/resp.mjs';
import { open } from '../support/server.mjs';
import { Subscriber } from '../support/subscriber.mjs';
import { encode } from '../support/wire.mjs';

const withRedis = needingRedis(test.serial);

/** Small: reached before a busy machine lets the backplane's thread run. */
const QUEUE = 1000;
/** More than a link can have in flight and in its queue. */
const MANY = 20_000;
const DROPPED = 'ERR_MILLRACE_BACKPLANE_DROPPED';

const bind = ['127.0.0.1:0', { address: '127.0.0.1:0', protocol: 'resp' }];

/** Two nodes and a subscriber on the second. */
async function pair(t, redis, limits) {
  // the subscriber answers no pings
  const all = { backplaneQueue: QUEUE, pingIntervalMs: 0, ...limits };
  const nodes = await startNodes(t, redis.url, { bind, threads: 1, limits: all });
  const subscriber = await Subscriber.open(t, nodes[1].addresses[0], 'room-0');
  await linkThat(nodes[1], 'hears the channel', (link) => link.subscriptions === 2);
  return { node: nodes[0], subscriber };
}

/** Waits until the server has confirmed all: the subscriber may have them before. Resolves with the state of the link. */
const hasSentAll = (node) => linkThat(node, 'has sent all', ({ sent }) => sent === MANY);

/** Publishes numbered messages as a Redis client that waits for no answer; resolves when all are answered. */
async function publish(t, node, count, client) {
  client ??= await connect(t, node.addresses[1]);
  const messages = Array.from({ length: count }, (_, number) => request('PUBLISH', 'room-0', `0a ${number}`));
  client.send(Buffer.concat(messages));
  const replies = await client.take(count);
  t.true(replies.every((reply) => reply === ':0\r\n'));
}

withRedis('Redis clients wait for a backplane that does not keep up: nothing is dropped', async (t) => {
  const { node, subscriber } = await pair(t, await Redis.with(t), { backplaneQueue: 200 });
  await publish(t, node, MANY);
  await until(
    () => subscriber.received('0a') === MANY,
    () => `all, not ${subscriber.received('0a')}`,
  );
  const link = await hasSentAll(node);
  t.like(link, { dropped: 0, queued: 0 });
  t.true(link.waits > 0);
});

withRedis('so does one that listens itself, whose answers come in order with what it hears', async (t) => {
  const { node, subscriber } = await pair(t, await Redis.with(t), { backplaneQueue: 200 });
  const client = await connect(t, node.addresses[1]);
  await client.ask('HELLO', '3');
  await client.ask('SUBSCRIBE', 'elsewhere');
  await publish(t, node, MANY, client);
  await until(
    () => subscriber.received('0a') === MANY,
    () => `all, not ${subscriber.received('0a')}`,
  );
  t.like(await hasSentAll(node), { dropped: 0, queued: 0 });
});

/** Events that each publish one message, from a client of the first node. */
async function publishByEvents(t, node, letter, first, count) {
  const client = await open(t, node);
  for (let number = first; number < first + count; number++) {
    client.send(JSON.stringify({ cmd: 'call', fn: 'send', args: encode(['room-0', `0${letter} ${number}`]) }));
  }
  return async () => {
    for (let answer = 0; answer < count; answer++) await client.next();
  };
}

withRedis('workers take no events while the backplane does not keep up: nothing is dropped', async (t) => {
  const redis = await Redis.with(t);
  const { node, subscriber } = await pair(t, redis);
  /** More than a link can have in flight. */
  const count = 10_000;
  await until(async () => {
    const [before, first] = [await linkOf(node), subscriber.seen('0a')];
    redis.pause();
    const since = performance.now();
    const answered = await publishByEvents(t, node, 'a', first, count);
    const link = await linkThat(
      node,
      'is full',
      ({ waits, dropped }) => waits > before.waits || dropped > before.dropped,
    );
    redis.goOn();
    const isQuick = performance.now() - since < 900;
    await answered();
    const after = await linkThat(node, 'has sent all', ({ queued, inFlight }) => queued + inFlight === 0);
    await until(() => subscriber.seen('0a') === first + count, 'the last message');
    // a machine that is busy for a second must not fail this test
    if (!isQuick && after.dropped > before.dropped) return false;
    t.is(after.dropped, before.dropped);
    return link.waits > before.waits;
  }, 'a second in which the machine is not busy');
});

withRedis('nobody waits for ever: after a second what is too much is dropped, counted and reported', async (t) => {
  const redis = await Redis.with(t);
  const { node } = await pair(t, redis);
  redis.pause();
  const since = performance.now();
  await publish(t, node, MANY);
  t.true(performance.now() - since > 900, 'they have waited');
  const link = await linkOf(node);
  t.true(link.waits > 0);
  t.true(link.dropped > 0);
  t.is(link.queued, QUEUE);
  await until(async () => (await node.errors()).some(({ code }) => code === DROPPED), 'the report');
  redis.goOn();
  await linkThat(node, 'has sent the rest', ({ sent, dropped }) => sent + dropped === MANY);
});

withRedis('`backplaneFull: drop`: nobody waits for the backplane', async (t) => {
  const redis = await Redis.with(t);
  const { node } = await pair(t, redis, { backplaneFull: 'drop' });
  redis.pause();
  // what the kernel takes between the two is not queued
  const isFull = async () => {
    await publish(t, node, MANY);
    const link = await linkOf(node);
    return link.queued === QUEUE && link.dropped > 0;
  };
  await until(isFull, 'the queue to be full');
  t.is((await linkOf(node)).waits, 0);
  redis.goOn();
});

withRedis('`send` never waits for the backplane', async (t) => {
  const redis = await Redis.with(t);
  const { node } = await pair(t, redis);
  redis.pause();
  let all = 0;
  // what the kernel takes between the two is not queued
  const isFull = async () => {
    all += MANY;
    // in one turn of the event loop, which nothing can interrupt
    await node.run('send-many', 'room-0', MANY);
    const link = await linkOf(node);
    return link.queued === QUEUE && link.dropped > 0;
  };
  await until(isFull, 'the queue to be full');
  redis.goOn();
  await linkThat(node, 'has sent the rest', ({ sent, dropped }) => sent + dropped === all);
  t.is((await linkOf(node)).queued, 0);
});
