// The native objects of a JavaScript thread, of its gateways and of its workers are freed when those end.
import test from 'ava';

import { SOON, until } from '../support/deadline.mjs';
import { linuxTests } from '../support/platforms.mjs';
import { inEach } from '../support/runtimes.mjs';
import { ownServer, worker } from '../support/server.mjs';

const THREADS = 8;
const ROUNDS = 2;

/** The main thread, which has one gateway and no worker. */
const MAIN_ALONE = { environments: 1, gateways: 1, workers: 0 };

const countsOf = (server) => server.run('native-counts');

/** Threads end shortly after their last answer. */
async function settled(t, server, wanted) {
  let counts;
  const same = async () => {
    counts = await countsOf(server);
    return Object.keys(wanted).every((name) => counts[name] === wanted[name]);
  };
  await until(same, () => `${JSON.stringify(wanted)}, not ${JSON.stringify(counts)}`);
  t.deepEqual(counts, wanted);
}

inEach(test, 'the native objects of workers are freed when these stop or are replaced', async (t, { launch }) => {
  const server = await launch();
  await server.call('stats');
  await settled(t, server, MAIN_ALONE);
  for (let round = 0; round < ROUNDS; round++) {
    const { handle } = await server.start({ workerPath: worker('echo'), threads: THREADS });
    await server.replaceWorkers(handle);
    await settled(t, server, { environments: 1 + THREADS, gateways: 1 + THREADS, workers: THREADS });
    await server.stop(handle, { drain: 0 });
    await settled(t, server, MAIN_ALONE);
  }
});

test('the native objects of gateways and workers on one thread are garbage-collected', async (t) => {
  const server = await ownServer(t, undefined, { runtime: 'node', nodeArgs: ['--expose-gc'] });
  const { before, most, after } = await server.run('gateways-lost', 10, SOON);
  t.true(most.gateways > before.gateways);
  t.true(after.gateways <= before.gateways + 1, `${after.gateways} gateways`);
  t.true(after.workers <= 1, `${after.workers} workers`);
});

inEach(
  linuxTests(test),
  "a thread that ends without stopping its gateway leaves none of the gateway's threads behind",
  async (t, { runtime, launch }) => {
    const server = await launch();
    const seen = await server.run('abandoned-gateways', 5, SOON);
    // Deno reports the end of a thread before it cleans up the thread's environment
    const wanted = runtime === 'deno' ? { left: 0 } : { after: 0, left: 0 };
    t.true(
      seen.some(({ during }) => during >= 8),
      'the I/O threads are seen',
    );
    for (const counts of seen) t.like(counts, wanted);
  },
);
