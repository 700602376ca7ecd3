// What the native side makes for a JavaScript thread, for a gateway there and for a worker there is gone with them.
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

/** Threads end a moment after what they answered last. */
async function settled(t, server, wanted) {
  let counts;
  const same = async () => {
    counts = await countsOf(server);
    return Object.keys(wanted).every((name) => counts[name] === wanted[name]);
  };
  await until(same, () => `${JSON.stringify(wanted)}, not ${JSON.stringify(counts)}`);
  t.deepEqual(counts, wanted);
}

inEach(test, 'workers that are stopped or replaced leave nothing of the native side behind', async (t, { launch }) => {
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

test('gateways and workers on one thread go with the JavaScript that used them', async (t) => {
  const server = await ownServer(t, undefined, { runtime: 'node', nodeArgs: ['--expose-gc'] });
  const { before, most, after } = await server.run('gateways-lost', 10, SOON);
  t.true(most.gateways > before.gateways);
  // the last one may still be on the stack
  t.true(after.gateways <= before.gateways + 1, `${after.gateways} gateways`);
  t.true(after.workers <= 1, `${after.workers} workers`);
});

inEach(
  linuxTests(test),
  'a thread that ends without stopping its gateway leaves none of its threads behind',
  async (t, { runtime, launch }) => {
    const server = await launch();
    const seen = await server.run('abandoned-gateways', 5, SOON);
    // Deno says that a thread has ended before its environment is cleaned up
    const wanted = runtime === 'deno' ? { left: 0 } : { after: 0, left: 0 };
    t.true(
      seen.some(({ during }) => during >= 8),
      'the I/O threads are seen',
    );
    for (const counts of seen) t.like(counts, wanted);
  },
);
