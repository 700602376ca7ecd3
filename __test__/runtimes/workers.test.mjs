// Workers under load in every runtime: every wake-up arrives, and starting and ending 100 workers causes no crash and
// no leak.
import test from 'ava';

import { again, until, within } from '../support/deadline.mjs';
import { linuxTests } from '../support/platforms.mjs';
import { inEach } from '../support/runtimes.mjs';
import { ask, member, open, worker } from '../support/server.mjs';

const MIB = 1024 * 1024;
const WORKERS = 10;
const ROUNDS = 10;
const MOST_MIB = 48;

/**
 * In Deno each worker thread that has loaded an addon leaks its event loop, two descriptors (docs/runtimes.md); in no
 * other runtime may it leak any.
 */
const DESCRIPTORS_LEFT = { node: 0, bun: 0, deno: 2 };

/** So short that a worker may be terminated that only waits for a core while ten others start: one more replacement. */
const TIMEOUT_MS = 400;

/**
 * The command that makes a worker unresponsive. Deno's `terminate` does not end a running handler (docs/runtimes.md),
 * so there the handler sleeps: it ends by itself, and takes no core from later workers.
 */
const STUCK = { node: { cmd: 'hang' }, bun: { cmd: 'hang' }, deno: { cmd: 'sleep', ms: 2 * TIMEOUT_MS } };

/** After this time a worker that should be stuck is not: its sleep was over before the next check. */
const STUCK_AGAIN_MS = 5000;

const workerIds = async (server) => Object.keys(await server.call('getDebugState', 'workers'));

/** Connects clients to every worker, which send continuously until their connection is closed. */
async function flood(t, server, address, { mayEnd = false } = {}) {
  const connect = () => open(t, server, { address });
  const clients = await Promise.all(
    Array.from({ length: 2 * WORKERS }, () => (mayEnd ? again(connect, 'a connection') : connect())),
  );
  for (const ws of clients) for (let index = 0; index < 300; index++) ws.send(`flood ${'x'.repeat(50)}`);
  const answers = await Promise.allSettled(clients.map((ws) => ws.text()));
  const failed = answers.find(({ status }) => status === 'rejected');
  // only the application learns why a worker was terminated
  const errors = await server.errors();
  const isLate = ({ code }) => code === 'ERR_MILLRACE_WORKER_UNRESPONSIVE';
  if (failed && !(mayEnd && errors.length > 0 && errors.every(isLate))) {
    throw new Error(`${failed.reason.message}; reported: ${JSON.stringify(errors)}`, { cause: failed.reason });
  }
  return clients;
}

/** Workers that are stopped together with their server, in the middle of a flood and without time to drain. */
async function stopped(t, server) {
  const options = { workerPath: worker('commands'), threads: WORKERS };
  const { handle, addresses } = await server.start(options);
  const clients = await flood(t, server, addresses[0]);
  await server.stop(handle, { drain: 0 });
  await within(Promise.all(clients.map((ws) => ws.closed())), 'all closed');
}

/** Workers that are terminated in the middle of a handler, while their clients go on sending. */
async function terminated(t, runtime, server) {
  const before = await workerIds(server);
  const clients = await flood(t, server, server.addresses[0], { mayEnd: true });
  const stick = () => {
    for (const ws of clients) if (!ws.over) ws.send(JSON.stringify({ ...STUCK[runtime], n: 1 }));
  };
  stick();
  const sticking = setInterval(stick, STUCK_AGAIN_MS);
  for (const ws of clients) for (let index = 0; index < 300; index++) ws.send('more of it');
  try {
    await within(Promise.all(clients.map((ws) => ws.closed())), 'all closed');
  } finally {
    clearInterval(sticking);
  }
  await until(async () => {
    const now = await workerIds(server);
    return now.length === WORKERS && !now.some((id) => before.includes(id));
  }, 'ten other workers');
}

/** So many times a hundred: a runtime may take more memory once, but does not grow again; a leak does. */
const HUNDREDS = 3;

