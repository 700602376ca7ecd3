// Popular Redis clients: each runs one script against a real redis-server and against Millrace in every runtime, with
// equal results.
import { execFile, spawn } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import Ioredis from 'ioredis';
import { createClient } from 'redis';

import { toolPath } from '../../scripts/optional-tools.mjs';
import { until, within } from '../support/deadline.mjs';
import { needing } from '../support/needing.mjs';
import { likeRedis, Redis } from '../support/redis.mjs';
import { inEach } from '../support/runtimes.mjs';
import { ownServer, worker } from '../support/server.mjs';
import { exitOf } from '../support/teardown.mjs';

const run = promisify(execFile);
const here = path.dirname(fileURLToPath(import.meta.url));
const redis = Redis.of(test);
const withRedis = likeRedis(test.serial);

/** Runs a script against redis-server and against Millrace in each runtime: equal results. `tools`: what it needs. */
function same(title, script, ...tools) {
  inEach({ serial: needing(withRedis, ...tools) }, title, async (t, { launch }) => {
    const bind = { address: '127.0.0.1:0', protocol: 'resp' };
    const server = await launch({ workerPath: worker('echo'), threads: 1, ioThreads: 2, bind });
    const port = Number(server.addresses[0].split(':')[1]);
    await redis.cli('FLUSHALL');
    const expected = await script(t, redis.port);
    t.deepEqual(await script(t, port), expected);
  });
}

/** Publishes until a subscriber has received it: some clients do not report when they are subscribed. */
async function receivedBy(count, received) {
  await until(
    () => received.length >= count,
    () => `${count} messages, not ${JSON.stringify(received)}`,
  );
}

const message = ({ message: text }) => text;

same('ioredis', async (t, port) => {
  const clients = [new Ioredis(port, { lazyConnect: true }), new Ioredis(port, { lazyConnect: true })];
  t.teardown(() => clients.map((client) => client.disconnect()));
  const [client, subscriber] = clients;
  const received = [];
  subscriber.on('message', (...words) => received.push(words));
  subscriber.on('pmessage', (...words) => received.push(words));
  await Promise.all(clients.map((one) => one.connect()));
  const results = [
    await client.ping(),
    await client.set('k', 'v'),
    await client.get('k'),
    await client.mset({ a: 1, b: 2 }),
    await client.mget('a', 'b', 'c'),
    await client.incrby('n', 5),
    await client.del('a', 'b'),
    await client.keys('*').then((keys) => keys.toSorted()),
    await client.scan(0).then(([cursor, keys]) => [cursor, keys.toSorted()]),
    await client.get('k', 'too many').catch(message),
    await client.call('nosuch').catch(message),
    await client
      .pipeline()
      .set('p', 1)
      .incr('p')
      .incr('k')
      .get('p')
      .exec()
      .then((all) => all.map(String)),
    await subscriber.subscribe('one', 'two'),
    await subscriber.psubscribe('t*'),
    await client.publish('one', 'grüße'),
    await client.publish('two', Buffer.from('bytes')),
  ];
  await receivedBy(3, received);
  results.push(await subscriber.unsubscribe('one', 'two'), await subscriber.punsubscribe('t*'));
  results.push(received, await subscriber.ping(), await client.quit());
  return results;
});

