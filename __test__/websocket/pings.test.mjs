// Pings that an application sends and gets, and connections that it ends without a closing handshake.
import test from 'ava';

import { ask, callIn, forgotten, member, open, ownServer, sharedServer, worker } from '../support/server.mjs';

const pinged = sharedServer(test, { workerPath: worker('pings'), threads: 1 });
const commanded = sharedServer(test, { workerPath: worker('commands'), threads: 1 });

test('a ping is answered, and reaches handlePing with its data in order with messages', async (t) => {
  const client = await open(t, pinged);
  client.send('before');
  client.ping('data');
  client.ping('');
  client.send('after');
  t.deepEqual([await client.text(), await client.text()], ['before', 'ping token data']);
  t.deepEqual([await client.text(), await client.text()], ['ping token nothing', 'after']);
  t.deepEqual([String(await client.pong()), String(await client.pong())], ['data', '']);
});

test('a pong that is not empty reaches handlePong, whoever asked for it', async (t) => {
  const client = await open(t, pinged);
  client.frame({ opcode: 10, payload: 'unasked' });
  client.frame({ opcode: 10, payload: '' });
  client.send('after');
  t.deepEqual([await client.text(), await client.text()], ['pong token unasked', 'after']);
});

test('the pings of the gateway itself reach no handler', async (t) => {
  const limits = { pingIntervalMs: 20 };
  const server = await ownServer(t, { workerPath: worker('pings'), threads: 1, limits });
  const client = await open(t, server);
  await client.when(() => client.pings.length >= 3, 'three pings');
  client.send('after');
  t.is(await client.text(), 'after');
});

test('ping sends the data behind what was sent before', async (t) => {
  const client = await member(t, commanded);
  t.true(await callIn(client, 'ping', client.id, 'text'));
  t.true(await callIn(client, 'ping', client.id, Buffer.alloc(125, 'x')));
  t.true(await callIn(client, 'ping', client.id));
  t.deepEqual(client.pings.map(String), ['text', 'x'.repeat(125), '']);
  await t.throwsAsync(callIn(client, 'ping', client.id, Buffer.alloc(126)), {
    name: 'TypeError',
    message: "argument 'data' must be at most 125 bytes, not 126",
  });
  await t.throwsAsync(callIn(client, 'ping', 'x'), { name: 'TypeError', message: /argument 'socketId'/ });
  t.false(await callIn(client, 'ping', 2 ** 40));
});

test('pings without a handler are only answered', async (t) => {
  const client = await member(t, commanded);
  client.ping('a');
  client.frame({ opcode: 10, payload: 'b' });
  t.is(String(await client.pong()), 'a');
  t.is((await ask(client, { cmd: 'whoami' })).id, client.id);
});

test('terminate ends a connection without a close frame', async (t) => {
  const [one, two] = [await member(t, commanded), await member(t, commanded)];
  t.true(await callIn(one, 'terminate', two.id));
  t.like(await two.closed(), { code: 1006 });
  await forgotten(commanded, two.id);
  t.false(await callIn(one, 'terminate', two.id));
  await t.throwsAsync(callIn(one, 'terminate'), { name: 'TypeError', message: /argument 'socketId'/ });
});
