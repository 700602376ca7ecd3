// Two nodes on one Redis: messages published on one reach the other exactly once, whoever publishes; and input from the
// backplane that is not a message does no harm.
import { once } from 'node:events';
import net from 'node:net';
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { hears, linkOf, linkThat, startNodes } from '../support/nodes.mjs';
import { needingRedis, Redis } from '../support/redis.mjs';
import { ask, open } from '../support/server.mjs';
import { encode } from '../support/wire.mjs';

const redis = Redis.of(test);
const withRedis = needingRedis(test);

/** Each test uses its own names on the shared server. */
let tests = 0;
const own = () => ({ url: redis.url, prefix: `test${++tests}` });

/** A client of a node that is subscribed to these channels and patterns. */
async function subscriber(t, node, ...channels) {
  const client = await open(t, node);
  for (const channel of channels) await ask(client, { cmd: 'sub', channel: encode(channel) });
  return client;
}

const next = async (client) => (await client.next()).data;

/** Publishes bytes on the Redis, as any client could. */
async function publish(name, payload) {
  const socket = net.connect(redis.port, '127.0.0.1');
  const words = [Buffer.from('PUBLISH'), Buffer.from(name), Buffer.from(payload)];
  const parts = words.flatMap((word) => [Buffer.from(`$${word.length}\r\n`), word, Buffer.from('\r\n')]);
  socket.write(Buffer.concat([Buffer.from('*3\r\n'), ...parts]));
  const [reply] = await once(socket, 'data');
  socket.destroy();
  return Number(reply.toString().slice(1));
}

/** An envelope as nodes write it. */
function envelope({ version = 1, what = 0, node = 1n, stream = 1n, number = 1n, body = '' }) {
  const head = Buffer.alloc(34);
  Buffer.from('\xffmillrac', 'latin1').copy(head);
  head.set([version, what], 8);
  [node, stream, number].forEach((value, index) => {
    head.writeBigUInt64LE(value, 10 + 8 * index);
  });
  return Buffer.concat([head, Buffer.from(body)]);
}

withRedis('a message reaches the subscribers of every node once, with its kind and in order', async (t) => {
  const nodes = await startNodes(t, own());
  const clients = await Promise.all(nodes.map((node) => subscriber(t, node, 'room')));
  await Promise.all(nodes.map((node) => hears(node, 1)));
  t.is(await nodes[0].call('send', 'room', 'grüße'), 1, 'the count is of this node alone');
  await nodes[0].call('send', 'room', Buffer.from([0, 255, 10]));
  const large = 'x'.repeat(300_000);
  await nodes[0].call('send', 'room', large);
  for (const client of clients) {
    t.is(await next(client), 'grüße');
    t.deepEqual(await next(client), Buffer.from([0, 255, 10]));
    t.is(await next(client), large);
  }
  await nodes[1].call('send', 'room', 'and back');
  for (const client of clients) t.is(await next(client), 'and back');
  const [here, there] = await Promise.all(nodes.map(linkOf));
  t.like(here, { state: 'ready', received: 1, missed: 0, duplicates: 0, foreign: 0, dropped: 0, losses: 0 });
  t.like(there, { received: 3, missed: 0, duplicates: 0, malformed: 0 });
  await linkThat(nodes[0], 'has sent all', (link) => link.sent === 3 && link.inFlight === 0);
  for (const client of clients) t.is(client.inbox.length, 0);
});

withRedis('who is in the channel and who has a pattern that it fits each get a message once', async (t) => {
  const link = own();
  const { prefix } = link;
  const nodes = await startNodes(t, link);
  const [room, pattern, both] = [
    await subscriber(t, nodes[1], 'room:1'),
    await subscriber(t, nodes[1], { pattern: 'room:*' }),
    await subscriber(t, nodes[1], 'room:1', { pattern: 'room:?' }),
  ];
  await hears(nodes[1], 3);
  for (const text of ['one', 'two']) await nodes[0].call('send', 'room:1', text);
  // not the node's connection: the server takes the first message to arrive
  await linkThat(nodes[0], 'has sent both', (link) => link.sent === 2 && link.inFlight === 0);
  await publish(`${prefix}:room:1`, 'foreign');
  await nodes[0].call('send', 'room:2', 'three');
  await nodes[0].call('send', 'other', 'nobody');
  for (const text of ['one', 'two', 'foreign']) t.is(await next(room), text);
  for (const text of ['one', 'two', 'foreign', 'three']) t.is(await next(pattern), text);
  const got = [];
  while (got.length < 7) got.push(await next(both));
  t.deepEqual(got.sort(), ['foreign', 'foreign', 'one', 'one', 'three', 'two', 'two']);
  for (const client of [room, pattern, both]) {
    t.deepEqual(await ask(client, { cmd: 'unsub', channel: 'nothing' }), []);
    t.is(client.inbox.length, 0);
  }
  t.like(await linkOf(nodes[1]), { missed: 0, duplicates: 0, malformed: 0 });
});

