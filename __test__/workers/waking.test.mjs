// How I/O threads wake a JavaScript thread: what runs after a handler, what a busy thread still does, and threads that end
// while they are woken.
import test from 'ava';

import { again, until } from '../support/deadline.mjs';
import { open, ownServer, RUNTIME, worker } from '../support/server.mjs';

const FULL = process.env.MILLRACE_TEST_WORKERS === 'full';
const onNode = RUNTIME === 'node' ? test : test.skip;

for (const threads of [0, 1]) {
  test(`threads: ${threads}: promises and ticks of a handler run before anything else of the event loop`, async (t) => {
    const server = await ownServer(t, { workerPath: worker('waking'), threads });
    const ws = await open(t, server);
    for (let round = 0; round < 20; round++) {
      ws.send('order');
      const order = await ws.text();
      t.is(order, RUNTIME === 'bun' ? order : 'handler tick promise');
      t.regex(order, /^handler (tick promise|promise tick)$/);
    }
  });

  test(`threads: ${threads}: handlers keep their asynchronous storage apart`, async (t) => {
    const server = await ownServer(t, { workerPath: worker('waking'), threads });
    const clients = await Promise.all(Array.from({ length: 20 }, () => open(t, server)));
    for (let round = 0; round < 5; round++) {
      for (const [index, ws] of clients.entries()) ws.send(`store ${round}-${index}`);
      for (const [index, ws] of clients.entries()) t.is(await ws.text(), `${round}-${index}`);
    }
  });
}

onNode('a thread with more events than it can handle still runs its timers', async (t) => {
  const server = await ownServer(t, { workerPath: worker('waking'), threads: 1 });
  const ws = await open(t, server);
  ws.send('longest');
  await ws.text();
  const began = performance.now();
  for (let count = 0; count < 1000; count++) ws.send('work 2');
  ws.send('longest');
  const longest = Number(await ws.text());
  const took = performance.now() - began;
  t.true(longest < took / 2, `no timer ran for ${longest} ms of ${took}`);
});

onNode(
  'an error that is thrown after a handler is uncaught, and the next events are handled by the next worker',
  async (t) => {
    const server = await ownServer(t, { workerPath: worker('waking'), threads: 1 });
    const ws = await open(t, server);
    ws.send('later');
    t.is((await ws.closed()).code, 1011);
    await until(
      async () => (await server.errors()).some(({ message }) => /after the handler/.test(message)),
      'the error',
    );
    await until(async () => Object.keys(await server.call('getDebugState', 'workers')).length === 1, 'the next worker');
    const next = await again(() => open(t, server), 'a connection');
    next.send('store again');
    t.is(await next.text(), 'again');
  },
);

test('threads end while they are woken, and nothing of them is left', async (t) => {
  const server = await ownServer(t);
  const ends = RUNTIME === 'deno' ? ['stop'] : ['terminated', 'exit', 'stop'];
  const { before, after } = await server.run('threads-that-end', FULL ? 1000 : 30, ends);
  t.deepEqual(after, before);
});
