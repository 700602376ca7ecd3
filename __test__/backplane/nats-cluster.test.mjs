// Nodes that share a cluster of three current NATS servers with JetStream: what it keeps of histories and members, of which
// there are copies, and servers of it that die.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { Follower } from '../support/history-nodes.mjs';
import { LossyProxy } from '../support/lossy-proxy.mjs';
import { needingNats } from '../support/nats.mjs';
import { CURRENT, isBack, NatsCluster, nodeAt } from '../support/nats-cluster.mjs';
import { agrees, knowAll, present, Watcher } from '../support/presence.mjs';
import { SteadyMembers, SteadyPublishers } from '../support/steady-traffic.mjs';

const cluster = NatsCluster.of(test, CURRENT);
const withNats = needingNats(test.serial, CURRENT);

const AWAY = ['ERR_MILLRACE_HISTORY_UNAVAILABLE', 'ERR_MILLRACE_PRESENCE_UNAVAILABLE'];

const historyOf = async (node) => (await node.call('stats')).backplane.history;

/** Nodes at these servers. Their streams have copies on all servers, and `leader` leads them. */
async function nodesAt(t, prefix, servers, leader) {
  await cluster.isWhole();
  const nodes = [await nodeAt(t, servers[0], prefix)];
  const streams = await cluster.streamsOf(prefix);
  await cluster.copy(Object.values(streams));
  for (const name of [streams.members, streams.history]) await cluster.stepDown(name, leader);
  for (const server of servers.slice(1)) nodes.push(await nodeAt(t, server, prefix));
  for (const node of nodes) await isBack(node);
  return { nodes, streams };
}

/** What goes on on these nodes: members, publications and followers, and a client that believes what it is told. */
async function trafficOn(t, nodes) {
  const watchers = [];
  for (const node of nodes) watchers.push(await Watcher.on(t, node, 'room:1'));
  const followers = [];
  for (const node of nodes) followers.push(await Follower.enter(t, node, 'kept:1'));
  const members = new SteadyMembers(t, nodes, 'room:1');
  const publishers = new SteadyPublishers(t, nodes, 'kept:1');
  const goesOn = () => Promise.all([members.goesOn(), publishers.goesOn()]);
  const finish = async () => {
    await publishers.finish(t, followers);
    await members.finish(
      t,
      watchers.map(({ client }) => [client.hi.s, undefined]),
    );
    for (const [own, watcher] of watchers.entries()) await agrees(nodes[own], watcher);
  };
  await goesOn();
  return { members, goesOn, finish };
}

withNats('nodes at two servers agree, and what an operator changes of the streams stays', async (t) => {
  await cluster.isWhole();
  const [first, second, third] = cluster.servers;
  // both make the streams
  const nodes = await Promise.all([first, second].map((server) => nodeAt(t, server, 'edited', 50)));
  const streams = await cluster.streamsOf('edited');
  for (const name of Object.values(streams)) t.is((await cluster.info(name)).config.num_replicas, 1);
  const members = [];
  for (const [index, node] of nodes.entries()) {
    members.push([(await present(t, node, 'room:1', index)).hi.s, index]);
  }
  await knowAll(nodes, 'room:1', members);
  for (const node of nodes) {
    t.deepEqual(await node.call('presenceCount', 'room:1'), { members: 2, sockets: 2 });
    await isBack(node);
  }
  const followers = [];
  for (const node of nodes) followers.push(await Follower.enter(t, node, 'kept:1'));
  for (const [index, node] of nodes.entries()) await node.call('publish', 'kept:1', `${index}`);
  for (const follower of followers) t.deepEqual((await follower.has(2)).payloads, ['0', '1']);

  const max_bytes = 50_000_000;
  for (const name of Object.values(streams)) await cluster.edit(name, { max_bytes });
  await cluster.copy(Object.values(streams));
  // it changes the bounds of its stream, because its own are others
  const late = await nodeAt(t, third, 'edited', 70);
  await isBack(late);
  const { config } = await cluster.info(streams.history);
  t.like(config, { max_msgs_per_subject: 71, num_replicas: 3, max_bytes });
  await until(async () => (await late.call('presenceCount', 'room:1').catch(() => ({}))).members === 2, 'the members');
  for (const name of [streams.members, streams.sessions]) {
    t.like((await cluster.info(name)).config, { num_replicas: 3, max_bytes, storage: 'memory' });
  }
  t.like(await late.call('history', 'kept:1'), { position: { offset: 2 } });
  await knowAll(nodes, 'room:1', members);
});

