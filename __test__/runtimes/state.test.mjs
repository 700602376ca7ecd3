// All threads of a process share one native state; a thread that would get another one fails with an error.
import { copyFile, rename } from 'node:fs/promises';

import test from 'ava';

import { until } from '../support/deadline.mjs';
import { posixTests } from '../support/platforms.mjs';
import { inEach, secondCopy } from '../support/runtimes.mjs';
import { callIn, onThreads, open, worker } from '../support/server.mjs';

inEach(
  test,
  'the main thread and 8 workers have one native state, in one image of the addon',
  async (t, { launch }) => {
    const server = await launch({ workerPath: worker('native-state'), threads: 8 });
    const main = await server.run('native-state');
    const keys = await server.call('getDebugState', 'kv');
    t.is(keys.length, 8, 'every worker has set a key that the main thread sees');
    for (const { key } of keys) t.is((await server.call('getKey', key)).toString(), main.state);
    t.is(main.images, 1);
    const clients = await Promise.all(Array.from({ length: 16 }, () => open(t, server)));
    t.is(await server.call('send', 'everybody', 'from the main thread'), 16);
    for (const ws of clients) t.is(await ws.text(), 'from the main thread');
    clients[0].send('everybody');
    for (const ws of clients) t.is((await ws.text()).split(' ')[1], main.state);
  },
);

inEach(
  test,
  'a worker module with its own copy of the package belongs to the gateway that started it',
  async (t, { launch }) => {
    const copy = await secondCopy(t);
    const server = await launch({ workerPath: copy.worker('commands'), threads: 2 });
    const [one, two] = await onThreads(t, server, 2);
    await callIn(one, 'subscribe', [one.id, two.id], 'room');
    t.is(await server.call('send', 'room', 'from the main thread'), 2);
    t.is(await two.text(), 'from the main thread');
    t.is(await callIn(two, 'send', 'room', 'from a worker'), 2);
    t.deepEqual([await one.text(), await one.text()], ['from the main thread', 'from a worker']);
    await t.throwsAsync(callIn(one, 'start', { bind: '127.0.0.1:0' }), { code: 'ERR_MILLRACE_START_IN_WORKER' });
  },
);

inEach(
  test,
  'a worker whose module cache has a stale object for the addon gets its native state',
  async (t, { launch }) => {
    const server = await launch({ workerPath: worker('native-state'), threads: 1 });
    const { state, file } = await server.run('native-state');
    const { message } = await server.run('raw-worker', { stale: [file] });
    t.is(message.type, 'ready', message.error?.message);
    const keys = await server.call('getDebugState', 'kv');
    t.is(keys.length, 2, 'both workers have reported');
    for (const { key } of keys) t.is((await server.call('getKey', key)).toString(), state);
  },
);

inEach(test, 'a worker that cannot get the native state of its gateway has an error code', async (t, { launch }) => {
  const copy = await secondCopy(t);
  const server = await launch();
  const { message, states } = await server.run('raw-worker', { otherAddon: copy.addon });
  t.not(states[0], states[1], 'a copy under another path is another image');
  t.is(message.error?.code, 'ERR_MILLRACE_BINDING_FOREIGN');
  t.regex(message.error.message, /another native addon .* Restart the process/);
});

// on Windows the file of a loaded library cannot be replaced
inEach(
  posixTests(test),
  'if the addon is replaced on disk while the server runs, no worker uses another native state',
  async (t, { launch }) => {
    const copy = await secondCopy(t);
    const server = await launch({ workerPath: copy.worker('native-state'), threads: 1 }, { main: copy.main });
    const before = await server.run('native-state');
    const workerIds = async () => Object.keys(await server.call('getDebugState', 'workers'));
    const [first] = await workerIds();
    // the same bytes in a new file with the old name, as if the package were updated in place
    await copyFile(copy.addon, `${copy.addon}.new`);
    await rename(`${copy.addon}.new`, copy.addon);
    const victim = await open(t, server);
    victim.send('exit');
    t.is((await victim.closed()).code, 1011);
    // some systems use the loaded image for the replacement, because the name is the same; others load the new file
    const foreign = ({ causeCode }) => causeCode === 'ERR_MILLRACE_BINDING_FOREIGN';
    const replaced = async () => (await workerIds()).some((id) => id !== first);
    const failed = async () => (await server.errors()).some(foreign);
    await until(async () => (await replaced()) || (await failed()), 'a replacement, or the report that there is none');
    if (!(await replaced())) return t.deepEqual(await workerIds(), []);
    const ws = await open(t, server);
    ws.send('to me');
    t.is((await ws.text()).split(' ')[1], before.state);
  },
);
