// A channel with many members: event streams over HTTP/2, so that each of them is a socket without a descriptor of its own.
import ava from 'ava';

import { Authority } from '../support/certificates.mjs';
import { until } from '../support/deadline.mjs';
import { FrameConnection, frame, get, SETTINGS, settings, widen } from '../support/http2-frames.mjs';
import { needing } from '../support/needing.mjs';
import { answer, ask } from '../support/presence.mjs';
import { ownServer, worker } from '../support/server.mjs';
import { speak } from '../support/v1.mjs';

/** It needs certificates. */
const test = needing(ava, 'openssl');
let identity;
const authority = Authority.of(test, async (made) => {
  identity = await made.issue();
});

const FULL = process.env.MILLRACE_TEST_PRESENCE === 'full';
/** Members by connection, of which there are several. */
const EACH = 10_000;
const CONNECTIONS = FULL ? 10 : 2;
const CHANNEL = 'room:crowd';

/** Opens so many streams on one connection, each a member. */
async function members(t, server) {
  const connection = new FrameConnection(t, server.addresses[0], authority.ca);
  connection.write(settings([4, 2 ** 20]), widen(0, 2 ** 30));
  await connection.settle();
  // the server's own settings are here, and are acknowledged
  connection.write(frame(SETTINGS, 1, 0));
  for (let first = 0; first < EACH; first += 500) {
    const some = Array.from({ length: 500 }, (_, index) => get(2 * (first + index) + 1, `/events?channel=${CHANNEL}`));
    connection.write(...some);
    await connection.settle();
    connection.seen = Buffer.alloc(0);
  }
  return connection;
}

test('a channel has more members than a page, for JavaScript and for clients', async (t) => {
  t.timeout(FULL ? 600_000 : 120_000);
  const server = await ownServer(t, {
    bind: [
      { address: '127.0.0.1:0', tls: identity.files, events: true, limits: { http2Streams: EACH } },
      { address: '127.0.0.1:0' },
    ],
    workerPath: worker('no-handlers'),
    threads: 1,
    ioThreads: 2,
    channels: { 'room:*': { presence: true, clients: { subscribe: true, info: true } } },
    limits: { connections: 200_000 },
  });
  const connections = [];
  for (let count = 0; count < CONNECTIONS; count++) connections.push(await members(t, server));
  const all = EACH * CONNECTIONS;
  const counted = async () => (await server.call('presenceCount', CHANNEL)).sockets;
  await until(async () => (await counted()) === all, `${all} members`);
  t.deepEqual(await server.run('crowd', CHANNEL, false), {
    count: { members: 1, sockets: all },
    members: all,
    isSorted: true,
    areRight: true,
    said: 1,
  });
  t.deepEqual(await server.run('crowd', CHANNEL, true), {
    count: { members: 100, sockets: all },
    members: all,
    isSorted: true,
    areRight: true,
    said: 100,
  });
  const client = await speak(t, server, { address: server.addresses[1] });
  t.is((await answer(client, { t: 'sub', c: CHANNEL, info: 'last' }))[0].t, 'ok');
  const seen = new Set();
  for (let after, more = true; more; ) {
    const [header, page] = await ask(client, { c: CHANNEL, limit: 1000, after });
    for (const { s } of page) seen.add(s);
    more = header.more === true;
    after = page.at(-1).s;
    t.true(page.length === 1000 || !more);
  }
  t.is(seen.size, all + 1);
  // one connection ends, and with it its members
  connections[0].socket.destroy();
  const left = all - EACH + 1;
  await until(async () => (await counted()) === left, `${left} members`);
  const { members: read, isSorted } = await server.run('crowd', CHANNEL, false);
  t.deepEqual([read, isSorted], [left, true]);
  // the client was told of numbers, not of each
  const told = client.told ?? [];
  await until(async () => {
    told.push(...(await client.all()).map(([header]) => header));
    return told.at(-1)?.n === left;
  }, 'the last number');
  t.true(told.every(({ t: type }) => type === 'count'));
});
