// The client and the real gateway: nothing of a channel with history is lost or doubled when connections are closed.
import test from 'ava';
import { WebSocket } from 'ws';

import { numbers } from '../support/client-faults.mjs';
import { until } from '../support/deadline.mjs';
import { createClient } from '../support/millrace-client.mjs';
import { sharedServer, worker } from '../support/server.mjs';

const terms = { history: { messages: 1000, ageMs: 600_000 }, clients: { subscribe: true, publish: true } };
const channels = [['room:*', terms]];
const server = sharedServer(test, { workerPath: worker('commands'), threads: 1, ioThreads: 2, channels });

const ROUNDS = 50;

test('50 closes of subscriber and publisher lose and double nothing', async (t) => {
  const [reader, writer] = [1, 2].map(() => createClient(`ws://${server.addresses[0]}/`, { WebSocket }));
  t.teardown(() => reader.close());
  t.teardown(() => writer.close());
  const got = [];
  let subscribed = 0;
  reader.subscribe('room:1', {
    onMessage: ({ data }) => got.push(data),
    onGap: () => got.push('gap'),
    onSubscribed: () => {
      subscribed += 1;
    },
  });
  await until(() => subscribed === 1, 'the subscription');
  // the writer learns that the channel has history
  const published = [await writer.publish('room:1', 1)];
  const publish = () => {
    for (let index = 0; index < 5; index++) published.push(writer.publish('room:1', published.length + 1));
  };
  for (let round = 1; round <= ROUNDS; round++) {
    publish();
    await server.call('close', Number(reader.socketId), 1012, 'retry=1');
    if (round % 5 === 0) await server.call('close', Number(writer.socketId), 1012, 'retry=1');
    publish();
    await until(() => subscribed > round, 'the next subscription');
  }
  const positions = (await Promise.all(published)).map(({ position }) => position.offset);
  t.is(`${positions}`, `${numbers(published.length)}`);
  await until(() => got.length >= published.length, 'all messages');
  t.is(`${got}`, `${numbers(published.length)}`);
});
