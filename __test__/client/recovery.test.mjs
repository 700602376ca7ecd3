// The client and the real gateway: nothing of a channel with history is lost or doubled when connections are closed.
import test from 'ava';
import { WebSocket } from 'ws';

import { numbers } from '../support/client-faults.mjs';
import { until } from '../support/deadline.mjs';
import { createClient } from '../support/millrace-client.mjs';
import { sharedServer, worker } from '../support/server.mjs';

const terms = { history: { messages: 1000, ageMs: 600_000 }, clients: { subscribe: true, publish: true } };
const channels = [
  ['room:*', terms],
  ['served:*', { history: terms.history }],
  ['brief:*', { ...terms, history: { messages: 1000, ageMs: 1000 } }],
];
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

test('a close after the last messages have expired is no gap', async (t) => {
  const [other, client] = [1, 2].map(() => createClient(`ws://${server.addresses[0]}/`, { WebSocket }));
  t.teardown(() => other.close());
  t.teardown(() => client.close());
  // a channel without subscribers would begin anew
  await new Promise((resolve) => other.subscribe('brief:1', { onSubscribed: resolve }));
  for (let number = 1; number <= 5; number++) await server.call('send', 'brief:1', `${number}`);
  const expired = async () => (await server.call('history', 'brief:1', {})).publications.length === 0;
  await until(expired, 'the end of the messages');
  const got = [];
  let subscribed = 0;
  client.subscribe('brief:1', {
    last: 10,
    onMessage: ({ data }) => got.push(data),
    onGap: () => got.push('gap'),
    onSubscribed: () => {
      subscribed += 1;
    },
  });
  for (let round = 1; round <= 3; round++) {
    await until(() => subscribed === round, 'the subscription');
    await server.call('close', Number(client.socketId), 1012, 'retry=1');
  }
  await until(() => subscribed === 4, 'the last subscription');
  await server.call('send', 'brief:1', '6');
  await until(() => got.length > 0, 'the message');
  t.deepEqual(got, [6]);
});

test('closes lose and double nothing of a channel to which the server subscribes the client', async (t) => {
  const client = createClient(`ws://${server.addresses[0]}/`, { WebSocket });
  t.teardown(() => client.close());
  const got = [];
  client.onMessage(({ data }) => got.push(data));
  client.onGap((...gap) => got.push(gap));
  let sent = 0;
  const send = async (count) => {
    for (let index = 0; index < count; index++) await server.call('send', 'served:1', `${++sent}`);
  };
  const subscribe = async (before) => {
    await until(() => client.status === 'open' && client.socketId !== before, 'the next connection');
    await server.call('subscribe', Number(client.socketId), 'served:1');
    await send(2);
  };
  await subscribe();
  for (let round = 0; round < 20; round++) {
    const before = client.socketId;
    await server.call('close', Number(before), 1012, 'retry=1');
    await send(3);
    await subscribe(before);
  }
  await until(
    () => got.length >= sent,
    () => `all messages, after ${got}`,
  );
  t.is(`${got}`, `${numbers(sent)}`);
});
