// Limits for Redis clients that send invalid requests, send too much, or never read. Other clients are not affected.
import test from 'ava';

import { again, until } from '../support/deadline.mjs';
import { connect, request } from '../support/resp.mjs';
import { ownServer, worker } from '../support/server.mjs';

const options = (limits, more) => ({
  workerPath: worker('echo'),
  threads: 1,
  ioThreads: 1,
  bind: { address: '127.0.0.1:0', protocol: 'resp', limits, ...more },
});
const over = (t, server) => connect(t, server.addresses[0]);

test('announced lengths allocate no memory', async (t) => {
  const server = await ownServer(t, options({ messageBytes: 2 ** 31 - 1 }));
  const clients = await Promise.all(Array.from({ length: 50 }, () => over(t, server)));
  for (const client of clients) await client.ask('PING');
  const { rss } = await server.usage();
  for (const client of clients) client.send(Buffer.from('*1048576\r\n$1000000000\r\nx'));
  const other = await over(t, server);
  t.is(await other.ask('PING'), '+PONG\r\n');
  t.true((await server.usage()).rss < rss + 20 * 2 ** 20);
});

test('an argument over messageBytes is refused with the same error as in Redis', async (t) => {
  const server = await ownServer(t, options({ messageBytes: 1000 }));
  const client = await over(t, server);
  t.is(await client.ask('ECHO', 'x'.repeat(1000)), `$1000\r\n${'x'.repeat(1000)}\r\n`);
  client.send(Buffer.from('*2\r\n$4\r\nECHO\r\n$1001\r\n'));
  t.is(await client.next(), '-ERR Protocol error: invalid bulk length\r\n');
  await client.over();
});

test('the total size of all arguments is limited, too', async (t) => {
  const server = await ownServer(t, options({ messageBytes: 1000 }));
  const client = await over(t, server);
  client.send(...['MSET', ...Array.from({ length: 400 }, () => 'x'.repeat(900))]);
  t.is(await client.next(), '-ERR Protocol error: too big request\r\n');
  await client.over();
});

test('stored values are limited: above keysBytes clients may only delete', async (t) => {
  const server = await ownServer(t, options({ keysBytes: 10_000 }));
  const client = await over(t, server);
  const oom = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
  t.is(await client.ask('SET', 'a', 'x'.repeat(9000)), '+OK\r\n');
  t.is(await client.ask('SET', 'b', 'x'.repeat(9000)), '+OK\r\n', 'the store was below its limit');
  for (const command of [
    ['SET', 'c', ''],
    ['INCR', 'c'],
    ['MSET', 'c', ''],
    ['SETNX', 'c', ''],
  ]) {
    t.is(await client.ask(...command), oom);
  }
  t.is(await client.ask('EXISTS', 'a', 'b', 'c'), ':2\r\n');
  t.is(await client.ask('DEL', 'a'), ':1\r\n');
  t.is(await client.ask('SET', 'c', ''), '+OK\r\n');
});

test('expired keys free their memory, even if no client reads them', async (t) => {
  const server = await ownServer(t, options({ keysBytes: 10_000 }));
  const client = await over(t, server);
  t.is(await client.ask('SET', 'a', 'x'.repeat(11_000), 'PX', '1'), '+OK\r\n');
  await until(async () => (await client.ask('SET', 'b', 'x')) === '+OK\r\n', 'free memory');
  t.is(await client.ask('DBSIZE'), ':1\r\n');
});

test('a client must authenticate within handshakeTimeoutMs', async (t) => {
  const server = await ownServer(t, options({ handshakeTimeoutMs: 1000, pingIntervalMs: 0 }, { password: 'secret' }));
  const greeted = async () => {
    const client = await over(t, server);
    return { client, reply: await client.ask('AUTH', 'secret') };
  };
  const { client: steady, reply } = await again(greeted, 'a password in time');
  t.is(reply, '+OK\r\n');
  const refused = async () => (await server.call('stats')).refused;
  const before = await refused();
  const [mute, busy] = [await over(t, server), await over(t, server)];
  let ended = false;
  busy.ended.then(() => (ended = true));
  await until(() => {
    // other commands do not extend the deadline
    busy.send('PING');
    busy.send('RESET');
    return ended;
  }, 'the end of a client that sends commands');
  await mute.over();
  t.is(mute.left, '');
  await until(async () => (await refused()) >= before + 2, 'both to be counted');
  t.is(await steady.ask('PING'), '+PONG\r\n');
  // after this command it is unauthenticated again
  t.is(await steady.ask('RESET'), '+RESET\r\n');
  await steady.over();
});

test('without a password clients need not send anything', async (t) => {
  const server = await ownServer(t, options({ handshakeTimeoutMs: 100 }));
  const [mute, other] = [await over(t, server), await over(t, server)];
  await until(async () => / age=[1-9]/.test(await other.ask('CLIENT', 'LIST')), 'the timeout to pass');
  t.is(await mute.ask('PING'), '+PONG\r\n');
});

