// Six nodes whose server is down for seconds: the messages that they have queued for each other arrive everywhere,
// although the nodes reconnect one after the other. MILLRACE_TEST_BACKPLANE=full restarts the server fifty times.
import test from 'ava';

import { SOON, until } from '../support/deadline.mjs';
import { IS_FULL } from '../support/flow.mjs';
import { Nats, needingNats } from '../support/nats.mjs';
import { linkOf, linkThat, startNodes } from '../support/nodes.mjs';
import { needingRedis, Redis } from '../support/redis.mjs';
import { Subscriber } from '../support/subscriber.mjs';

const NODES = 6;
const RESTARTS = IS_FULL ? 50 : 1;
/** Long enough for every node to reach its longest pause between attempts. */
const OUTAGE_MS = IS_FULL ? 4000 : 2000;
/** Of each node while the server is away. */
const QUEUED = 300;
/** Nodes do not wait for a link that is back later than this. */
const BACK_MS = 2000;

const allOf = (nodes, each) => Promise.all(nodes.map(each));
const nameOf = (node) => `${node}a`;

/** A subscriber on each node, and every node known to every other one. */
async function cluster(t, url) {
  // the subscribers answer no pings
  const nodes = await startNodes(t, url, { count: NODES, threads: 1, ioThreads: 1, limits: { pingIntervalMs: 0 } });
  const subscribers = await allOf(nodes, (node) => Subscriber.open(t, node.addresses[0], 'room-0'));
  await allOf(nodes, (node) => linkThat(node, 'hears the channel', (link) => link.subscriptions === 2));
  return { nodes, subscribers };
}

const knowEachOther = (nodes) =>
  allOf(nodes, (node) =>
    until(async () => (await node.call('clusterInfo')).nodes.length === NODES, 'all nodes to know each other'),
  );

/** Sends the messages of one node from `first` to before `end`. */
function send(node, name, first, end) {
  return Promise.all(
    Array.from({ length: end - first }, (_, index) => node.call('send', 'room-0', `${name} ${first + index}`)),
  );
}

/** Restarts the server; resolves with how long each node took to come back, `Infinity` where its link was lost again. */
async function restart(nodes, server, queue) {
  await knowEachOther(nodes);
  const before = await allOf(nodes, linkOf);
  await server.stop();
  const away = performance.now();
  await allOf(nodes, (node) => linkThat(node, 'is lost', (link) => link.state === 'lost'));
  await queue();
  await until(() => performance.now() - away >= OUTAGE_MS, 'the server to be away long enough', 2 * SOON);
  await server.launchAgain();
  const back = performance.now();
  const times = await allOf(nodes, async (node) => {
    const { sinceMs } = await linkThat(node, 'is ready', (link) => link.state === 'ready');
    return performance.now() - sinceMs - back;
  });
  return allOf(nodes, async (node, own) => {
    const { losses } = await linkThat(node, 'has sent all', (link) => link.queued + link.inFlight === 0);
    return losses === before[own].losses + 1 ? times[own] : Number.POSITIVE_INFINITY;
  });
}

/** The server is restarted again and again: no queued message is missing on a node that is back in time. */
async function outages(t, server) {
  const { nodes, subscribers } = await cluster(t, server.url);
  let sent = 0;
  for (let count = 1; count <= RESTARTS; count++) {
    const before = subscribers.map((one) => one.missed);
    const sendUntil = async (end) => {
      await allOf(nodes, (node, own) => send(node, nameOf(own), sent, end));
      sent = end;
    };
    const times = await restart(nodes, server, () => sendUntil(sent + QUEUED));
    // one more, so that what did not come is known to be missing
    await sendUntil(sent + 1);
    const isAll = (one) => nodes.every((_, node) => one.seen(nameOf(node)) === sent);
    await until(() => subscribers.every(isAll), 'the last message of every node');
    const missing = subscribers.map((one, node) => one.missed - before[node]);
    t.log(`${count}: back after ${times.map((ms) => ms.toFixed(0)).join(' ')} ms, missing ${missing.join(' ')}`);
    for (const [node, ms] of times.entries()) {
      // a busy machine may delay a process for longer, and even so long that its server seems silent
      if (ms < BACK_MS) t.is(missing[node], 0, `restart ${count}, node ${node}`);
    }
  }
  for (const one of subscribers) t.deepEqual([one.misplaced, one.others], [[], []]);
  for (const node of nodes) {
    const link = await linkOf(node);
    t.like(link, { duplicates: 0, malformed: 0, dropped: 0 });
    if (link.losses !== RESTARTS) t.log((await node.errors()).map(({ message }) => message));
  }
}

needingRedis(test.serial)('Redis away for seconds: nothing queued is missing on six nodes', async (t) => {
  await outages(t, await Redis.with(t));
});

needingNats(test.serial)('NATS away for seconds: nothing queued is missing on six nodes', async (t) => {
  await outages(t, await Nats.with(t));
});
