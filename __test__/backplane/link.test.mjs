// The link itself: what happens without it, authentication, the size of its queue, and servers other than plain Redis.
import { once } from 'node:events';
import net from 'node:net';
import test from 'ava';

import { Authority } from '../support/certificates.mjs';
import { until } from '../support/deadline.mjs';
import { Nats, needingNats } from '../support/nats.mjs';
import { needing } from '../support/needing.mjs';
import { hears, linkOf, linkThat, startNodes } from '../support/nodes.mjs';
import { freePort } from '../support/ports.mjs';
import { needingRedis, Redis } from '../support/redis.mjs';
import { ask, open, ownServer, worker } from '../support/server.mjs';
import { encode } from '../support/wire.mjs';

const withRedis = needingRedis(test.serial);
const withRedisAndTls = needing(withRedis, 'openssl');
const withShards = needing(withRedis, 'redis-server of 7.0 or newer');
const withNats = needingNats(test.serial);
const authority = Authority.of(test);
const options = (backplane, more) => ({
  workerPath: worker('backplane'),
  threads: 1,
  ioThreads: 1,
  backplane,
  ...more,
});

async function subscriber(t, node, ...channels) {
  const client = await open(t, node);
  for (const channel of channels) await ask(client, { cmd: 'sub', channel: encode(channel) });
  return client;
}

const next = async (client) => (await client.next()).data;
/** A user who may use no channels but these. */
const RESTRICTED = 'me on >mine ~* resetchannels &millrace!nodes &millrace:open* +@all';
const codes = async (node) => (await node.errors()).map((error) => error.code);
/** A refusal is reported a moment after it is counted. */
const reportedRefusal = (node) =>
  until(async () => (await codes(node)).includes('ERR_MILLRACE_BACKPLANE_REFUSED'), 'the report of a refusal');

withRedis('without a server everything else works, and what was sent arrives when there is one', async (t) => {
  const redis = await Redis.with(t);
  await redis.stop();
  const [here, there] = [await ownServer(t), await ownServer(t)];
  for (const node of [here, there]) await node.start(options(redis.url, { limits: { backplaneQueue: 100 } }));
  const [near, far] = [await subscriber(t, here, 'room'), await subscriber(t, there, 'room')];
  for (let n = 0; n < 250; n++) t.is(await here.call('send', 'room', `m ${n}`), 1);
  for (let n = 0; n < 250; n++) t.is(await next(near), `m ${n}`);
  t.like(await linkOf(here), { state: 'connecting', queued: 100, dropped: 150, sent: 0, losses: 0 });
  await until(async () => (await codes(here)).includes('ERR_MILLRACE_BACKPLANE_DROPPED'), 'the report of drops');
  const lost = (await codes(here)).filter((code) => code === 'ERR_MILLRACE_BACKPLANE_LOST');
  t.is(lost.length, 1, 'attempts in a row are reported once');
  t.like(await here.call('clusterInfo', ['room']), { subscribers: [1], isComplete: false });
  // it waits for a second for nodes that it does not know, and the other one may need as long to try again
  process.kill(here.pid, 'SIGSTOP');
  await redis.launchAgain();
  await hears(there, 1);
  process.kill(here.pid, 'SIGCONT');
  for (let n = 150; n < 250; n++) t.is(await next(far), `m ${n}`);
  await linkThat(here, 'has sent the rest', (link) => link.sent === 100 && link.queued === 0);
});

withRedis('start waits for the link if it is told to, and can be tried again', async (t) => {
  const redis = await Redis.with(t);
  await redis.stop();
  const node = await ownServer(t);
  const late = await t.throwsAsync(node.start(options({ url: redis.url, waitMs: 300 })));
  t.is(late.code, 'ERR_MILLRACE_BACKPLANE_LOST');
  await redis.launchAgain();
  await node.start(options({ url: redis.url, waitMs: 60_000 }));
  t.is((await linkOf(node)).state, 'ready');
});