for (const RESP of [2, 3]) {
  same(`node-redis, RESP${RESP}`, async (t, port) => {
    const client = createClient({ url: `redis://127.0.0.1:${port}`, RESP });
    client.on('error', () => {});
    await client.connect();
    const subscriber = await client
      .duplicate()
      .on('error', () => {})
      .connect();
    t.teardown(() => [client, subscriber].map((one) => one.isOpen && one.destroy()));
    const received = [];
    const hear = (...words) => received.push(words);
    const results = [
      await client.ping(),
      await client.set('k', 'v'),
      await client.set('k', 'w', { condition: 'NX' }),
      await client.get('k'),
      await client.mGet(['k', 'nothing']),
      await client.incrBy('n', 5),
      await client.exists(['k', 'n', 'x']),
      await client.getDel('k'),
      await client.dbSize(),
      await client.sendCommand(['GET']).catch(({ message: text }) => text),
      await Promise.all([client.set('p', '1'), client.incr('p'), client.get('p')]),
      await subscriber.subscribe('one', hear),
      await subscriber.pSubscribe('t*', hear),
      await subscriber.sSubscribe('shard', hear),
      await client.publish('one', 'grüße'),
      await client.publish('two', 'pattern'),
      await client.sPublish('shard', 'sharded'),
      await client.pubSubChannels(),
      await client.pubSubNumPat(),
    ];
    await receivedBy(3, received);
    await subscriber.unsubscribe('one');
    await subscriber.pUnsubscribe();
    await subscriber.sUnsubscribe('shard');
    results.push(received, await subscriber.ping(), await client.publish('one', 'nobody'));
    await Promise.all([client.close(), subscriber.close()]);
    return results;
  });
}

same(
  "Python's redis",
  async (_t, port) => {
    const script = path.join(here, '../support/resp_script.py');
    const { stdout } = await run(toolPath('python3 with redis'), [script, String(port)]);
    return JSON.parse(stdout);
  },
  'python3 with redis',
);

/** What redis-cli prints for these lines on its input. */
async function cli(t, port, lines, args = []) {
  const child = spawn(toolPath('redis-cli'), ['-p', String(port), ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
  t.teardown(() => child.kill());
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (printed += chunk));
  child.stdin.end(`${lines.join('\n')}\n`);
  t.is(await within(exitOf(child), 'the end of redis-cli'), 0, printed);
  return printed;
}

/** The output of HELLO, without the values that differ. */
const withoutIds = (printed) => printed.replace(/^(version|id) .+$/gm, '$1');

same('redis-cli, typed at', async (t, port) => [
  await cli(t, port, ['PING', 'SET k "a b\\n"', 'GET k', 'GET', 'nosuch a b', 'SELECT 1x', 'DEL k', 'QUIT']),
  await cli(t, port, ['HELLO 3 SETNAME me', 'CLIENT GETNAME', 'GET nothing', 'PUBSUB NUMSUB a'], ['-3']).then(
    withoutIds,
  ),
  await cli(t, port, ['PUBLISH a b', 'INCR n', 'MGET n x'], ['--csv']),
]);

withRedis('redis-cli gets an error for MONITOR, and can subscribe', async (t) => {
  const bind = { address: '127.0.0.1:0', protocol: 'resp' };
  const server = await ownServer(t, { workerPath: worker('echo'), threads: 1, ioThreads: 1, bind });
  const port = server.addresses[0].split(':')[1];
  t.regex(await cli(t, port, ['MONITOR', 'PING']), /ERR MONITOR is not supported here.*\n+PONG/s);
  const args = ['-p', port, 'SUBSCRIBE', 'room'];
  const child = spawn(toolPath('redis-cli'), args, { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => child.kill());
  let printed = '';
  child.stdout.on('data', (chunk) => (printed += chunk));
  await until(async () => (await server.call('send', 'room', 'hello')) > 0, 'redis-cli to subscribe');
  await until(
    () => printed.includes('message\nroom\nhello\n'),
    () => `the message in ${printed}`,
  );
  t.true(printed.startsWith('subscribe\nroom\n1\n'));
});

needing(withRedis, 'redis-benchmark')('redis-benchmark completes', async (t) => {
  const bind = { address: '127.0.0.1:0', protocol: 'resp' };
  const server = await ownServer(t, { workerPath: worker('echo'), threads: 1, ioThreads: 1, bind });
  const port = server.addresses[0].split(':')[1];
  const tests = 'set,get,ping_inline,ping_mbulk,incr,mset';
  for (const more of [[], ['-P', '16', '-3']]) {
    const args = ['-p', port, '-t', tests, '-n', '2000', '-q', '--csv', ...more];
    const { stdout } = await run(toolPath('redis-benchmark'), args);
    t.is(stdout.trim().split('\n').length, 7, stdout);
  }
});
