// createGateway: isolated instances in one process.
import test from 'ava';

import { ask, callIn, member, ownServer, worker } from '../support/server.mjs';

const options = { workerPath: worker('commands'), threads: 1 };

test('two gateways share nothing', async (t) => {
  const server = await ownServer(t, options);
  const other = await server.start(options, { gateway: 'other' });
  const here = await member(t, server);
  const there = await member(t, server, { address: other.addresses[0] });
  t.deepEqual([here.id, there.id], [1, 1]);
  await ask(here, { cmd: 'sub', channel: 'room' });
  await ask(there, { cmd: 'sub', channel: 'room' });
  t.is(await server.call('send', 'room', 'default'), 1);
  t.is(await server.callOn('other', 'send', 'room', 'other'), 1);
  t.is(await here.text(), 'default');
  t.is(await there.text(), 'other');
  await server.call('setKey', 'k', 'default');
  t.is(await server.callOn('other', 'getKey', 'k'), undefined);
  t.is(Object.keys(await server.callOn('other', 'getDebugState', 'sockets')).length, 1);
});

test('in a worker the module functions belong to the gateway that started it', async (t) => {
  const server = await ownServer(t, options);
  const other = await server.start(options, { gateway: 'other' });
  const there = await member(t, server, { address: other.addresses[0] });
  await callIn(there, 'setKey', 'where', 'other');
  t.is(await server.call('getKey', 'where'), undefined);
  t.is((await server.callOn('other', 'getKey', 'where')).toString(), 'other');
  t.is(await callIn(there, 'send', there.id, 'to myself'), 1);
});

test('stopping one leaves the other running', async (t) => {
  const server = await ownServer(t, options);
  const other = await server.start(options, { gateway: 'other' });
  const here = await member(t, server);
  const there = await member(t, server, { address: other.addresses[0] });
  await server.stop(other.handle);
  t.is((await there.closed()).code, 1001);
  t.is(await ask(here, { cmd: 'ping' }), 'pong');
});

test('a second gateway with threads: 0 beside the default one: each handler gets the right gateway', async (t) => {
  const server = await ownServer(t, { workerPath: worker('commands'), threads: 0 });
  const other = await server.start({ workerPath: worker('own-gateway'), threads: 0 }, { gateway: 'other' });
  const here = await member(t, server);
  const there = await member(t, server, { address: other.addresses[0] }).catch(() => undefined);
  t.is(await ask(here, { cmd: 'ping' }), 'pong');
  t.deepEqual(there?.answered, 'by own gateway');
});
