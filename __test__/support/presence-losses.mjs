// What presence has to do on several nodes when nodes die, are suspended or stopped, and when the server that they share is away
// or loses everything.
import { SOON, until } from './deadline.mjs';
import { agrees, earlyNodes, knowAll, membersOf, present, presentNodes, Watcher, witness } from './presence.mjs';
import { speak } from './v1.mjs';

/** A dead node's members are gone after that. */
const GONE_MS = 15_000;

/** Three nodes with a member each, and the pairs of their names and infos. */
async function threeRooms(t, server) {
  const nodes = await presentNodes(t, server.url, 3);
  const members = [];
  for (const [index, node] of nodes.entries()) {
    const client = await present(t, node, 'room:1', index);
    members.push([client.hi.s, index]);
  }
  await knowAll(nodes, 'room:1', members);
  return { nodes, members };
}

/**
 * Declares the tests. `start(t)` starts a server with `url`, `stop` and `launchAgain`; `hasSessions(server, count)` is whether so
 * many nodes have members there in `room:1`, and `lose(server)` lets it lose everything.
 */
export function declareLosses(declare, { start, hasSessions, lose }) {
  declare('the members of a killed node go on all others, and the counts agree', async (t) => {
    const server = await start(t);
    const { nodes, members } = await threeRooms(t, server);
    const [first, second, third] = nodes;
    const began = Date.now();
    third.kill();
    await knowAll([first, second], 'room:1', members.slice(0, 2), 3 * SOON);
    t.true(Date.now() - began < GONE_MS, `${Date.now() - began} ms`);
    for (const node of [first, second]) {
      t.deepEqual(await node.call('presenceCount', 'room:1'), { members: 2, sockets: 2 });
    }
    // a node that comes later does not see them either
    const [late] = await presentNodes(t, server.url, 1);
    t.is((await membersOf(late, 'room:1')).size, 2);
    await until(() => hasSessions(server, 2), 'the store to be clean');
  });

  declare('a node that was suspended and declared dead has its members again when it goes on', async (t) => {
    const server = await start(t);
    const { nodes, members } = await threeRooms(t, server);
    const [first, second, third] = nodes;
    const began = Date.now();
    process.kill(third.pid, 'SIGSTOP');
    await knowAll([first, second], 'room:1', members.slice(0, 2), 3 * SOON);
    t.true(Date.now() - began < GONE_MS, `${Date.now() - began} ms`);
    const late = await present(t, first, 'room:1', 'late');
    process.kill(third.pid, 'SIGCONT');
    await knowAll(nodes, 'room:1', [...members, [late.hi.s, 'late']], 3 * SOON);
  });

  declare('nobody seems to leave when the store loses everything', async (t) => {
    const server = await start(t);
    const { nodes, members } = await threeRooms(t, server);
    const watcher = await Watcher.on(t, nodes[0], 'room:1');
    await agrees(nodes[0], watcher);
    await lose(server);
    await until(() => hasSessions(server, 3), 'all nodes in the store again', 3 * SOON);
    const [late] = await presentNodes(t, server.url, 1);
    const own = [watcher.client.hi.s, undefined];
    await knowAll([...nodes, late], 'room:1', [...members, own]);
    t.false(watcher.told.includes('leave'), watcher.told.join());
  });

  declare('while the store is away the last known members stay, and what has changed is known after it', async (t) => {
    const server = await start(t);
    const { nodes, members } = await threeRooms(t, server);
    const watcher = await Watcher.on(t, nodes[0], 'room:1');
    await agrees(nodes[0], watcher);
    const own = [watcher.client.hi.s, undefined];
    await server.stop();
    const isReported = async (node) =>
      (await node.errors()).some(({ code }) => code === 'ERR_MILLRACE_PRESENCE_UNAVAILABLE');
    for (const node of nodes) await until(() => isReported(node), 'the loss of the link');
    const here = await present(t, nodes[0], 'room:1', 'here');
    await until(() => watcher.known.has(here.hi.s), 'a member of the same node');
    const there = await present(t, nodes[1], 'room:1', 'there');
    await knowAll(nodes.slice(0, 1), 'room:1', [...members, own, [here.hi.s, 'here']]);
    // what nobody here has followed is not known
    const asked = await t.throwsAsync(nodes[0].call('presence', 'room:other'));
    t.is(asked.code, 'ERR_MILLRACE_PRESENCE_UNAVAILABLE');
    const client = await speak(t, nodes[0]);
    t.is((await client.ask({ t: 'pres', c: 'room:another' })).code, 'failed');
    await server.launchAgain();
    const all = [...members, own, [here.hi.s, 'here'], [there.hi.s, 'there']];
    await knowAll(nodes, 'room:1', all, 3 * SOON);
    t.false(watcher.told.includes('leave'), watcher.told.join());
    t.is((await membersOf(nodes[0], 'room:other')).size, 0);
  });

  declare('who asks before the server is there is told to ask anew, and numbers are corrected', async (t) => {
    const server = await start(t);
    await server.stop();
    const nodes = await earlyNodes(t, server.url, 2, { limits: { presenceEvents: 4 } });
    const few = await Watcher.on(t, nodes[0], 'room:1');
    const many = [];
    for (const node of nodes) many.push(await Watcher.on(t, node, 'room:2'));
    for (const watcher of [few, ...many]) await until(() => watcher.refused.includes('failed'), 'the refusal');
    const there = await present(t, nodes[1], 'room:1', 'there');
    for (let n = 0; n < 8; n++) await present(t, nodes[n % 2], 'room:2', n);
    for (const watcher of many) await until(() => watcher.counts.at(-1) === 5, 'the number of one node');
    await server.launchAgain();
    const seen = witness(nodes, [few], 'room:1');
    await seen(() => few.known.has(there.hi.s), 'the member that nobody could be told of');
    await agrees(nodes[0], few);
    t.is((await membersOf(nodes[0], 'room:1')).size, 2);
    const all = witness(nodes, many, 'room:2');
    for (const [index, watcher] of many.entries()) {
      await all(() => watcher.counts.at(-1) === 10, 'the number of all');
      await agrees(nodes[index], watcher);
      t.is((await nodes[index].call('presenceCount', 'room:2')).sockets, 10);
    }
  });

  declare('a node that is stopped takes its members with it at once', async (t) => {
    const server = await start(t);
    const { nodes, members } = await threeRooms(t, server);
    const watcher = await Watcher.on(t, nodes[0], 'room:1');
    const own = [watcher.client.hi.s, undefined];
    await nodes[2].stop();
    // without a word of it, its session would live for six seconds at least
    const stopped = Date.now();
    await knowAll(nodes.slice(0, 2), 'room:1', [...members.slice(0, 2), own]);
    t.true(Date.now() - stopped < 5000, 'long before its session would have ended');
    await until(() => watcher.told.includes('leave'), 'that it has left');
    await agrees(nodes[0], watcher);
  });
}