withRedis(
  'stopping while the server is away drops what waits, and another start may have another server',
  async (t) => {
    const [gone, redis] = [await Redis.with(t), await Redis.with(t)];
    const node = await ownServer(t, options({ url: gone.url, waitMs: 15_000 }));
    const client = await subscriber(t, node, 'room');
    await gone.stop();
    await linkThat(node, 'is lost', (link) => link.state === 'lost');
    for (let n = 0; n < 10; n++) await node.call('send', 'room', `m ${n}`);
    const asked = node.call('clusterInfo', ['room']);
    await node.stop(undefined, { drain: 100 });
    t.like(await asked, { subscribers: [1], isComplete: false });
    client.destroy();
    await node.start(options({ url: redis.url, waitMs: 15_000 }));
    t.like(await linkOf(node), { state: 'ready', queued: 0, dropped: 0, losses: 0 });
    const again = await open(t, node, { address: node.addresses.at(-1) });
    await ask(again, { cmd: 'sub', channel: encode('room') });
    await hears(node, 1);
    await redis.cli('PUBLISH', 'millrace:room', 'hello');
    t.is(await next(again), 'hello');
  },
);

withRedis('the first start fixes the backplane', async (t) => {
  const redis = await Redis.with(t);
  const node = await ownServer(t, options({ url: redis.url, waitMs: 60_000 }));
  await node.start({ backplane: { url: redis.url, waitMs: 5 } });
  await node.start({});
  for (const other of ['redis://127.0.0.1:1', { url: redis.url, prefix: 'other' }]) {
    const error = await t.throwsAsync(node.start({ backplane: other }));
    t.is(error.code, 'ERR_MILLRACE_ALREADY_STARTED');
  }
  const plain = await ownServer(t, options(undefined));
  t.is((await plain.call('stats')).backplane, undefined);
  const error = await t.throwsAsync(plain.start({ backplane: redis.url }));
  t.is(error.code, 'ERR_MILLRACE_ALREADY_STARTED');
  t.like(await plain.call('clusterInfo', ['room']), { subscribers: [0], isComplete: true });
});