/** Runs rounds of ten workers, two of them uncounted, and checks that a hundred more leak nothing. */
async function hundreds(t, runtime, server, round) {
  for (let index = 0; index < 2; index++) await round();
  let grown;
  for (let index = 0; index < HUNDREDS && !(grown < MOST_MIB); index++) {
    grown = await hundred(t, runtime, server, round);
  }
  t.true(grown < MOST_MIB, `a hundred more workers left ${grown.toFixed(1)} MiB, and so it was before`);
}

/** Runs ten rounds. Resolves with the MiB that are taken more. */
async function hundred(t, runtime, server, round) {
  const before = await server.usage();
  const counted = await server.run('native-counts');
  for (let index = 0; index < ROUNDS; index++) await round();
  const allowed = before.descriptors + ROUNDS * WORKERS * DESCRIPTORS_LEFT[runtime];
  const after = await until(async () => {
    const usage = await server.usage();
    return usage.descriptors <= allowed && usage.threads <= before.threads && usage;
  }, `at most ${allowed} descriptors and ${before.threads} threads`);
  let native;
  await until(
    async () => {
      native = await server.run('native-counts');
      return Object.keys(counted).every((name) => native[name] <= counted[name]);
    },
    () => `the native objects of the threads to be freed: ${JSON.stringify(native)}`,
  );
  const [first, last] = [before, after].map(({ rss }) => rss / MIB);
  const text = `descriptors ${before.descriptors} → ${after.descriptors}, threads ${before.threads} → ${after.threads}`;
  t.log(`${runtime}: resident ${first.toFixed(1)} → ${last.toFixed(1)} MiB, ${text}`);
  return last - first;
}

/** In this many, only Deno lost one to ten wake-ups, for more than a second each, without repeated wake-ups. */
const ROUND_TRIPS = 400_000;

/** A busy machine may delay a worker for that long, too, but not twice. */
const ROUNDS_OF_TRIPS = 2;

/** Whether no worker was terminated in the meantime. */
async function sleepsAndWakes(t, launch) {
  const server = await launch({ workerPath: worker('echo'), threads: 2, limits: { workerTimeoutMs: 1000 } });
  const clients = await Promise.all(Array.from({ length: 8 }, () => open(t, server)));
  const trips = clients.map(async (ws) => {
    for (let index = 0; index < ROUND_TRIPS / clients.length; index++) {
      ws.send('x');
      await ws.text();
    }
  });
  const ends = await Promise.allSettled(trips);
  const failed = ends.find(({ status }) => status === 'rejected');
  if (failed !== undefined) t.log(`${failed.reason.message}; reported: ${JSON.stringify(await server.errors())}`);
  return failed === undefined;
}

inEach(
  test,
  'a worker that becomes idle after every message wakes up for the next',
  async (t, { launch }) => {
    let woke = false;
    for (let round = 0; round < ROUNDS_OF_TRIPS && !woke; round++) woke = await sleepsAndWakes(t, launch);
    t.true(woke);
  },
  { only: 'deno' },
);

const launchOptions = { nodeArgs: ['--expose-gc'] };

inEach(linuxTests(test), '100 workers are started and stopped while clients send', async (t, { runtime, launch }) => {
  const server = await launch(undefined, launchOptions);
  await hundreds(t, runtime, server, () => stopped(t, server));
  t.deepEqual(await workerIds(server), []);
});

inEach(
  linuxTests(test),
  '100 workers that do not answer are terminated and replaced while clients send',
  async (t, { runtime, launch }) => {
    const limits = { workerTimeoutMs: TIMEOUT_MS };
    const server = await launch({ workerPath: worker('commands'), threads: WORKERS, limits }, launchOptions);
    await hundreds(t, runtime, server, () => terminated(t, runtime, server));
    t.is(await ask(await member(t, server), { cmd: 'ping' }), 'pong');
  },
);
