// Channels of which a node keeps less than the store: clients that come back to a position in front of what the node has get
// everything that the store has.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { eventStream } from '../support/event-stream.mjs';
import { Follower, isStore, mortalNodes } from '../support/history-nodes.mjs';
import { Nats, needingNats } from '../support/nats.mjs';
import { needingRedis, Redis } from '../support/redis.mjs';
import { speak } from '../support/v1.mjs';

const redis = Redis.of(test);
const nats = Nats.of(test);

/** A copy has less than a hundredth of what is published here. */
const limited = { limits: { historyBytes: 8 * 1024 } };
const COUNT = 600;
const filler = 'x'.repeat(1500);
const text = (n) => `${n} ${filler}`;
const texts = (from, to) => Array.from({ length: to - from + 1 }, (_, index) => text(from + index));

/** Publishes this many messages by turns on the nodes. Returns their epoch. */
async function fill(nodes, channel, count) {
  let epoch;
  for (let n = 1; n <= count; n++) ({ epoch } = (await nodes[n % 2].call('publish', channel, text(n))).position);
  return epoch;
}

for (const [name, withStore, store, storeOf] of [
  ['Redis', needingRedis(test), redis, (t) => Redis.with(t)],
  ['NATS', needingNats(test), nats, (t) => Nats.withStreams(t)],
]) {
  withStore(`${name}: clients get from the store what their node does not keep`, async (t) => {
    const nodes = await mortalNodes(t, store.url, limited);
    const e = await fill(nodes, 'room:1', COUNT);
    const followers = await Promise.all(
      [50, 50, 51, 300, 0, 598, 599, 600].map((o, index) =>
        Follower.enter(t, nodes[index % 2], 'room:1', { since: { e, o } }),
      ),
    );
    const newcomer = await Follower.enter(t, nodes[0], 'room:1', { last: 400 });
    for (let n = COUNT + 1; n <= COUNT + 20; n++) await nodes[0].call('publish', 'room:1', text(n));
    for (const [index, follower] of followers.entries()) {
      t.like(follower.answer, { recovered: true, e });
      const first = [50, 50, 51, 300, 0, 598, 599, 600][index] + 1;
      await follower.has(COUNT + 20 - first + 1);
      t.deepEqual(follower.payloads, texts(first, COUNT + 20));
    }
    await newcomer.has(420);
    t.deepEqual(newcomer.payloads, texts(COUNT - 399, COUNT + 20));
    for (const { violations, gaps } of [...followers, newcomer]) t.deepEqual([violations, gaps], [[], []]);
  });

  withStore(`${name}: so do sockets that the application subscribes, and event streams`, async (t) => {
    const [here, there] = await mortalNodes(t, store.url, { ...limited, events: true });
    const epoch = await fill([here, there], 'room:2', 40);
    const client = await speak(t, here);
    const results = await here.call('subscribe', Number(client.hi.s.split('-')[1]), 'room:2', {
      since: { epoch, offset: 3 },
    });
    t.like(results[0], { recovered: true, position: { epoch, offset: 40 } });
    t.deepEqual(await client.next(), [{ t: 'sub', c: 'room:2', e: epoch, o: 3 }]);
    for (let n = 4; n <= 40; n++) {
      const [{ o }, payload] = await client.next();
      t.deepEqual([o, payload], [n, text(n)]);
    }
    const stream = await eventStream(t, there, 'channel=room:2', `${epoch}:10`);
    t.is(await stream.next(), `id: ${epoch}:10`);
    for (let n = 11; n <= 40; n++) t.is(await stream.next(), `id: ${epoch}:${n}\ndata: ${text(n)}`);
    stream.leave();
  });

  withStore(`${name}: what the store does not have either is told`, async (t) => {
    const nodes = await mortalNodes(t, store.url, limited);
    // three are kept, and a node keeps none of them
    const long = 'y'.repeat(10_000);
    let e;
    for (let n = 1; n <= 10; n++) ({ epoch: e } = (await nodes[0].call('publish', 'few:1', `${n} ${long}`)).position);
    const [inside, outside, foreign] = await Promise.all(
      [
        { e, o: 7 },
        { e, o: 6 },
        { e: '0'.repeat(16), o: 9 },
      ].map((since) => Follower.enter(t, nodes[1], 'few:1', { since })),
    );
    t.like(inside.answer, { recovered: true, o: 10 });
    t.like(outside.answer, { recovered: false, o: 10 });
    t.like(foreign.answer, { recovered: false, o: 10 });
    const newcomer = await Follower.enter(t, nodes[1], 'few:1', { last: 3 });
    // before one of them goes
    await Promise.all([inside.has(3), newcomer.has(3)]);
    await nodes[0].call('publish', 'few:1', 'last');
    for (const [follower, count] of [
      [inside, 4],
      [newcomer, 4],
      [outside, 1],
      [foreign, 1],
    ]) {
      await follower.has(count);
      t.is(follower.got.length, count);
      t.is(follower.payloads.at(-1), 'last');
      t.deepEqual(follower.gaps, []);
    }
    t.deepEqual([...inside.violations, ...newcomer.violations], []);
  });

  withStore(`${name}: a client that cannot take all at once gets the rest behind an outage of the store`, async (t) => {
    const own = await storeOf(t);
    const [node, other] = await mortalNodes(t, own.url, limited);
    const long = 'z'.repeat(100_000);
    let e;
    const many = Array.from({ length: 300 }, (_, index) => `${index + 1} ${long}`);
    for (const message of many) ({ epoch: e } = (await other.call('publish', 'room:3', message)).position);
    const client = await speak(t, node);
    t.like(await client.subscribe('room:3', { since: { e, o: 0 } }), { recovered: true, o: 300 });
    client.ws.pause();
    // the outbox has as much as it takes of the past
    let before;
    await until(async () => {
      const { deliveries, outboxBytes } = await node.call('stats');
      const isFull = outboxBytes > 50_000 && deliveries === before;
      before = deliveries;
      return isFull;
    }, 'the client to be behind');
    t.true(before < 300);
    await own.pause();
    client.ws.resume();
    await isStore(node, 'lost');
    t.like(await (await speak(t, node)).subscribe('room:3', { since: { e, o: 0 } }), { t: 'err', code: 'failed' });
    own.goOn();
    for (const [index, message] of many.entries()) {
      const [{ o }, payload] = await client.next();
      t.is(o, index + 1);
      t.true(payload === message);
    }
    await isStore(node, 'ready');
    await isStore(other, 'ready');
    await other.call('publish', 'room:3', 'live');
    t.like((await client.next())[0], { c: 'room:3', o: 301 });
  });
}