withRedis('a cut connection is made again, with every subscription', async (t) => {
  const redis = await Redis.with(t);
  const nodes = await startNodes(t, redis.url);
  const client = await subscriber(t, nodes[1], 'a', 'b', { pattern: 'p*' });
  await hears(nodes[1], 3);
  for (let cut = 1; cut <= 3; cut++) {
    await redis.cli('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await Promise.all(nodes.map((node) => linkThat(node, 'was lost', (link) => link.losses === cut)));
    await linkThat(nodes[0], 'is ready', (link) => link.state === 'ready');
    await hears(nodes[1], 3);
    for (const channel of ['a', 'b', 'pp']) {
      await nodes[0].call('send', channel, `${channel} ${cut}`);
      t.is(await next(client), `${channel} ${cut}`);
    }
  }
});

withRedis('of a Redis and its replica the master is used, also when they have changed places', async (t) => {
  const [one, two] = [await Redis.with(t), await Redis.with(t)];
  await two.cli('REPLICAOF', '127.0.0.1', String(one.port));
  const nodes = await startNodes(t, `redis://127.0.0.1:${two.port},127.0.0.1:${one.port}`);
  const client = await subscriber(t, nodes[1], 'room');
  const isSubscribedAt = async (server) => (await server.cli('PUBSUB', 'NUMSUB', 'millrace:room')).includes('\n1\n');
  await until(() => isSubscribedAt(one), 'the subscription at the master');
  t.false(await isSubscribedAt(two));
  await nodes[0].call('send', 'room', 'before');
  t.is(await next(client), 'before');
  // what Sentinel does when the master is gone
  await two.cli('REPLICAOF', 'NO', 'ONE');
  await one.cli('REPLICAOF', '127.0.0.1', String(two.port));
  for (const type of ['normal', 'pubsub']) await one.cli('CLIENT', 'KILL', 'TYPE', type);
  await until(() => isSubscribedAt(two), 'the subscription at the new master');
  await linkThat(nodes[0], 'has gone there, too', (link) => link.state === 'ready' && link.losses === 1);
  await nodes[0].call('send', 'room', 'after');
  t.is(await next(client), 'after');
  const stray = await ownServer(t, options(one.url));
  await until(async () => (await stray.errors()).some(({ message }) => /it is a replica/.test(message)), 'the report');
});

withRedis('who has the wrong password is told so, without the password', async (t) => {
  const redis = await Redis.with(t, ['--requirepass', 'sesame', '--user', ...'me on >mine ~* &* +@all'.split(' ')]);
  for (const url of [`redis://:sesame@127.0.0.1:${redis.port}`, `redis://me:mine@127.0.0.1:${redis.port}`]) {
    const [node] = await startNodes(t, url, { count: 1 });
    t.is((await linkOf(node)).state, 'ready');
  }
  for (const url of [redis.url, `redis://:wrongword@127.0.0.1:${redis.port}`]) {
    const node = await ownServer(t, options(url));
    const [error] = await until(async () => {
      const errors = await node.errors();
      return errors.length > 0 && errors;
    }, 'the report');
    t.is(error.code, 'ERR_MILLRACE_BACKPLANE_LOST');
    t.regex(error.message, /refused us: (NOAUTH|WRONGPASS)/);
    t.notRegex(error.message, /wrongword/);
  }
});

withRedis('what the server does not allow is reported, and the rest works', async (t) => {
  const redis = await Redis.with(t, ['--user', ...RESTRICTED.split(' ')]);
  const node = await ownServer(t, options({ url: `redis://me:mine@127.0.0.1:${redis.port}`, waitMs: 60_000 }));
  const client = await subscriber(t, node, 'secret', 'open');
  await hears(node, 1);
  await node.call('send', 'secret', 'here');
  t.is(await next(client), 'here');
  const link = await linkThat(node, 'was refused twice', ({ refused }) => refused === 2);
  t.like(link, { pendingSubscriptions: 1, losses: 0 });
  await reportedRefusal(node);
});

withRedisAndTls('TLS, with an authority of our own', async (t) => {
  const { files } = await authority.issue();
  const client = await authority.issue({ client: true, names: ['node'] });
  const tlsPort = await freePort();
  const ca = authority.file('ca.pem');
  const tls = ['--tls-port', String(tlsPort), '--tls-cert-file', files.cert, '--tls-key-file', files.key];
  await Redis.with(t, [...tls, '--tls-ca-cert-file', ca]);
  const nodes = await startNodes(t, { url: `rediss://localhost:${tlsPort}`, tls: { ca, ...client.files } });
  const far = await subscriber(t, nodes[1], 'room');
  await hears(nodes[1], 1);
  await nodes[0].call('send', 'room', 'x'.repeat(100_000));
  t.is((await next(far)).length, 100_000);
  const untrusting = await ownServer(t, options(`rediss://localhost:${tlsPort}`));
  const [error] = await until(async () => {
    const errors = await untrusting.errors();
    return errors.length > 0 && errors;
  }, 'the report');
  t.regex(error.message, /invalid peer certificate: UnknownIssuer/);
});

test.serial('a server that is not a Redis is reported', async (t) => {
  const listener = net.createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  t.teardown(() => listener.close());
  const node = await ownServer(t, options(`redis://127.0.0.1:${listener.address().port}`));
  const [error] = await until(async () => {
    const errors = await node.errors();
    return errors.length > 0 && errors;
  }, 'the report');
  t.regex(error.message, /does not speak the protocol/);
});

withNats('NATS: kinds, patterns, names and whoever else publishes', async (t) => {
  const nats = await Nats.with(t, ['--user', 'me', '--pass', 'sesame']);
  const url = `nats://me:sesame@127.0.0.1:${nats.port}`;
  const nodes = await startNodes(t, url);
  const odd = 'two words.and *>';
  const [room, pattern] = [await subscriber(t, nodes[1], 'room', odd), await subscriber(t, nodes[1], { pattern: '*' })];
  await hears(nodes[1], 3);
  await nodes[0].call('send', 'room', 'text');
  await nodes[0].call('send', 'room', Buffer.from([0xff]));
  await nodes[0].call('send', odd, 'odd');
  for (const client of [room, pattern]) {
    t.is(await next(client), 'text');
    t.deepEqual(await next(client), Buffer.from([0xff]));
    t.is(await next(client), 'odd');
  }
  t.like(await linkOf(nodes[1]), { missed: 0, duplicates: 0, malformed: 0 });
  // the server takes a megabyte
  await nodes[0].call('send', 'room', 'x'.repeat(1_100_000));
  await linkThat(nodes[0], 'has sent all but one', (link) => link.sent === 3 && link.refused === 1);
  await reportedRefusal(nodes[0]);
});

withNats('NATS: a name longer than the server takes is refused, and the link stays', async (t) => {
  const nats = await Nats.with(t);
  const nodes = await startNodes(t, nats.url);
  const long = 'x'.repeat(5000);
  const client = await subscriber(t, nodes[1], long, 'room');
  await hears(nodes[1], 1);
  await nodes[0].call('send', long, 'nowhere');
  await nodes[0].call('send', 'room', 'hello');
  t.is(await next(client), 'hello');
  await nodes[1].call('send', long, 'here');
  t.is(await next(client), 'here');
  await linkThat(nodes[0], 'has sent one and not the other', (link) => link.sent === 1 && link.refused === 1);
  await linkThat(nodes[1], 'has heard both refusals', (link) => link.refused === 2);
  t.like(await linkOf(nodes[1]), { losses: 0, refused: 2, pendingSubscriptions: 1 });
  await reportedRefusal(nodes[1]);
});

withNats('NATS: anybody may publish, and a wrong token is refused', async (t) => {
  const open = await Nats.with(t);
  const [node] = await startNodes(t, open.url, { count: 1 });
  const client = await subscriber(t, node, 'room.1');
  await hears(node, 1);
  await open.publish('millrace.room.1', 'hello');
  t.deepEqual(await client.next(), { kind: 'text', data: 'hello' });
  await open.publish('millrace.room.1', Buffer.from([0xff]));
  t.deepEqual(await client.next(), { kind: 'binary', data: Buffer.from([0xff]) });
  const closed = await Nats.with(t, ['--auth', 'sesame']);
  const refused = await ownServer(t, options(`nats://wrong@127.0.0.1:${closed.port}`));
  await until(async () => (await refused.errors()).some(({ message }) => /Authorization/.test(message)), 'the report');
  await startNodes(t, `nats://sesame@127.0.0.1:${closed.port}`, { count: 1 });
});

/** Three masters that share the slots. */
async function cluster(t) {
  const nodes = [];
  for (let index = 0; index < 3; index++) {
    nodes.push(await Redis.with(t, ['--cluster-enabled', 'yes', '--cluster-port', String(await freePort())]));
  }
  const addresses = nodes.map((node) => `127.0.0.1:${node.port}`);
  await nodes[0].cli('--cluster', 'create', ...addresses, '--cluster-yes');
  for (const node of nodes) {
    await until(async () => /cluster_state:ok/.test(await node.cli('CLUSTER', 'INFO')), 'the cluster');
  }
  return { nodes, url: `redis+cluster://${addresses.join(',')}` };
}

withShards('a Redis cluster: sharded channels over all of its nodes, also when a slot moves', async (t) => {
  const { nodes: servers, url } = await cluster(t);
  const nodes = await startNodes(t, url);
  const rooms = Array.from({ length: 20 }, (_, index) => `room-${index}`);
  const client = await subscriber(t, nodes[1], ...rooms);
  await hears(nodes[1], rooms.length);
  const names = await Promise.all(servers.map((server) => server.cli('PUBSUB', 'SHARDCHANNELS')));
  t.true(
    names.every((list) => list.includes('millrace:room-')),
    'each has some',
  );
  const say = async (text) => {
    for (const room of rooms) await nodes[0].call('send', room, `${room} ${text}`);
  };
  const received = async (count) => {
    const texts = [];
    while (texts.length < count) texts.push(await next(client));
    return texts.sort();
  };
  await say('one');
  t.deepEqual(await received(20), rooms.map((room) => `${room} one`).sort());
  await servers[0].cli('-c', 'SPUBLISH', 'millrace:room-7', 'foreign');
  t.deepEqual(await received(1), ['foreign']);
  t.is(
    (
      await until(async () => {
        const info = await nodes[0].call('clusterInfo', ['room-7']);
        return info.nodes.length === 2 && info.isComplete && info;
      }, 'both nodes to know each other')
    ).subscribers[0],
    1,
  );
  // the slot of one channel goes to another server
  const slot = (await servers[0].cli('CLUSTER', 'KEYSLOT', 'millrace:room-7')).trim();
  const from = names.findIndex((list) => /:room-7$/m.test(list));
  const to = servers[(from + 1) % 3];
  const [fromId, toId] = await Promise.all(
    [servers[from], to].map(async (server) => (await server.cli('CLUSTER', 'MYID')).trim()),
  );
  await to.cli('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId);
  await servers[from].cli('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId);
  for (const server of [to, servers[from]]) await server.cli('CLUSTER', 'SETSLOT', slot, 'NODE', toId);
  await until(
    async () => (await to.cli('PUBSUB', 'SHARDCHANNELS')).includes('millrace:room-7\n'),
    'the channel to move',
  );
  await hears(nodes[1], rooms.length);
  await until(async () => {
    await nodes[0].call('send', 'room-7', 'moved');
    return client.inbox.length > 0;
  }, 'the channel to be heard there');
  t.like(await linkOf(nodes[1]), { losses: 0, duplicates: 0, malformed: 0 });
});
