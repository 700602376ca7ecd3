// The log warns where the pages of any site could publish.
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

import { Millrace } from '../support/cli.mjs';
import { until } from '../support/deadline.mjs';
import { worker } from '../support/server.mjs';

const program = path.join(path.dirname(fileURLToPath(import.meta.url)), '../support/log-main.mjs');
const WARNING =
  "the pages of any site can publish here: clients may publish, origins are '*', and no worker has handleOpen";

/** The messages of the warnings of a server that has started. */
async function warnings(t, options) {
  const run = new Millrace(t, [JSON.stringify(options)], { program });
  const lines = () => [...run.out.matchAll(/^LOG (.*)\n/gm)].map(([, json]) => JSON.parse(json));
  await until(
    () => lines().some(({ message }) => message === 'listening'),
    () => `it to listen\n${run.out}${run.err}`,
  );
  run.tell('stop');
  t.is(await run.exit(), 0);
  return lines()
    .filter(({ level }) => level === 'warn')
    .map(({ message }) => message);
}

const channels = { 'room:*': { clients: { subscribe: true, publish: true } } };
const workerPath = worker('no-handlers');

test('clients may publish, any origin may connect, and nobody decides', async (t) => {
  t.deepEqual(await warnings(t, { channels, workerPath }), [WARNING]);
});

test('nothing is said if one of the three is not so', async (t) => {
  t.deepEqual(await warnings(t, { channels, workerPath, origins: 'same-host' }), []);
  t.deepEqual(await warnings(t, { channels }), [], 'this worker has handleOpen');
  const listening = { 'room:*': { clients: { subscribe: true } } };
  t.deepEqual(await warnings(t, { channels: listening, workerPath }), []);
});