test('no more commands of a closed client are executed', async (t) => {
  const server = await ownServer(t, options());
  const watcher = await over(t, server);
  await watcher.ask('SET', 'large', 'x'.repeat(100_000));
  // more unread data than the kernel buffers, so that the connection closes slowly
  const gets = Buffer.concat(Array.from({ length: 500 }, () => request('GET', 'large')));
  for (const end of ['close', 'KILL']) {
    const client = await over(t, server);
    const id = Number((await client.ask('CLIENT', 'ID')).slice(1));
    client.pause();
    client.send(Buffer.concat([gets, request('SET', 'late', 'yes')]));
    let seen = 0;
    await until(async () => {
      const before = seen;
      const { messagesIn, outboxBytes } = await server.call('stats');
      seen = messagesIn;
      return seen === before && outboxBytes > 0;
    }, 'the reading to pause');
    if (end === 'close') t.true(await server.call('close', id));
    else t.is(await watcher.ask('CLIENT', 'KILL', 'ID', String(id)), ':1\r\n');
    client.resume();
    await client.over();
    t.is(await watcher.ask('EXISTS', 'late'), ':0\r\n', end);
  }
});

test('a long reply does not count against a slow reader: messages after it wait', async (t) => {
  const server = await ownServer(t, { ...options(), limits: { outboxBytes: 100_000 } });
  const [client, publisher] = [await over(t, server), await over(t, server)];
  await client.ask('HELLO', '3');
  await client.ask('SUBSCRIBE', 'c');
  const large = 'x'.repeat(8_000_000);
  await publisher.ask('SET', 'large', large);
  client.pause();
  client.send('MGET', 'large', 'large', 'large');
  await until(async () => (await server.call('stats')).outboxBytes > 100_000, 'the answer to wait');
  for (let turn = 0; turn < 10; turn++) t.is(await publisher.ask('PUBLISH', 'c', 'x'.repeat(1000)), ':1\r\n');
  client.resume();
  t.is((await client.next()).length, '*3\r\n'.length + 3 * ('$8000000\r\n\r\n'.length + large.length));
  t.true((await client.take(10)).every((message) => message.startsWith('>3\r\n$7\r\nmessage')));
  t.is((await server.call('stats')).overflowCloses, 0);
  // messages still count
  client.pause();
  await until(async () => (await publisher.ask('PUBLISH', 'c', large.slice(0, 90_000))) === ':0\r\n', 'its end');
  await until(async () => (await server.call('stats')).overflowCloses === 1, 'the close to be counted');
});

test('the names that clients set are limited', async (t) => {
  const server = await ownServer(t, options());
  const client = await over(t, server);
  const [fits, long] = ['x'.repeat(1024), 'x'.repeat(1025)];
  const refusal = '-ERR the name is too long\r\n';
  t.is(await client.ask('CLIENT', 'SETNAME', fits), '+OK\r\n');
  t.is(await client.ask('CLIENT', 'SETNAME', long), refusal);
  t.is(await client.ask('HELLO', '3', 'SETNAME', long), refusal);
  t.is(await client.ask('CLIENT', 'SETINFO', 'lib-ver', long), refusal);
  t.is(await client.ask('CLIENT', 'GETNAME'), `$1024\r\n${fits}\r\n`);
});

test('random bytes end only their own connection', async (t) => {
  const server = await ownServer(t, options());
  const steady = await over(t, server);
  let seed = 7;
  for (let round = 0; round < 100; round++) {
    const noise = Buffer.from(
      Array.from({ length: 300 }, () => {
        seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
        return round % 2 ? seed % 256 : '*$:0129\r\n"\'\\x- '.charCodeAt(seed % 17);
      }),
    );
    const client = await over(t, server);
    client.send(noise);
    client.end();
    await client.over();
    t.is(await steady.ask('PING'), '+PONG\r\n');
  }
});

test('a client that does not read its replies is paused until it reads', async (t) => {
  const server = await ownServer(t, options());
  const client = await over(t, server);
  await client.ask('SET', 'k', 'x'.repeat(100_000));
  client.pause();
  const before = (await server.call('stats')).messagesIn;
  const commands = Buffer.concat(Array.from({ length: 2000 }, () => request('GET', 'k')));
  client.send(commands);
  let seen = -1;
  await until(async () => {
    const { messagesIn, outboxBytes } = await server.call('stats');
    const stands = messagesIn === seen && outboxBytes > 0;
    seen = messagesIn;
    return stands;
  }, 'the reading to pause');
  t.true(seen - before < 1000, `${seen - before} commands were taken`);
  const { outboxBytes } = await server.call('stats');
  t.true(outboxBytes < 2 ** 20, `${outboxBytes} bytes are in outboxes`);
  client.resume();
  const replies = await client.take(2000);
  t.true(replies.every((reply) => reply.length === 100_011));
});

