// The end of all peers of an adapter at once.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { open, ownServer, worker } from '../support/server.mjs';
import { WsClient } from '../support/ws-client.mjs';

for (const threads of [0, 1]) {
  test(`closeAll and close end every connection (threads: ${threads})`, async (t) => {
    const server = await ownServer(t, { workerPath: worker('crossws'), threads });
    const get = async (path) => (await fetch(`http://${server.addresses[0]}${path}`)).json();
    const clients = await Promise.all([open(t, server), open(t, server, { path: '/other' })]);
    t.deepEqual(await get('/close-all'), [2, 2]);
    for (const client of clients) {
      await until(() => client.closeFrame, 'a close frame');
      t.deepEqual(client.closeFrame, { code: 4003, reason: 'all of you' });
    }
    await until(async () => (await get('/namespaces')).length === 0, 'no peers');
    const forced = await open(t, server);
    t.deepEqual(await get('/close-all?force'), [2]);
    t.like(await forced.closed(), { code: 1006 });
    await until(async () => (await get('/namespaces')).length === 0, 'no peers');
  });
}

test('a client that pings do not reach is closed with 1006', async (t) => {
  // long enough for the other one to answer on a busy machine
  const limits = { pingIntervalMs: 50, pongTimeoutMs: 2000 };
  const server = await ownServer(t, { workerPath: worker('crossws'), threads: 0, limits }, { patient: false });
  const alive = await open(t, server);
  const dead = await open(t, server, { autoPong: false });
  t.like(await dead.closed(), { code: 1006 });
  const closed = await until(async () => {
    const all = await (await fetch(`http://${server.addresses[0]}/closed`)).json();
    return all.find(({ code }) => code === 1006);
  }, 'the hook close');
  t.is(closed.readyState, 3);
  alive.send('release-nothing');
  t.false(alive.over);
});

test('a client that leaves while the hook upgrade runs leaves no peer', async (t) => {
  const server = await ownServer(t, { workerPath: worker('crossws'), threads: 0 });
  const headers = { connection: 'close' };
  const get = async (path) => (await fetch(`http://${server.addresses[0]}${path}`, { headers })).json();
  const leaving = new WsClient(server.addresses[0], { path: '/left?upgrade=held' });
  t.teardown(() => leaving.destroy());
  leaving.opened.catch(() => {});
  await until(async () => (await get('/held')) === 1, 'the hook to run');
  leaving.destroy();
  await until(async () => (await server.call('stats')).connections === 0, 'no connection');
  t.is(await get('/go'), 1);
  await until(async () => !(await get('/namespaces')).includes('/left'), 'no peer');
});
