// Channels with history on two nodes: a node is killed, and the Redis that they share is restarted.
import { once } from 'node:events';
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { Follower, isBack, isStore, mortalNodes } from '../support/history-nodes.mjs';
import { needingRedis, Redis } from '../support/redis.mjs';
import * as resp from '../support/resp.mjs';
import { speak } from '../support/v1.mjs';

const withRedis = needingRedis(test.serial);
const FAILED = ['ERR_MILLRACE_HISTORY_UNAVAILABLE', 'ERR_MILLRACE_PUBLICATION_UNKNOWN'];

withRedis('the clients of a node that dies go on with another one, without a hole', async (t) => {
  const redis = await Redis.with(t);
  const [here, there] = await mortalNodes(t, redis.url);
  const first = await Follower.enter(t, here, 'room:1');
  const published = [];
  let ended = false;
  t.teardown(() => {
    ended = true;
  });
  const publishing = (async () => {
    for (let n = 0; !ended; n++) {
      await there.call('publish', 'room:1', `${n}`);
      published.push(`${n}`);
    }
  })();
  await first.has(50);
  here.kill();
  await until(() => first.isOver, 'the end of the connection');
  const second = await Follower.enter(t, there, 'room:1', { since: first.position });
  t.is(second.answer.recovered, true);
  await second.has(50);
  ended = true;
  await publishing;
  await second.has(published.length - first.got.length);
  t.deepEqual([...first.payloads, ...second.payloads], published);
  t.deepEqual([...first.violations, ...second.violations, ...first.gaps, ...second.gaps], []);
});

withRedis('while the store is away publishing fails, and what was lost with it is told', async (t) => {
  const redis = await Redis.with(t);
  const nodes = await mortalNodes(t, redis.url);
  const followers = await Promise.all(nodes.map((node) => Follower.enter(t, node, 'room:1')));
  const outcomes = { published: new Map(), failed: [] };
  let ended = false;
  t.teardown(() => {
    ended = true;
  });
  const publishing = nodes.map(async (node, own) => {
    for (let n = 0; !ended; n++) {
      try {
        const { position } = await node.call('publish', 'room:1', `${own} ${n}`);
        outcomes.published.set(`${own} ${n}`, position);
      } catch (error) {
        outcomes.failed.push(error.code);
      }
    }
  });
  await Promise.all(followers.map((follower) => follower.has(50)));
  await redis.stop();
  await until(() => outcomes.failed.length > 0, 'a failure');
  await isStore(nodes[0], 'lost');
  t.like(await (await speak(t, nodes[0])).ask({ t: 'pub', c: 'room:1' }, 'lost'), { t: 'err', code: 'failed' });
  const redisClient = await resp.connect(t, nodes[0].addresses[1]);
  t.true((await redisClient.ask('PUBLISH', 'room:1', 'lost')).startsWith('-ERR the store of histories'));
  t.is(await redisClient.ask('PING'), '+PONG\r\n');
  // the same error is reported once a second
  const isReported = async () => {
    await nodes[0].call('send', 'room:1', 'lost');
    return (await nodes[0].errors()).some(({ code, message }) => code === FAILED[0] && message.includes('be reached'));
  };
  await until(isReported, 'the report of the failure');
  const { followed, failed } = (await nodes[0].call('stats')).backplane.history;
  t.true(followed === 1 && failed > 2);
  await redis.launchAgain();
  await Promise.all(nodes.map(isBack));
  const size = outcomes.published.size;
  await until(() => outcomes.published.size > size + 50, 'publications after the outage');
  ended = true;
  await Promise.all(publishing);
  t.deepEqual(
    outcomes.failed.filter((code) => !FAILED.includes(code)),
    [],
  );
  const epochs = new Set([...outcomes.published.values()].map(({ epoch }) => epoch));
  t.is(epochs.size, 2, 'Redis has lost its data, so the numbers began anew');
  const published = [...outcomes.published.values()];
  const { epoch } = published.at(-1);
  // nodes that publish at once may be answered in another order
  const last = Math.max(...published.filter((one) => one.epoch === epoch).map(({ offset }) => offset));
  for (const follower of followers) {
    const isThere = () => follower.position.e === epoch && follower.position.o >= last;
    await until(isThere, () => `the newest message: ${JSON.stringify([follower.position, epoch, last])}`);
    t.deepEqual(follower.violations, []);
    t.true(follower.gaps.length > 0, 'what was lost was told');
    // what was published is there, or in front of the gap
    const got = new Map(follower.got.map(([offset, payload]) => [payload, offset]));
    const missing = [...outcomes.published].filter(([payload]) => !got.has(payload));
    const isTold = ([, { epoch: of, offset }]) => follower.gaps.some((gap) => gap.e !== of || gap.o >= offset);
    t.true(missing.every(isTold));
  }
});

withRedis('a publication without an answer is unknown, and with a key it is not doubled', async (t) => {
  const redis = await Redis.with(t);
  const [here, there] = await mortalNodes(t, redis.url);
  const follower = await Follower.enter(t, there, 'room:1');
  await here.call('publish', 'room:1', 'first');
  const client = await speak(t, here);
  redis.pause();
  const waiting = here.call('publish', 'room:1', 'second', { idempotencyKey: 'k' });
  const asked = client.ask({ t: 'pub', c: 'room:1', key: 'k' }, 'second');
  await t.throwsAsync(waiting, { code: 'ERR_MILLRACE_PUBLICATION_UNKNOWN' });
  t.like(await asked, { t: 'err', code: 'timeout' });
  t.like((await here.call('stats')).backplane.history, { failed: 2, unknown: 2 });
  redis.goOn();
  const again = () => here.call('publish', 'room:1', 'second', { idempotencyKey: 'k' }).catch(() => undefined);
  const { position } = await until(again, 'the store to be back');
  t.is(position.offset, 2);
  await here.call('publish', 'room:1', 'third');
  await follower.has(3);
  t.deepEqual(follower.got, [
    [1, 'first'],
    [2, 'second'],
    [3, 'third'],
  ]);
  t.deepEqual([...follower.gaps, ...follower.violations], []);
});

withRedis(
  'what a client publishes behind a subscription that waits is published, if its connection ends then',
  async (t) => {
    const redis = await Redis.with(t);
    const [here, there] = await mortalNodes(t, redis.url, { ioThreads: 1 });
    const [reader, other] = [await speak(t, there), await speak(t, here)];
    t.is((await reader.subscribe('room:cut')).t, 'ok');
    const client = await speak(t, here);
    redis.pause();
    client.send({ t: 'sub', id: 1, c: 'room:cut' });
    for (const text of ['1', '2']) client.send({ t: 'pub', c: 'room:cut' }, text);
    const ended = once(client.ws._socket, 'finish');
    client.ws._socket.end();
    await ended;
    // the I/O thread has seen that, too
    for (let round = 0; round < 3; round++) await other.all();
    redis.goOn();
    for (const text of ['1', '2']) t.is((await reader.next())[1], text);
  },
);
