// What presence on several nodes has to do, whatever server they share.
import { until } from './deadline.mjs';
import {
  agrees,
  answer,
  ask,
  knowAll,
  membersOf,
  present,
  presentNodes,
  toldOf,
  Watcher,
  witness,
} from './presence.mjs';
import { speak } from './v1.mjs';

/** Declares the tests. `server` is one with a `url`; `look(channel)` resolves with what it has of a channel. */
export function declareNodes(declare, server, look = undefined) {
  declare('members of one node are seen on the other, with what they say and when they go', async (t) => {
    const nodes = await presentNodes(t, server.url, 2);
    const [here, there] = nodes;
    for (const channel of ['room:1', 'old:1']) {
      const ada = await present(t, here, channel, { name: 'Ada' });
      await knowAll(nodes, channel, [[ada.hi.s, { name: 'Ada' }]]);
      const bob = await present(t, there, channel, 'Bob');
      t.deepEqual(await toldOf(ada, bob.hi.s), ['join', 'Bob']);
      t.not(ada.hi.s.split('-')[0], bob.hi.s.split('-')[0]);
      t.is((await answer(bob, { t: 'info', c: channel, info: 'Bert' }))[0].t, 'ok');
      t.deepEqual(await toldOf(ada, bob.hi.s), ['update', 'Bert']);
      const expected = [
        [ada.hi.s, { name: 'Ada' }],
        [bob.hi.s, 'Bert'],
      ];
      await knowAll(nodes, channel, expected);
      for (const node of nodes) t.deepEqual(await node.call('presenceCount', channel), { members: 2, sockets: 2 });
      // a page ends between the nodes
      const [first, second] = [ada.hi.s, bob.hi.s].sort();
      const [page, list] = await ask(ada, { c: channel, limit: 1 });
      t.deepEqual([page.more, list[0].s], [true, first]);
      const [last, rest] = await ask(ada, { c: channel, limit: 1, after: first });
      t.deepEqual([last.more, rest.map(({ s }) => s)], [undefined, [second]]);
      t.is((await ask(ada, { c: channel, after: 'nobody' }))[0].code, 'bad');
      // without a word, as a killed client
      bob.ws.terminate();
      t.deepEqual(await toldOf(ada, bob.hi.s), ['leave', undefined]);
      await knowAll(nodes, channel, expected.slice(0, 1));
      // nobody is subscribed there any more: it is asked for once more
      const seen = witness(nodes, [], channel, look);
      await seen(async () => (await membersOf(there, channel)).size === 1, 'the member of the other node');
    }
  });

  declare('sockets that the application has subscribed are members on all nodes', async (t) => {
    const nodes = await presentNodes(t, server.url, 2);
    const [here, there] = nodes;
    const watcher = await Watcher.on(t, there, 'room:2');
    const seen = witness(nodes, [watcher], 'room:2', look);
    const client = await speak(t, here);
    const socketId = Number(client.hi.s.split('-')[1]);
    await here.call('subscribe', socketId, 'room:2', { member: [1] });
    await seen(() => watcher.known.size === 2, 'the member');
    t.deepEqual(watcher.known.get(client.hi.s), [1]);
    const [member] = (await there.call('presence', 'room:2')).members.filter(({ info }) => info);
    const before = Date.now() - 60_000;
    t.true(member.since > before && member.socketId === socketId && client.hi.s.startsWith(`${member.node}-`));
    t.false(await there.call('setPresence', socketId + 1_000_000, 'room:2', 'x'), 'a socket of this node');
    t.true(await here.call('setPresence', socketId, 'room:2', 'x'));
    await seen(() => watcher.known.get(client.hi.s) === 'x', 'the update');
    await agrees(there, watcher);
  });

  declare('above presenceEvents members of all nodes together only the number is told', async (t) => {
    const nodes = await presentNodes(t, server.url, 2, { limits: { presenceEvents: 4 } });
    const watchers = [];
    for (const node of nodes) watchers.push(await Watcher.on(t, node, 'room:3'));
    const seen = witness(nodes, watchers, 'room:3', look);
    const clients = [];
    for (let n = 0; n < 8; n++) clients.push(await present(t, nodes[n % 2], 'room:3', n));
    for (const [index, watcher] of watchers.entries()) {
      await seen(() => watcher.counts.at(-1) === 10, 'the number of all');
      await agrees(nodes[index], watcher);
    }
    for (const client of clients.slice(2)) client.ws.terminate();
    for (const [index, watcher] of watchers.entries()) {
      await seen(() => watcher.counts.at(-1) === 4, 'the number when they are few again');
      await agrees(nodes[index], watcher);
    }
    clients[0].ws.terminate();
    for (const watcher of watchers) await seen(() => watcher.told.at(-1) === 'leave', 'a change of one');
    t.is((await nodes[0].call('presenceCount', 'room:3')).sockets, 3);
  });

  declare('what takes too much of other nodes is left out, and reported', async (t) => {
    const [here] = await presentNodes(t, server.url, 1);
    const [there] = await presentNodes(t, server.url, 1, { limits: { presenceBytes: 4000 } });
    const watcher = await Watcher.on(t, there, 'room:4');
    await present(t, here, 'room:4', 'x'.repeat(3000));
    await until(() => watcher.known.size === 2, 'the first');
    await present(t, here, 'room:4', 'y'.repeat(3000));
    const isReported = async () => (await there.errors()).some(({ code }) => code === 'ERR_MILLRACE_PRESENCE_FULL');
    await until(isReported, 'the report');
    t.is((await membersOf(there, 'room:4')).size, 2);
    await until(async () => (await membersOf(here, 'room:4')).size === 3, 'all members at the other node');
  });

  declare('many members come and go on both nodes, and everybody agrees in the end', async (t) => {
    const nodes = await presentNodes(t, server.url, 2);
    const watchers = [];
    for (const node of nodes) watchers.push(await Watcher.on(t, node, 'room:5'));
    const seen = witness(nodes, watchers, 'room:5', look);
    const clients = [];
    for (let n = 0; n < 120; n++) {
      clients.push([await present(t, nodes[n % 2], 'room:5', n % 7), n % 7]);
      if (n % 3 === 2) clients.splice((n * 7) % clients.length, 1)[0][0].ws.terminate();
    }
    const members = [...watchers, ...clients].map((one) => (one instanceof Watcher ? [one.client, undefined] : one));
    // while some still come and others go, the number alone may be right for a moment
    await knowAll(
      nodes,
      'room:5',
      members.map(([client, info]) => [client.hi.s, info]),
    );
    for (const [index, watcher] of watchers.entries()) {
      await seen(() => watcher.known.size === members.length, 'the members that are left');
      await agrees(nodes[index], watcher);
      t.is((await nodes[index].call('presenceCount', 'room:5')).sockets, members.length);
    }
  });

  declare('a client that does not answer any more leaves on all nodes', async (t) => {
    // the watcher answers late on a busy machine, and must stay
    const ping = { pingIntervalMs: 500, pongTimeoutMs: 2000 };
    const [pinging] = await presentNodes(t, server.url, 1, { limits: ping });
    const [other] = await presentNodes(t, server.url, 1);
    const nodes = [pinging, other];
    const watcher = await Watcher.on(t, nodes[1], 'room:6');
    const seen = witness(nodes, [watcher], 'room:6', look);
    const client = await present(t, nodes[0], 'room:6', 'silent');
    await seen(() => watcher.known.has(client.hi.s), 'the member');
    client.ws.pause();
    await seen(() => !watcher.known.has(client.hi.s), 'its end');
    t.true(watcher.told.includes('leave'));
    await agrees(nodes[1], watcher);
  });
}
