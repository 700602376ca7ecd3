// Redis with Sentinels: real ones, which are asked for the master, also after a failover.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { hears, linkOf, startNodes } from '../support/nodes.mjs';
import { freePort } from '../support/ports.mjs';
import { needingRedis, Redis } from '../support/redis.mjs';
import { Sentinel } from '../support/redis-sentinel.mjs';
import { ask, open, ownServer, worker } from '../support/server.mjs';
import { encode } from '../support/wire.mjs';

const withRedis = needingRedis(test.serial);
const options = (backplane) => ({ workerPath: worker('backplane'), threads: 1, ioThreads: 1, backplane });

async function subscriber(t, node, channel) {
  const client = await open(t, node);
  await ask(client, { cmd: 'sub', channel: encode(channel) });
  return client;
}

/** Waits until a Sentinel's report about the master has this value. */
const reported = (sentinel, field, value) =>
  until(
    async () => {
      const lines = (await sentinel.cli('-p', String(sentinel.port), 'SENTINEL', 'MASTER', 'chat')).split('\n');
      return lines[lines.indexOf(field) + 1]?.trim() === value;
    },
    () => `a Sentinel that reports ${field} ${value}`,
  );

withRedis('nodes use the master that a Sentinel knows, and the next one after a failover', async (t) => {
  const master = await Redis.with(t);
  const replica = await Redis.with(t, ['--replicaof', '127.0.0.1', String(master.port)]);
  const sentinel = await Sentinel.with(t, 'chat', master);
  const asked = { cli: (...words) => replica.cli(...words), port: sentinel.port };
  await reported(asked, 'num-slaves', '1');
  // the first of them does not answer
  const url = `redis+sentinel://127.0.0.1:${await freePort()},${sentinel.address}/chat`;
  const nodes = await startNodes(t, url);
  const far = await subscriber(t, nodes[1], 'room');
  await hears(nodes[1], 1);
  await nodes[0].call('send', 'room', 'before');
  t.is((await far.next()).data, 'before');
  // only now: on a busy machine the master may be silent for as long before
  await replica.cli('-p', String(sentinel.port), 'SENTINEL', 'SET', 'chat', 'down-after-milliseconds', '500');
  await master.stop();
  await reported(asked, 'port', String(replica.port));
  for (const node of nodes) {
    await until(async () => {
      const link = await linkOf(node);
      return link.state === 'ready' && link.losses >= 1;
    }, 'a link to the new master');
  }
  await hears(nodes[1], 1);
  await nodes[0].call('send', 'room', 'behind');
  t.is((await far.next()).data, 'behind');
  t.regex(await replica.cli('PUBSUB', 'CHANNELS', 'millrace:*'), /millrace:room/);
});

/** A master with a password, a Sentinel with another one, and a URL with the first. */
async function withLogins(t) {
  const master = await Redis.with(t, ['--requirepass', 'secret']);
  const lines = ['sentinel auth-pass chat secret', 'requirepass hidden'];
  const sentinel = await Sentinel.with(t, 'chat', master, { lines });
  return { master, sentinel, url: `redis+sentinel://:secret@${sentinel.address}/chat` };
}

/** A node with this backplane reports that, and neither password. */
async function isRefused(t, backplane, said) {
  const refused = await ownServer(t, options(backplane));
  const lost = await until(
    async () => (await refused.errors()).find(({ code }) => code === 'ERR_MILLRACE_BACKPLANE_LOST'),
    'the report',
  );
  t.regex(lost.message, said);
  t.notRegex(lost.message, /secret|hidden/);
}

withRedis('Sentinels and the server have logins of their own', async (t) => {
  const { sentinel, url } = await withLogins(t);
  const node = await ownServer(t, options({ url, sentinel: { password: 'hidden' }, waitMs: 60_000 }));
  t.is((await linkOf(node)).state, 'ready');
  await isRefused(t, { url, sentinel: { password: 'wrong' } }, /WRONGPASS/);
  const withoutPassword = `redis+sentinel://${sentinel.address}/chat`;
  await isRefused(t, { url: withoutPassword, sentinel: { password: 'hidden' } }, /NOAUTH/);
});

withRedis('what is no Sentinel, or knows no such master, is reported', async (t) => {
  const { master, url } = await withLogins(t);
  await isRefused(t, url, /NOAUTH/);
  const unknown = { url: `${url}-room`, sentinel: { password: 'hidden' } };
  await isRefused(t, unknown, /knows no master that is called "chat-room"/);
  await isRefused(t, `redis+sentinel://127.0.0.1:${master.port}/chat`, /refused us/);
});