withRedis('what anybody publishes on the Redis reaches the clients of every node', async (t) => {
  const link = own();
  const { prefix } = link;
  const nodes = await startNodes(t, link);
  const clients = await Promise.all(nodes.map((node) => subscriber(t, node, 'room')));
  await Promise.all(nodes.map((node) => hears(node, 1)));
  t.is((await redis.cli('PUBLISH', `${prefix}:room`, 'hello')).trim(), '2');
  await publish(`${prefix}:room`, Buffer.from([0xff, 1]));
  await publish(`${prefix}:room`, '');
  for (const client of clients) {
    t.deepEqual(await client.next(), { kind: 'text', data: 'hello' });
    t.deepEqual(await client.next(), { kind: 'binary', data: Buffer.from([0xff, 1]) });
    t.deepEqual(await client.next(), { kind: 'text', data: '' });
  }
  t.like(await linkOf(nodes[0]), { received: 3, foreign: 3, missed: 0 });
});

withRedis('hostile bytes from the backplane are counted, and everything goes on', async (t) => {
  const link = own();
  const { prefix } = link;
  const nodes = await startNodes(t, link, { limits: { backplaneMessageBytes: 100_000 } });
  const client = await subscriber(t, nodes[0], 'room');
  await hears(nodes[0], 1);
  const bodies = [
    envelope({ version: 0 }),
    envelope({ version: 2, body: 'later' }),
    envelope({ what: 5 }),
    envelope({ what: 4, body: Buffer.alloc(7) }),
    envelope({ what: 3, body: Buffer.concat([Buffer.alloc(8), Buffer.from([0xff])]) }),
    envelope({ what: 2, body: 'control where there is none' }),
    envelope({ what: 0, body: Buffer.from([0xff]) }),
    envelope({}).subarray(0, 33),
    envelope({}).subarray(0, 8),
    Buffer.alloc(200_000),
  ];
  for (const body of bodies) await publish(`${prefix}:room`, body);
  const controls = [
    'plain',
    Buffer.alloc(0),
    envelope({ what: 1 }),
    envelope({ what: 2 }),
    envelope({ what: 2, body: Buffer.alloc(1000, 3) }),
    envelope({ what: 2, body: Buffer.from([9]) }),
  ];
  for (const body of controls) await publish(`${prefix}!nodes`, body);
  // numbers as high as they get, and the same again
  await publish(
    `${prefix}:room`,
    envelope({ node: 9n, stream: 2n ** 64n - 1n, number: 2n ** 64n - 1n, body: 'highest' }),
  );
  await publish(
    `${prefix}:room`,
    envelope({ node: 9n, stream: 2n ** 64n - 1n, number: 2n ** 64n - 1n, body: 'again' }),
  );
  await publish(`${prefix}:room`, envelope({ node: 9n, number: 5n, body: 'old' }));
  await publish(`${prefix}:room`, 'last');
  t.is(await next(client), 'highest');
  t.is(await next(client), 'last');
  const seen = await linkOf(nodes[0]);
  t.is(seen.malformed, bodies.length + controls.length);
  t.like(seen, { duplicates: 2, foreign: 1, received: 2, losses: 0, state: 'ready' });
  t.deepEqual(await nodes[0].errors(), []);
});

