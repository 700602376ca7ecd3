// Many short connections leak no descriptors, sockets or subscriptions, and little memory.
import net from 'node:net';

import test from 'ava';

import { until } from '../support/deadline.mjs';
import { close, text } from '../support/frames.mjs';
import { connectOptions, handshakeBytes } from '../support/http.mjs';
import { linuxTests } from '../support/platforms.mjs';
import { ownServer, worker } from '../support/server.mjs';

const MIB = 1024 * 1024;
const BATCH = 50;

/** One connection: handshake, a message, its echo, and one of several ways to end. Resolves when TCP is closed. */
function connection(address, index) {
  return new Promise((resolve, reject) => {
    const socket = net.connect(connectOptions(address));
    let seen = 0;
    socket.on('error', () => {});
    socket.on('close', () =>
      seen > 0 || index % 5 === 4 ? resolve() : reject(new Error(`connection ${index} got nothing`)),
    );
    socket.on('data', (chunk) => {
      seen += chunk.length;
      // The echo ends with the message, the answer to the handshake with an empty line.
      if (!chunk.toString('latin1').endsWith('churn')) return;
      if (index % 5 === 0) socket.write(close(1000));
      else if (index % 5 === 1) socket.end();
      else if (index % 5 === 2) socket.resetAndDestroy();
      else socket.destroy();
    });
    socket.write(Buffer.concat([handshakeBytes(), text('churn')]));
    if (index % 5 === 4) socket.once('connect', () => socket.destroy());
  });
}

async function connections(address, count) {
  for (let done = 0; done < count; done += BATCH) {
    await Promise.all(Array.from({ length: BATCH }, (_, index) => connection(address, done + index)));
  }
}

const quiet = (server) =>
  until(
    async () => Object.keys(await server.call('getDebugState', 'sockets')).length === 0,
    'all sockets to be removed',
  );

linuxTests(test)('5000 short connections leak no descriptors and sockets, and little memory', async (t) => {
  const server = await ownServer(t, { workerPath: worker('commands'), threads: 2 }, { nodeArgs: ['--expose-gc'] });
  await connections(server.addresses[0], 1000);
  await quiet(server);
  const before = await server.usage();
  await connections(server.addresses[0], 5000);
  await quiet(server);
  const after = await until(async () => {
    const usage = await server.usage();
    return usage.descriptors <= before.descriptors && usage;
  }, `descriptors to be back at ${before.descriptors}`);
  t.log(
    `resident ${(before.rss / MIB).toFixed(1)} → ${(after.rss / MIB).toFixed(1)} MiB, descriptors ${after.descriptors}`,
  );
  t.true(after.rss - before.rss < 24 * MIB, `grew by ${(after.rss - before.rss) / MIB} MiB`);
  t.deepEqual(await server.call('getDebugState', 'channels'), []);
});
