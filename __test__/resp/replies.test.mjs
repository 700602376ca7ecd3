// The size of long replies is checked before they are built: if a reply and the unread replies of other clients would
// exceed the limit, the command gets an error and changes nothing.
import test from 'ava';

import { connect, request } from '../support/resp.mjs';
import { ownServer, worker } from '../support/server.mjs';

const MIB = 2 ** 20;
const NO_ROOM = /^-ERR the answer does not fit/;

const options = (outboxesTotalBytes) => ({
  workerPath: worker('echo'),
  threads: 1,
  ioThreads: 1,
  limits: { outboxesTotalBytes },
  bind: { address: '127.0.0.1:0', protocol: 'resp' },
});
const over = (t, server) => connect(t, server.addresses[0]);
const bulk = (text) => `$${text.length}\r\n${text}\r\n`;

test('a reply that would exceed outboxesTotalBytes is an error, and the connection stays open', async (t) => {
  const server = await ownServer(t, options(MIB));
  const client = await over(t, server);
  const [large, half] = ['x'.repeat(2 * MIB), 'y'.repeat(0.75 * MIB)];
  t.is(await client.ask('MSET', 'large', large, 'half', half), '+OK\r\n');
  for (const command of [
    ['GET', 'large'],
    ['MGET', 'half', 'half'],
    ['GETDEL', 'large'],
    ['SET', 'large', 'z', 'GET'],
  ]) {
    t.regex(await client.ask(...command), NO_ROOM, command[0]);
  }
  t.is(await client.ask('EXISTS', 'large'), ':1\r\n', 'a refused command changes nothing');
  t.regex(await client.ask('GETDEL', 'large'), NO_ROOM);
  t.is(await client.ask('GET', 'half'), bulk(half));
  t.is(await client.ask('MGET', 'half', 'none'), `*2\r\n${bulk(half)}$-1\r\n`);
  t.is((await server.call('stats')).overflowCloses, 0);
});

test('lists that would exceed the limit are an error, but clients can read them in parts', async (t) => {
  const server = await ownServer(t, options(MIB));
  const [client, listener] = [await over(t, server), await over(t, server)];
  const names = Array.from({ length: 40 }, (_, index) => `${index}-${'n'.repeat(32 * 1024)}`);
  const values = names.flatMap((name) => [name, '']);
  t.is(await client.ask('MSET', ...values), '+OK\r\n');
  t.regex(await client.ask('KEYS', '*'), NO_ROOM);
  t.regex(await client.ask('SCAN', '0', 'COUNT', '1000'), NO_ROOM);
  t.regex(await client.ask('SCAN', '0', 'COUNT', '10'), /^\*2\r\n/);
  t.is(await client.ask('KEYS', '3-*'), `*1\r\n${bulk(names[3])}`);

  t.regex(await listener.ask('SUBSCRIBE', ...names), NO_ROOM, 'the confirmations are as long as the list');
  t.is(await client.ask('PUBSUB', 'CHANNELS', '3-*'), '*0\r\n');
  for (const half of [names.slice(0, 20), names.slice(20)]) {
    listener.send('SUBSCRIBE', ...half);
    await listener.take(20);
  }
  t.regex(await client.ask('PUBSUB', 'CHANNELS'), NO_ROOM);
  t.is(await client.ask('PUBSUB', 'CHANNELS', '3-*'), `*1\r\n${bulk(names[3])}`);
  t.regex(await client.ask('PUBSUB', 'NUMSUB', ...names), NO_ROOM);
  t.regex(await listener.ask('UNSUBSCRIBE'), NO_ROOM);
  t.is(await client.ask('PUBSUB', 'NUMSUB', names[0]), `*2\r\n${bulk(names[0])}:1\r\n`);
  listener.send('UNSUBSCRIBE', ...names.slice(1, 21));
  await listener.take(20);
  listener.send('UNSUBSCRIBE');
  t.is((await listener.take(20)).length, 20);
  t.is(await client.ask('PUBSUB', 'CHANNELS'), '*0\r\n');
  t.is((await server.call('stats')).overflowCloses, 0);
});

test('a short command cannot request an unlimited reply', async (t) => {
  const server = await ownServer(t, options(MIB));
  const client = await over(t, server);
  const many = Array.from({ length: 3000 }, () => 'client');
  t.regex(await client.ask('COMMAND', 'INFO', ...many), NO_ROOM);
  t.regex(await client.ask('COMMAND', 'DOCS', ...many), NO_ROOM);
  t.is(await client.ask('PING'), '+PONG\r\n');
});

test('the total size of replies to many clients that do not read is limited', async (t) => {
  const server = await ownServer(t, options(16 * MIB));
  const client = await over(t, server);
  t.is(await client.ask('SET', 'k', 'x'.repeat(4 * MIB)), '+OK\r\n');
  const lazy = await Promise.all(Array.from({ length: 20 }, () => over(t, server)));
  for (const one of lazy) {
    one.pause();
    one.send(Buffer.concat(Array.from({ length: 3 }, () => request('GET', 'k'))));
  }
  // the shard answers in order, so this reply comes after all of theirs
  t.is(await client.ask('PING'), '+PONG\r\n');
  t.is((await server.call('stats')).overflowCloses, 0, 'no client is closed because of the requests of others');
  for (const one of lazy) one.resume();
  const replies = (await Promise.all(lazy.map((one) => one.take(3)))).flat();
  t.true(replies.every((reply) => NO_ROOM.test(reply) || reply.length > 4 * MIB));
  t.true(replies.some((reply) => reply.length > 4 * MIB));
});
