// Streams of Server-Sent Events on two nodes that share a store: a position of one node goes on at the other.
import test from 'ava';
import { EventSource } from 'eventsource';

import { until } from '../support/deadline.mjs';
import { BlockedWebSocket, eventStream, Relay } from '../support/event-stream.mjs';
import { mortalNodes } from '../support/history-nodes.mjs';
import { createClient } from '../support/millrace-client.mjs';
import { Nats, needingNats } from '../support/nats.mjs';
import { needingRedis, Redis } from '../support/redis.mjs';

const redis = Redis.of(test);
const nats = Nats.of(test);
const numbers = (from, to) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

for (const [name, withStore, store] of [
  ['Redis', needingRedis(test), redis],
  ['NATS', needingNats(test), nats],
]) {
  withStore(`${name}: a stream goes on at the other node, and what is gone there is told`, async (t) => {
    const [here, there] = await mortalNodes(t, store.url, { events: true });
    const first = await eventStream(t, here, 'channel=few:1');
    const id = await first.next();
    t.regex(id, /^id: [\w-]{1,16}:0$/);
    const at = (offset) => id.replace(/0$/, `${offset}`);
    await there.call('publish', 'few:1', '1');
    t.is(await first.next(), `${at(1)}\ndata: 1`);
    first.leave();
    for (const [node, text] of [
      [here, '2'],
      [there, '3'],
    ]) {
      await node.call('publish', 'few:1', text);
    }
    const second = await eventStream(t, there, 'channel=few:1', at(1).slice(4));
    t.is(await second.next(), at(1));
    t.is(await second.next(), `${at(2)}\ndata: 2`);
    t.is(await second.next(), `${at(3)}\ndata: 3`);
    await here.call('publish', 'few:1', '4');
    t.is(await second.next(), `${at(4)}\ndata: 4`);
    second.leave();
    for (let n = 5; n <= 8; n++) await there.call('publish', 'few:1', `${n}`);
    const known = async () => (await here.call('history', 'few:1')).position.offset;
    await until(async () => (await known()) === 8, 'the other node to have them');
    // three are kept
    const third = await eventStream(t, here, 'channel=few:1', at(4).slice(4));
    const [, epoch] = id.split(/: |:/);
    t.is(await third.next(), `event: gap\ndata: {"c":"few:1","e":"${epoch}","o":8}`);
    t.is(await third.next(), at(8));
    await there.call('publish', 'few:1', '9');
    t.is(await third.next(), `${at(9)}\ndata: 9`);
    // several channels, one of them without history
    const several = await eventStream(t, here, 'channel=few:1&channel=plain:1');
    t.regex(await several.next(), /^id: [\w-]+:9,-$/);
    await there.call('publish', 'few:1', 'kept');
    t.is(await several.next(), `${at(10)},-\nevent: few:1\ndata: kept`);
  });

  withStore(`${name}: an EventSource whose node dies misses and doubles nothing at the other one`, async (t) => {
    const [here, there] = await mortalNodes(t, store.url, { events: true });
    const relay = await Relay.to(t, here.addresses[0]);
    const source = new EventSource(`http://${relay.address}/events?channel=room:dies`);
    t.teardown(() => source.close());
    const got = [];
    let opened = 0;
    source.addEventListener('open', () => {
      opened += 1;
    });
    source.addEventListener('message', ({ data }) => got.push(Number(data)));
    source.addEventListener('gap', () => got.push('gap'));
    await until(() => opened === 1, 'the stream');
    await until(() => here.call('hasSubscriptions', 'room:dies'), 'the subscription');
    const publish = async (from, to) => {
      for (let n = from; n <= to; n++) await there.call('publish', 'room:dies', `${n}`);
    };
    await publish(1, 20);
    await until(() => got.length >= 10, 'messages by the first node');
    relay.to = there.addresses[0];
    here.kill();
    await publish(21, 40);
    await until(() => opened === 2, 'the stream of the other node');
    await publish(41, 60);
    await until(
      () => got.length >= 60,
      () => `all messages, after ${got}`,
    );
    t.deepEqual(got, numbers(1, 60));
  });

  withStore(
    `${name}: a client over a stream moves to the other node, which does not take its POSTs before`,
    async (t) => {
      const [here, there] = await mortalNodes(t, store.url, { events: true });
      const relay = await Relay.to(t, here.addresses[0]);
      const client = createClient(`ws://${relay.address}/`, { WebSocket: BlockedWebSocket, fallback: 'sse' });
      t.teardown(() => client.close());
      const got = [];
      let subscribed = 0;
      client.subscribe('room:moves', {
        onMessage: ({ data }) => got.push(data),
        onGap: () => got.push('gap'),
        onSubscribed: () => {
          subscribed += 1;
        },
      });
      await until(() => subscribed === 1, 'the subscription');
      const before = client.socketId;
      for (const n of numbers(1, 10)) t.is((await client.publish('room:moves', n)).position.offset, n);
      // a POST that reaches another node than its stream, as by a proxy that forwards at random
      const stream = await eventStream(t, here, 'v=1');
      const { s: socket, k: key } = JSON.parse((await stream.next()).slice('data: '.length));
      const post = async (node) => {
        const headers = { 'millrace-socket': `${socket}.${key}` };
        const url = `http://${node.addresses[0]}/events?v=1`;
        return (await fetch(url, { method: 'POST', body: '{"t":"ping"}', headers })).status;
      };
      t.deepEqual([await post(there), await post(here)], [404, 204]);
      relay.to = there.addresses[0];
      relay.cut();
      for (const n of numbers(11, 20)) await here.call('publish', 'room:moves', `${n}`);
      await until(() => subscribed === 2, 'the subscription at the other node');
      t.not(client.socketId.split('-')[0], before.split('-')[0]);
      for (const n of numbers(21, 30)) await client.publish('room:moves', n);
      await until(
        () => got.length >= 30,
        () => `all messages, after ${got}`,
      );
      t.deepEqual(got, numbers(1, 30));
    },
  );
}
