// Replacing and stopping workers that are starting, hang, fail, or are being stopped.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { open, ownServer, worker } from '../support/server.mjs';

const workerPath = worker('planned');

/** A server with one worker, which follows the plan (see support/workers/planned.mjs). */
const planned = (t, plan, options) => ownServer(t, { workerPath, threads: 1, workerArg: plan, ...options });

async function record(server) {
  const bytes = await server.call('getKey', 'record');
  return bytes.toString().trim().split(' ');
}

const noted = (server, word) => until(async () => (await record(server)).includes(word), word);
const starts = async (server) => (await record(server)).filter((word) => /^start-\d+$/.test(word));
const workerCount = async (server) => Object.keys(await server.call('getDebugState', 'workers')).length;

async function reported(t, server, code, message) {
  let errors;
  const matches = () => errors.filter((error) => error.code === code && message.test(error.message));
  await until(
    async () => {
      errors = await server.errors();
      return matches().length > 0;
    },
    () => `the report: ${JSON.stringify(errors)}`,
  );
  t.is(matches().length, 1, JSON.stringify(errors));
}

async function says(t, server, address = server.addresses[0]) {
  const client = await open(t, server, { address });
  client.send('who');
  return client.text();
}

test('a stop during a replacement waits for the old worker', async (t) => {
  // the old worker finishes last, and some time after the other one
  const server = await planned(t, {
    'stop-1': [
      ['after', 'stop-2-done'],
      ['lasts', 300],
    ],
  });
  const replaced = server.replaceWorkers();
  await noted(server, 'stop-1');
  await server.stop();
  t.true((await record(server)).includes('stop-1-done'), (await record(server)).join(' '));
  await replaced;
  t.is(await workerCount(server), 0);
});

test('a stop ends a successor that does not become ready, and rejects the pending replaceWorkers', async (t) => {
  const server = await planned(t, { 'start-2': [['after', 'never']] });
  const refused = t.throwsAsync(server.replaceWorkers(), { code: 'ERR_MILLRACE_NOT_RUNNING' });
  await noted(server, 'start-2');
  await server.stop();
  await refused;
  t.true((await record(server)).includes('stop-1-done'), 'the old worker is stopped in an orderly way');
  const { addresses } = await server.start({ workerPath, threads: 1 });
  t.is(await says(t, server, addresses[0]), 'worker 3');
});

test('replaceWorkers rejects while the workers are being stopped', async (t) => {
  const server = await planned(t, { 'stop-1': [['after', 'asked']] });
  const stopped = server.stop();
  await noted(server, 'stop-1');
  await t.throwsAsync(server.replaceWorkers(), { code: 'ERR_MILLRACE_NOT_RUNNING' });
  await server.call('setKey', 'asked', 'yes');
  await stopped;
  t.deepEqual(await starts(server), ['start-1']);
});

/** A server whose worker has exited, and whose replacement has begun to start. */
async function bereft(t, plan) {
  const server = await planned(t, plan);
  const client = await open(t, server);
  client.send('exit');
  await client.closed();
  await noted(server, 'start-2');
  return server;
}

test('a replacement that fails while a successor starts is retried until the successor is ready', async (t) => {
  const server = await bereft(t, {
    'start-2': [
      ['after', 'start-3'],
      ['throws', 'on purpose'],
    ],
    'start-3': [['after', 'go']],
  });
  const replaced = server.replaceWorkers();
  await noted(server, 'start-4-done');
  await until(async () => (await workerCount(server)) === 1, 'the replacement');
  await reported(t, server, 'ERR_MILLRACE_WORKER_FAILED', /on purpose/);
  t.is(await says(t, server), 'worker 4');
  await server.call('setKey', 'go', 'yes');
  await replaced;
  t.is(await says(t, server), 'worker 3');
  t.is(await workerCount(server), 1);
  t.true((await record(server)).includes('stop-4-done'));
});

test('a worker that ends while its successor starts is replaced as well', async (t) => {
  const server = await planned(t, { 'start-2': [['after', 'go']] });
  const replaced = server.replaceWorkers();
  await noted(server, 'start-2');
  const client = await open(t, server);
  client.send('exit');
  await client.closed();
  await noted(server, 'start-3-done');
  await until(async () => (await workerCount(server)) === 1, 'the replacement');
  t.is(await says(t, server), 'worker 3');
  await server.call('setKey', 'go', 'yes');
  await replaced;
  t.is(await says(t, server), 'worker 2');
  t.is(await workerCount(server), 1);
});

