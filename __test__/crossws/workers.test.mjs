// The adapter in worker threads: peers are those of the thread, topics reach all threads.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { open as connect, ownServer, sharedServer, worker } from '../support/server.mjs';

const server = sharedServer(test, { workerPath: worker('crossws'), threads: 2 });

/** Clients of two worker threads in one namespace. */
async function onBothThreads(t, path) {
  const found = new Map();
  while (found.size < 2) {
    const client = await connect(t, server, { path: `${path}?open=quiet` });
    [, client.id] = (await client.text()).split(' ');
    client.send('describe');
    const { threadId } = await client.json();
    if (found.has(threadId)) client.destroy();
    else found.set(threadId, client);
  }
  return [...found.values()];
}

test('a publication reaches the peers of every thread, but not the one that publishes', async (t) => {
  const [one, two] = await onBothThreads(t, '/threads');
  one.send('publish chat hello');
  t.is(await two.text(), 'hello');
  t.is(await one.text(), 'published');
  await fetch(`http://${server.addresses[0]}/publish?topic=chat&text=to-all&namespace=%2Fthreads`);
  t.is(await one.text(), 'to-all');
  t.is(await two.text(), 'to-all');
});

test('peers are those of the thread', async (t) => {
  const clients = await onBothThreads(t, '/peers-of-threads');
  for (const client of clients) {
    const alone = async () => {
      client.send('peers');
      const { peers } = await client.json();
      return peers.length === 1 && peers;
    };
    // a client that was not needed may still be there
    t.deepEqual(await until(alone, 'one peer'), [client.id]);
  }
});

test('hooks of workers get pings and pongs, and their errors are reported to the main thread', async (t) => {
  const client = await connect(t, server, { path: '/errors?open=quiet' });
  await client.text();
  client.ping('a');
  t.is(await client.text(), 'ping a');
  client.send('ping b');
  t.is(await client.text(), 'pong b');
  client.send('reject');
  await until(() => client.closeFrame, 'a close frame');
  t.is(client.closeFrame.code, 1011);
  await until(
    async () => (await server.errors()).some(({ message }) => message.includes('a hook rejected')),
    'a report',
  );
});

test('sync is refused in a worker, whose topics reach the other threads anyway', async (t) => {
  const own = await ownServer(t);
  await t.throwsAsync(own.start({ workerPath: worker('crossws-sync'), threads: 1 }), {
    code: 'ERR_MILLRACE_WORKER_FAILED',
    message: /'sync' is not available in worker threads/,
  });
});