test('a subscriber that does not read is closed when its outbox is full', async (t) => {
  const server = await ownServer(t, { ...options(), limits: { outboxBytes: 100_000 } });
  const slow = await over(t, server);
  await slow.ask('SUBSCRIBE', 'c');
  slow.pause();
  const publisher = await over(t, server);
  const payload = 'x'.repeat(100_000);
  await until(async () => (await publisher.ask('PUBLISH', 'c', payload)) === ':0\r\n', 'the subscriber to be closed');
  const closes = async () => (await server.call('stats')).overflowCloses;
  await until(async () => (await closes()) > 0, 'the close to be counted');
  t.is(await closes(), 1);
});

test('the server pauses a publisher while I/O threads are behind, and no message is lost', async (t) => {
  const server = await ownServer(t, { ...options(), ioThreads: 2, limits: { shardInboxBytes: 65_536 } });
  const subscribers = await Promise.all(Array.from({ length: 40 }, () => over(t, server)));
  for (const subscriber of subscribers) await subscriber.ask('SUBSCRIBE', 'c');
  const before = subscribers.map(({ received }) => received);
  const publisher = await over(t, server);
  const count = 10_000;
  publisher.send(Buffer.concat(Array.from({ length: count }, () => request('PUBLISH', 'c', 'x'.repeat(100)))));
  const replies = await publisher.take(count);
  t.true(replies.every((reply) => reply === ':40\r\n'));
  const bytes = count * ('*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$100\r\n\r\n'.length + 100);
  await until(
    () => subscribers.every(({ received }, index) => received - before[index] === bytes),
    () => `${bytes} bytes for each, not ${subscribers.map(({ received }) => received)}`,
  );
  t.is((await server.call('stats')).deliveriesRefused, 0);
});

test('subscriptions are limited', async (t) => {
  const server = await ownServer(t, options({ subscriptionsPerSocket: 3 }));
  const client = await over(t, server);
  client.send('SUBSCRIBE', 'a', 'b', 'c');
  await client.take(3);
  t.regex(await client.ask('SUBSCRIBE', 'd'), /^-ERR .*3 subscriptions/);
  t.is(await client.ask('SUBSCRIBE', 'a'), '*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:3\r\n');
  t.regex(await client.ask('PSUBSCRIBE', 'p*'), /^-ERR /);
});

test('a SUBSCRIBE beyond subscriptionsPerSocket is refused completely', async (t) => {
  const server = await ownServer(t, options({ subscriptionsPerSocket: 3 }));
  const [client, other] = [await over(t, server), await over(t, server)];
  t.regex(await client.ask('SUBSCRIBE', 'a', 'b', 'c', 'd'), /^-ERR .*3 subscriptions/);
  t.is(await other.ask('PUBSUB', 'CHANNELS'), '*0\r\n', 'none of it took effect');
  // a channel that is named twice, or is already subscribed, counts once
  client.send('SUBSCRIBE', 'a', 'b', 'a');
  await client.take(3);
  client.send('SUBSCRIBE', 'b', 'c', 'a', 'c');
  await client.take(4);
  t.is(client.left, '');
});

test('a SUBSCRIBE with a name that is too long is refused completely', async (t) => {
  const server = await ownServer(t, options());
  const [client, other] = [await over(t, server), await over(t, server)];
  t.regex(await client.ask('SUBSCRIBE', 'a', 'x'.repeat(64 * 1024 + 1)), /^-ERR the channel's name is too long/);
  t.regex(await client.ask('PSUBSCRIBE', 'p*', 'x'.repeat(1025)), /^-ERR /);
  t.is(await other.ask('PUBSUB', 'CHANNELS'), '*0\r\n');
  t.is(await other.ask('PUBSUB', 'NUMPAT'), ':0\r\n');
});

test('messagesPerSecond slows a client down', async (t) => {
  const server = await ownServer(t, options({ messagesPerSecond: 10 }));
  const client = await over(t, server);
  const started = performance.now();
  client.send(Buffer.concat(Array.from({ length: 25 }, () => request('PING'))));
  await client.take(25);
  t.true(performance.now() - started > 1000);
});

test('a connection above the limit for its address gets an error', async (t) => {
  const server = await ownServer(t, { ...options(), limits: { connectionsPerAddress: 2 } });
  const [one, two] = [await over(t, server), await over(t, server)];
  t.is(await one.ask('PING'), '+PONG\r\n');
  t.is(await two.ask('PING'), '+PONG\r\n');
  const three = await over(t, server);
  t.is(await three.next(), '-ERR max number of clients reached\r\n');
  await three.over();
});