for (const [how, step] of [
  ['waits', ['after', 'never']],
  ['loops', ['spins']],
]) {
  test(`a successor that ${how} for ever is terminated after workerStartTimeoutMs, and the worker stays`, async (t) => {
    const server = await planned(t, { 'start-2': [step] }, { limits: { workerStartTimeoutMs: 6000 } });
    await t.throwsAsync(server.replaceWorkers(), {
      code: 'ERR_MILLRACE_WORKER_FAILED',
      message: 'a worker could not be started: not ready after 6000 ms',
    });
    t.is(await says(t, server), 'worker 1');
    t.is(await workerCount(server), 1);
    await server.replaceWorkers();
    t.is(await says(t, server), 'worker 3');
  });

  test(`a signal ends a successor that ${how} for ever`, async (t) => {
    const server = await planned(t, { 'start-2': [step] });
    const refused = t.throwsAsync(server.replaceWorkers(), { message: 'on purpose' });
    await noted(server, 'start-2');
    await server.abortReplacement('on purpose');
    await refused;
    t.is(await says(t, server), 'worker 1');
    await server.replaceWorkers();
    t.is(await says(t, server), 'worker 3');
    t.deepEqual(await server.errors(), []);
  });
}

test('a successor that is aborted when it has just become ready runs its handleStop', async (t) => {
  const server = await planned(t, { 'start-2': [['after', 'go']] });
  const refused = t.throwsAsync(server.replaceWorkers(), { message: 'on purpose' });
  await noted(server, 'start-2');
  await server.abortReplacement('on purpose', 'go');
  await refused;
  t.true((await record(server)).includes('stop-2-done'), (await record(server)).join(' '));
  t.is(await says(t, server), 'worker 1');
  t.is(await workerCount(server), 1);
});

test('start rejects if the first worker does not become ready', async (t) => {
  const server = await ownServer(t);
  const workerArg = { 'start-1': [['after', 'never']] };
  const limits = { workerStartTimeoutMs: 500 };
  await t.throwsAsync(server.start({ workerPath, threads: 1, workerArg, limits }), {
    code: 'ERR_MILLRACE_WORKER_FAILED',
    message: /not ready after 500 ms/,
  });
});

test('a stopped server replaces no workers, even while another one runs', async (t) => {
  const server = await planned(t, {});
  const { handle, addresses } = await server.start({});
  await server.stop();
  await t.throwsAsync(server.replaceWorkers(), { code: 'ERR_MILLRACE_NOT_RUNNING', message: /this server/ });
  await server.replaceWorkers(handle);
  t.is(await says(t, server, addresses[0]), 'worker 2');
});

test('a replacement that is still starting when the successor is ready is ended without an error', async (t) => {
  const server = await bereft(t, { 'start-2': [['after', 'never']] });
  await server.replaceWorkers();
  t.is(await says(t, server), 'worker 3');
  t.deepEqual(
    (await server.errors()).map(({ code }) => code),
    ['ERR_MILLRACE_WORKER_EXITED'],
  );
  t.is(await workerCount(server), 1);
});

test('errors of handleStop are reported when a worker is stopped and when it is replaced', async (t) => {
  const server = await planned(t, { 'stop-1': [['throws', 'the first']], 'stop-2': [['throws', 'the second']] });
  await server.replaceWorkers();
  await reported(t, server, 'ERR_MILLRACE_HANDLER_FAILED', /^handleStop failed: the first/);
  await server.stop();
  await reported(t, server, 'ERR_MILLRACE_HANDLER_FAILED', /^handleStop failed: the second/);
});

test('errors of handleClose in a worker that is being replaced are reported', async (t) => {
  const server = await planned(t, { 'close-1': [['throws', 'on purpose']] });
  const client = await open(t, server);
  await server.replaceWorkers();
  t.is((await client.closed()).code, 1012);
  await reported(t, server, 'ERR_MILLRACE_HANDLER_FAILED', /^handleClose failed for socket \d+: on purpose/);
});

test('a worker that exits while it is being stopped is reported and not replaced', async (t) => {
  const server = await planned(t, { 'stop-1': [['exits', 7]] });
  await server.stop();
  await reported(t, server, 'ERR_MILLRACE_WORKER_EXITED', /exit code 7/);
  t.deepEqual(await starts(server), ['start-1']);
});

for (const how of ['stop', 'replaceWorkers']) {
  test(`${how}: a worker whose handleStop blocks its thread is terminated and reported`, async (t) => {
    const server = await planned(t, { 'stop-1': [['spins']] }, { limits: { handlerTimeoutMs: 300 } });
    await server[how]();
    await reported(t, server, 'ERR_MILLRACE_WORKER_UNRESPONSIVE', /^worker 1 did not end within 1100 ms, terminating$/);
    t.is((await server.errors()).length, 1);
  });
}

test('an old worker that hangs is terminated after workerTimeoutMs and not replaced again', async (t) => {
  const server = await planned(t, { 'close-1': [['spins']] }, { limits: { workerTimeoutMs: 3000 } });
  const client = await open(t, server);
  await server.replaceWorkers();
  t.is((await client.closed()).code, 1012);
  await reported(t, server, 'ERR_MILLRACE_WORKER_UNRESPONSIVE', /^worker 1 unresponsive/);
  t.is(await says(t, server), 'worker 2');
  t.deepEqual(await starts(server), ['start-1', 'start-2']);
});