withRedis(
  'names that nobody can be subscribed to harm no pattern, and the empty name fits none but the empty one',
  async (t) => {
    const link = own();
    const { prefix } = link;
    const nodes = await startNodes(t, link, { limits: { backplaneMessageBytes: 100_000 } });
    const client = await subscriber(t, nodes[1], { pattern: '*' });
    await hears(nodes[1], 1);
    const [long, longer] = ['x'.repeat(70_000), 'x'.repeat(300_000)];
    for (const name of [long, longer]) for (const body of ['hello', longer]) await publish(`${prefix}:${name}`, body);
    await publish(`${prefix}:`, 'of nothing');
    await nodes[0].call('send', '', 'of nothing');
    await nodes[0].call('send', 'room', 'last');
    t.is(await next(client), 'last');
    t.like(await linkOf(nodes[1]), { malformed: 4, losses: 0, state: 'ready' });
  },
);

withRedis('a node listens only to what somebody here is subscribed to, and lingers a little', async (t) => {
  const link = own();
  const { prefix } = link;
  const nodes = await startNodes(t, link, { count: 1 });
  const names = async () => (await redis.cli('PUBSUB', 'CHANNELS', `${prefix}:*`)).trim().split('\n').filter(Boolean);
  // the server is told a moment after the node has counted it
  const isLeft = (left) => until(async () => `${await names()}` === left, `Redis to have only "${left}"`);
  t.deepEqual(await names(), []);
  const client = await subscriber(t, nodes[0], 'a', 'b', { pattern: 'p*' });
  await hears(nodes[0], 3);
  t.deepEqual((await names()).sort(), [`${prefix}:a`, `${prefix}:b`]);
  await ask(client, { cmd: 'unsub', channel: 'a' });
  await hears(nodes[0], 2);
  await isLeft(`${prefix}:b`);
  client.destroy();
  await hears(nodes[0], 0);
  await isLeft('');
});

withRedis('all nodes tell how many subscribers a channel has', async (t) => {
  const nodes = await startNodes(t, own());
  await Promise.all([subscriber(t, nodes[0], 'room'), subscriber(t, nodes[1], 'room', 'other')]);
  const info = await until(async () => {
    const answer = await nodes[0].call('clusterInfo', ['room', 'other', 'nothing']);
    // incomplete if the other node is too busy to answer within a second
    return answer.nodes.length === 2 && answer.isComplete && answer;
  }, 'both nodes to know each other');
  t.deepEqual(info.subscribers, [2, 1, 0]);
  t.is(info.nodes[0].isSelf, true);
  t.not(info.nodes[0].id, info.nodes[1].id);
  t.like(info.nodes[1], { isSelf: false, sockets: 1, channels: 2, subscriptions: 2 });
  await nodes[1].end();
  const alone = await until(async () => {
    const answer = await nodes[0].call('clusterInfo');
    return answer.nodes.length === 1 && answer;
  }, 'the other node to be gone');
  t.deepEqual(alone.subscribers, []);
});

withRedis('stopping sends what waits, and says goodbye', async (t) => {
  const nodes = await startNodes(t, own());
  const client = await subscriber(t, nodes[1], 'room');
  await hears(nodes[1], 1);
  for (let n = 0; n < 500; n++) nodes[0].call('send', 'room', `m ${n}`);
  await nodes[0].call('send', 'room', 'last');
  await nodes[0].stop();
  for (let n = 0; n < 500; n++) t.is(await next(client), `m ${n}`);
  t.is(await next(client), 'last');
});

withRedis('the link shows in the state of the gateway', async (t) => {
  const nodes = await startNodes(t, own(), { count: 1, stats: true, metrics: true });
  await nodes[0].call('send', 'room', 'hello');
  await linkThat(nodes[0], 'has sent it', (link) => link.sent === 1);
  const at = (where) => fetch(`http://${nodes[0].addresses[0]}${where}`);
  const { backplane } = await (await at('/stats')).json();
  t.like(backplane, { state: 'ready', sent: 1, subscriptions: 1 });
  t.deepEqual(Object.keys(backplane).sort(), Object.keys(await linkOf(nodes[0])).sort());
  const metrics = await (await at('/metrics')).text();
  t.regex(metrics, /^millrace_backplane_up 1$/m);
  t.regex(metrics, /^millrace_backplane_published_total\{result="sent"\} 1$/m);
  t.regex(metrics, /^millrace_backplane_messages_total\{result="missed"\} 0$/m);
});
