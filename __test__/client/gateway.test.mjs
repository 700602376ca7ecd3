// The client and the real gateway.
import test from 'ava';
import { WebSocket } from 'ws';

import { numbers } from '../support/client-faults.mjs';
import { until } from '../support/deadline.mjs';
import { createClient } from '../support/millrace-client.mjs';
import { sharedServer, worker } from '../support/server.mjs';

const channels = [
  ['room:kept', { history: { messages: 2000, ageMs: 600_000 }, clients: { subscribe: true } }],
  ['room:*', { clients: { subscribe: true, publish: { from: true } } }],
  ['score:*', { clients: { subscribe: true } }],
];
const server = sharedServer(test, { workerPath: worker('commands'), threads: 1, ioThreads: 2, channels });

/** A client, closed with the test. */
function visitor(t, options) {
  const client = createClient(`ws://${server.addresses[0]}/`, { WebSocket, ...options });
  t.teardown(() => client.close());
  return client;
}

/** A subscription that stands, and what it gets: the data of messages, `'gap'` for gaps. */
async function standing(client, channel) {
  const got = [];
  let times = 0;
  client.subscribe(channel, {
    onMessage: ({ data }) => got.push(data),
    onGap: () => got.push('gap'),
    onSubscribed: () => {
      times += 1;
    },
  });
  await until(() => times === 1, 'the subscription');
  return { got, times: () => times };
}

test('clients publish to each other what JSON has, and bytes', async (t) => {
  const [one, two] = [visitor(t), visitor(t, { getToken: () => 'caf\u{e9}' })];
  const { got } = await standing(two, 'room:values');
  const messages = [];
  const room = two.subscribe('room:values', { onMessage: (message) => messages.push(message) });
  const values = [
    'text',
    '5',
    null,
    { deep: [1] },
    'caf\u{e9}\n\u{1f600}',
    Uint8Array.of(0, 10, 255),
    new Uint8Array(0),
  ];
  for (const value of values) t.deepEqual(await one.publish('room:values', value), { position: undefined });
  await server.call('send', 'room:values', 'plain {text');
  await until(() => got.length === values.length + 1, 'all messages');
  t.deepEqual(got, [...values, 'plain {text']);
  t.is(messages[0].from, one.socketId);
  t.is(messages[0].channel, 'room:values');
  t.is(room.position, undefined);
});

test('what is not allowed, and what there is not, has its code', async (t) => {
  const client = visitor(t);
  const refused = new Promise((resolve) => client.subscribe('secret', { onError: resolve }));
  t.is((await refused).code, 'denied');
  await t.throwsAsync(client.publish('score:1', 1), { code: 'denied' });
  await t.throwsAsync(client.call('nothing'), { code: 'not_found' });
  const room = client.subscribe('room:none');
  await t.throwsAsync(room.history(), { code: 'not_found' });
  await t.throwsAsync(room.presence(), { code: 'not_found' });
});

test('messages for this client alone arrive, and those of channels that the server chose', async (t) => {
  const client = visitor(t);
  await until(() => client.status === 'open', 'the opening');
  const heard = [];
  client.onMessage(({ data, channel }) => heard.push([data, channel]));
  await server.call('send', Number(client.socketId), '{"only":"you"}');
  await server.call('subscribe', Number(client.socketId), 'secret:1');
  await server.call('send', 'secret:1', 'chosen');
  await until(() => heard.length === 2, 'both messages');
  t.deepEqual(heard, [
    [{ only: 'you' }, undefined],
    ['chosen', 'secret:1'],
  ]);
});

test('without history each loss is a gap, and the subscription goes on', async (t) => {
  const client = visitor(t);
  const { got, times } = await standing(client, 'score:1');
  for (let round = 1; round <= 5; round++) {
    await server.call('send', 'score:1', `${round}`);
    await until(() => got.at(-1) === round, 'the message');
    await server.call('close', Number(client.socketId), 1012, 'retry=1');
    await until(() => times() === round + 1, 'the next subscription');
  }
  t.deepEqual(
    got,
    numbers(5).flatMap((number) => [number, 'gap']),
  );
});

test('a later subscription with last gets more than an answer of the server has', async (t) => {
  const client = visitor(t);
  const { got } = await standing(client, 'room:kept');
  for (let number = 1; number <= 1500; number++) await server.call('send', 'room:kept', `${number}`);
  await until(() => got.length === 1500, 'all messages');
  const late = [];
  client.subscribe('room:kept', {
    last: 1400,
    onMessage: ({ data }) => late.push(data),
    onGap: () => late.push('gap'),
  });
  await until(
    () => late.length >= 1400,
    () => `1400 messages, after ${late.length}`,
  );
  t.deepEqual(late, numbers(1500).slice(100));
});

test('after close nothing of the channel arrives', async (t) => {
  const [one, two] = [visitor(t), visitor(t)];
  const first = one.subscribe('room:close', { onMessage: ({ data }) => t.fail(`${data}`) });
  first.close();
  const { got } = await standing(one, 'room:close');
  await two.publish('room:close', 1);
  await until(() => got.length === 1, 'the message');
  t.deepEqual(got, [1]);
});