withNats('a node whose server dies goes to another one that it was told of, and nothing is missing', async (t) => {
  const [first, second] = cluster.servers;
  const { nodes } = await nodesAt(t, 'moved', [first, second], second);
  const { goesOn, finish } = await trafficOn(t, nodes);
  const { losses } = await historyOf(nodes[0]);
  await first.stop();
  await until(async () => (await historyOf(nodes[0])).losses > losses, 'the loss of the link');
  await isBack(nodes[0]);
  await goesOn();
  await finish();
});

withNats('the leader of the streams dies while members come and go and nodes publish', async (t) => {
  const [first, second, third] = cluster.servers;
  const { nodes, streams } = await nodesAt(t, 'led', [first, second], third);
  const { members, goesOn, finish } = await trafficOn(t, nodes);
  await third.stop();
  for (const name of Object.values(streams)) await cluster.isLedByAnother(name, third);
  await members.goesOn();
  await goesOn();
  await finish();
});

withNats('all servers are away and come back: what was accepted is there, and nobody seems to leave', async (t) => {
  const [first, second] = cluster.servers;
  const { nodes } = await nodesAt(t, 'gone', [first, second], second);
  const watcher = await Watcher.on(t, nodes[0], 'room:1');
  const stays = [];
  for (const [index, node] of nodes.entries()) stays.push([(await present(t, node, 'room:1', index)).hi.s, index]);
  stays.push([watcher.client.hi.s, undefined]);
  await knowAll(nodes, 'room:1', stays);
  await agrees(nodes[0], watcher);
  const followers = [];
  for (const node of nodes) followers.push(await Follower.enter(t, node, 'kept:1'));
  const publishers = new SteadyPublishers(t, nodes, 'kept:1');
  await publishers.goesOn();
  // suspended: those that all end, even one after the other, may forget what they have accepted, and that they have streams
  for (const server of cluster.servers) await server.pause();
  const isToldOf = async (node, code) => (await node.errors()).some((error) => error.code === code);
  for (const node of nodes) {
    for (const code of AWAY) await until(() => isToldOf(node, code), code);
    await t.throwsAsync(node.call('publish', 'kept:2', 'x'), { code: AWAY[0] });
    await t.throwsAsync(node.call('presence', 'room:2'), { code: AWAY[1] });
    stays.push([(await present(t, node, 'room:1', 'meanwhile')).hi.s, 'meanwhile']);
  }
  for (const server of cluster.servers) server.goOn();
  await cluster.isWhole();
  await publishers.goesOn();
  await publishers.finish(t, followers);
  await knowAll(nodes, 'room:1', stays);
  await agrees(nodes[0], watcher);
  t.false(watcher.told.includes('leave'), watcher.told.join());
});

withNats('what is lost between servers is read when another one leads, or a server goes', async (t) => {
  const [first, second, third] = cluster.servers;
  const { nodes, streams } = await nodesAt(t, 'lossy', [first], first);
  await cluster.stepDown(streams.sessions, second);
  const proxy = await LossyProxy.to(t, second);
  nodes.push(await nodeAt(t, proxy, 'lossy'));
  const [here, there] = nodes;
  await isBack(there);
  const follower = await Follower.enter(t, there, 'kept:1');
  const members = [];
  for (const node of nodes) members.push([(await present(t, node, 'room:1', 'early')).hi.s, 'early']);
  await knowAll(nodes, 'room:1', members);
  await here.call('publish', 'kept:1', '1');
  await follower.has(1);
  const { losses } = await historyOf(there);
  /** Does it while what the servers tell of this is lost. */
  const unheard = async (subject, act) => {
    const before = proxy.lost.length;
    proxy.loses = subject;
    await act();
    await until(() => proxy.lost.length > before, `a loss of ${subject}`);
    proxy.loses = undefined;
  };

  await unheard('!t.', () => here.call('publish', 'kept:1', '2'));
  await cluster.stepDown(streams.history, second);
  await follower.has(2);
  // the same leader as before when the node looks the next time
  await unheard('!t.', () => here.call('publish', 'kept:1', '3'));
  await cluster.stepDown(streams.history, first);
  await cluster.stepDown(streams.history, second);
  await follower.has(3);
  t.is((await historyOf(there)).losses, losses, 'the link was not lost');

  await unheard('!t.', () => here.call('publish', 'kept:1', '4'));
  await unheard('!u.', async () => members.push([(await present(t, here, 'room:1', 'late')).hi.s, 'late']));
  await third.stop();
  await follower.has(4);
  await knowAll(nodes, 'room:1', members);
  t.deepEqual(follower.payloads, ['1', '2', '3', '4']);
  t.deepEqual([...follower.gaps, ...follower.violations], []);
});
