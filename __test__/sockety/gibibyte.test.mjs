// A gibibyte through Sockety, as a file and as a stream, each way: it arrives whole, and neither side grows much.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import test from 'ava';

import { within } from '../support/deadline.mjs';

const SCRIPT = fileURLToPath(new URL('../support/scripts/sockety-gibibyte.mjs', import.meta.url));

function start(t, ...args) {
  const child = fork(SCRIPT, args, { execArgv: [] });
  t.teardown(() => child.kill('SIGKILL'));
  return child;
}

test('a file and a stream of 1 GiB, each way, in little memory', async (t) => {
  t.timeout(300_000);
  const server = start(t);
  const [port] = await within(once(server, 'message'), 'the server');
  const client = start(t, String(port));
  const results = [];
  client.on('message', (result) => results.push(result));
  const [code] = await once(client, 'exit');
  t.is(code, 0);
  t.deepEqual(
    results.map(({ way, whole }) => [way, whole]),
    ['file', 'stream', 'file, please', 'stream, please'].map((way) => [way, true]),
  );
  for (const { way, grown } of results) {
    t.log(`${way}: grew by ${grown.map((growth) => growth.toFixed(1)).join(' and ')} MiB`);
    t.true(Math.max(...grown) < 64, `${way}: ${grown} MiB`);
  }
});
