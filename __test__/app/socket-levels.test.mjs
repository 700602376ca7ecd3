// WebSockets of an app whose clients are slow: `bufferedAmount`, `congested`, `drain` and `drained`.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { open, sharedServer, worker } from '../support/server.mjs';

const limits = { outboxBytes: 64 * 1024 * 1024 };
const server = sharedServer(test, { workerPath: worker('app'), threads: 1, limits });

test('a socket tells how much waits for its client, when that is too much, and when it no longer is', async (t) => {
  const client = await open(t, server, { path: '/much' });
  client.pause();
  client.send('24');
  await until(async () => (await server.call('getKey', 'congested')) !== undefined, 'congested');
  client.resume();
  await client.when(() => client.received === 25, 'all messages');
  const seen = JSON.parse(client.inbox.at(-1).data);
  t.is(seen.shift(), '0 bytes at first');
  t.deepEqual(seen.sort(), ['congested', 'drain', 'drained: true']);
});

test('a socket gets a message from a stream', async (t) => {
  const client = await open(t, server, { path: '/much' });
  client.send('stream');
  t.is(await client.text(), 'one message');
  t.is(await client.text(), '11 bytes');
});
