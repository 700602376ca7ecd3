// The client and presence of the real gateway.
import test from 'ava';
import { WebSocket } from 'ws';

import { until } from '../support/deadline.mjs';
import { createClient } from '../support/millrace-client.mjs';
import { sharedServer, worker } from '../support/server.mjs';

const channels = [['room:*', { presence: true, clients: { subscribe: true, publish: true, info: true } }]];
const server = sharedServer(test, { workerPath: worker('commands'), threads: 1, ioThreads: 2, channels });

/** A visitor of a room that keeps the list of members as the guide shows it. */
function visitor(t, channel, info) {
  const client = createClient(`ws://${server.addresses[0]}/`, { WebSocket });
  t.teardown(() => client.close());
  const members = new Map();
  const set = (list) => {
    for (const { socketId, info: said } of list) members.set(socketId, said);
  };
  let times = 0;
  const room = client.subscribe(channel, {
    info,
    onJoin: set,
    onUpdate: set,
    onLeave: (list) => {
      for (const { socketId } of list) members.delete(socketId);
    },
    onSubscribed: async () => {
      members.clear();
      set(await room.presence());
      times += 1;
    },
  });
  return { client, room, members, times: () => times, names: () => [...members.values()].sort() };
}

test('visitors see each other come, change and go, and are members again after a lost connection', async (t) => {
  const [ada, bob] = ['Ada', 'Bob'].map((name) => visitor(t, 'room:1', name));
  await until(() => ada.times() === 1 && bob.times() === 1, 'both');
  for (const { names } of [ada, bob]) await until(() => names().join() === 'Ada,Bob', 'both names');
  await bob.room.setInfo('Robert');
  await until(() => ada.names().join() === 'Ada,Robert', 'the new name');
  await server.call('terminate', Number(bob.client.socketId));
  await until(() => bob.times() === 2, 'a new connection');
  for (const { names } of [ada, bob]) await until(() => names().join() === 'Ada,Robert', 'both names again');
  t.deepEqual(await server.call('presenceCount', 'room:1'), { members: 2, sockets: 2 });
  bob.room.close();
  await until(() => ada.names().join() === 'Ada', 'the end');
});
