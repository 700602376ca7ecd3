// Many peers that begin a request and do not complete it: others are answered, and an incomplete head costs only its
// received bytes. MILLRACE_SLOW_HEADS sets how many (default 2,000).
import { once } from 'node:events';
import net from 'node:net';

import test from 'ava';

import { until } from '../support/deadline.mjs';
import { connectOptions, exchange } from '../support/http.mjs';
import { ownServer, worker } from '../support/server.mjs';

const COUNT = Number(process.env.MILLRACE_SLOW_HEADS ?? 2_000);
const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

test.serial(`${COUNT} half heads`, async (t) => {
  t.timeout(600_000);
  const server = await ownServer(t, {
    workerPath: worker('echo'),
    threads: 1,
    limits: { handshakeTimeoutMs: 86_400_000, firstRequestTimeoutMs: 86_400_000 },
  });
  const [address] = server.addresses;
  for (let round = 0; round < 50; round++) await exchange(address, GET);
  const before = (await server.usage()).rss;
  const slow = [];
  t.teardown(() => {
    for (const socket of slow) socket.destroy();
  });
  while (slow.length < COUNT) {
    const batch = Array.from({ length: Math.min(100, COUNT - slow.length) }, () =>
      net.connect(connectOptions(address)),
    );
    await Promise.all(batch.map((socket) => once(socket, 'connect')));
    for (const socket of batch) {
      socket.on('error', () => {});
      socket.write('GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ');
    }
    slow.push(...batch);
  }
  await until(async () => (await server.call('stats')).connections >= COUNT, 'all of them');
  for (let round = 0; round < 5; round++) {
    for (const socket of slow) socket.write('y');
    t.is((await exchange(address, GET)).status, 426);
  }
  const each = ((await server.usage()).rss - before) / COUNT;
  t.log(`${Math.round(each)} bytes for each`);
  t.true(each < 8 * 1024, `${each} bytes for each`);
});
