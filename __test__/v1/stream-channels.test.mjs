// Plain streams of Server-Sent Events that subscribe to channels by their query, and go on where they were.
import { once } from 'node:events';
import http from 'node:http';
import test from 'ava';
import { EventSource } from 'eventsource';

import { until } from '../support/deadline.mjs';
import { eventStream, Relay } from '../support/event-stream.mjs';
import { browserTests, launchBrowser } from '../support/example.mjs';
import { linuxTests } from '../support/platforms.mjs';
import { ownServer, RUNTIME, sharedServer, worker } from '../support/server.mjs';

const kept = { history: { messages: 5, ageMs: 600_000 }, clients: { subscribe: true } };
const channels = [
  ['kept:*', kept],
  ['long:*', { ...kept, history: { messages: 1000, ageMs: 600_000 } }],
  ['room:*', { clients: { subscribe: true, publish: true } }],
  ['secret:*', {}],
];
const options = { workerPath: worker('commands'), threads: 1, ioThreads: 2, events: true, channels };
const server = sharedServer(test, options);

/** A stream of the shared server. */
const stream = (t, query, last) => eventStream(t, server, query, last);

const publish = (channel, data) => server.call('send', channel, data);

test('a stream of one channel has ids, and goes on behind the last one', async (t) => {
  const first = await stream(t, 'channel=kept:one');
  const id = await first.next();
  t.regex(id, /^id: [\w-]{1,16}:0$/);
  const at = (offset) => id.replace(/0$/, `${offset}`);
  await publish('kept:one', 'a\nb');
  t.is(await first.next(), `${at(1)}\ndata: a\ndata: b`);
  await publish('kept:one', 'c');
  t.is(await first.next(), `${at(2)}\ndata: c`);
  first.leave();
  for (const data of ['d', 'e']) await publish('kept:one', data);
  const second = await stream(t, 'channel=kept:one', at(2).slice(4));
  t.is(await second.next(), at(2));
  t.is(await second.next(), `${at(3)}\ndata: d`);
  t.is(await second.next(), `${at(4)}\ndata: e`);
  for (let number = 0; number < 10; number++) await publish('kept:one', `${number}`);
  // what is gone is told
  const third = await stream(t, 'channel=kept:one', at(2).slice(4));
  const [, epoch] = id.split(/: |:/);
  t.is(await third.next(), `event: gap\ndata: {"c":"kept:one","e":"${epoch}","o":14}`);
  t.is(await third.next(), at(14));
  await publish('kept:one', 'live');
  t.is(await third.next(), `${at(15)}\ndata: live`);
});

test('a stream of several channels names them, and has all their positions', async (t) => {
  const query = 'channel=kept%3Atwo&channel=room:two&x=1';
  const first = await stream(t, query);
  const id = await first.next();
  t.regex(id, /^id: [\w-]+:0,-$/);
  const at = (offset) => id.replace(/0,-$/, `${offset},-`);
  await publish('kept:two', 'a');
  t.is(await first.next(), `${at(1)}\nevent: kept:two\ndata: a`);
  await publish('room:two', 'b');
  t.is(await first.next(), `${at(1)}\nevent: room:two\ndata: b`);
  first.leave();
  await publish('kept:two', 'c');
  const second = await stream(t, query, at(1).slice(4));
  // the ids begin with the first channel that is subscribed
  t.is(await second.next(), at(1));
  t.is(await second.next(), 'event: gap\ndata: {"c":"room:two"}');
  t.is(await second.next(), at(1));
  t.is(await second.next(), `${at(2)}\nevent: kept:two\ndata: c`);
});

test('a channel that clients may not subscribe to is refused, and so is a wrong query', async (t) => {
  t.is((await stream(t, 'channel=secret:a')).status, 403);
  t.is((await stream(t, 'channel=kept:a&channel=none')).status, 403);
  for (const query of ['channel=', 'channel=kept:a&channel=kept:a', 'channel=%ff', 'channel=a%0Ab']) {
    t.is((await stream(t, query)).status, 400, query);
  }
});

test('on a stream of several channels, none has the name of another event', async (t) => {
  for (const name of ['close', 'gap', 'binary', 'binary a', 'message', 'open', 'error']) {
    const query = `channel=room:1&channel=${encodeURIComponent(name)}`;
    t.is((await stream(t, query)).status, 400, name);
    // it is refused by its terms then
    t.is((await stream(t, `channel=${encodeURIComponent(name)}`)).status, 403, name);
  }
});

const MIB = 1024 * 1024;

/** A stream of which no more is read than fits into the buffers on the way. */
async function stalled(t, address, query) {
  const asked = http.get(`http://${address}/events?${query}`, { agent: false });
  t.teardown(() => asked.destroy());
  const [response] = await once(asked, 'response');
  response.on('error', () => {});
  return response.setEncoding('utf8');
}

linuxTests(test)('many readers of one long message hold a piece of it each', async (t) => {
  const limits = { writeTimeoutMs: 600_000, pingIntervalMs: 0 };
  const own = await ownServer(t, { ...options, limits });
  const query = 'channel=room:long&channel=room:other';
  const readers = [];
  while (readers.length < 60) readers.push(await stalled(t, own.addresses[0], query));
  await until(async () => (await own.call('send', 'room:long', 'ready')) === readers.length, 'all subscriptions');
  const before = (await own.usage()).rss;
  const long = `${'x'.repeat(1023)}\n`.repeat(12 * 1024);
  await own.call('send', 'room:long', long);
  const reach = (length) => () => readers.every(({ socket }) => socket.bytesRead > length);
  await until(reach(10_000), 'the beginning of the message');
  const [{ rss }, { outboxBytes }] = [await own.usage(), await own.call('stats')];
  // a copy for each reader would be 720 MiB; Deno keeps up to 25 copies of the text that the test hands over
  const most = RUNTIME === 'deno' ? 400 : 200;
  t.true(rss - before < most * MIB, `${Math.round((rss - before) / MIB)} MiB more`);
  t.true(outboxBytes >= long.length, 'what they have not read is counted');
  const [first] = readers;
  let text = '';
  first.on('data', (chunk) => {
    text += chunk;
  });
  const event = `id: -,-\nevent: room:long\n${long.replace(/^/gm, 'data: ')}\n\n`;
  await until(() => text.length >= event.length && text.endsWith('\n\n'), 'the whole message');
  t.true(text.endsWith(`data: ready\n\n${event}`));
});

test('an EventSource that connects again misses and doubles nothing', async (t) => {
  const relay = await Relay.to(t, server.addresses[0]);
  const source = new EventSource(`http://${relay.address}/events?channel=long:again`);
  t.teardown(() => source.close());
  const got = [];
  let opened = 0;
  source.addEventListener('open', () => {
    opened += 1;
  });
  source.addEventListener('message', ({ data }) => got.push(Number(data)));
  source.addEventListener('gap', () => got.push('gap'));
  await until(() => opened === 1, 'the stream');
  await until(() => server.call('hasSubscriptions', 'long:again'), 'the subscription');
  let published = 0;
  const some = async () => {
    for (let count = 0; count < 3; count++) {
      published += 1;
      await publish('long:again', `${published}`);
    }
  };
  for (let round = 1; round <= 2; round++) {
    await some();
    // it has an id by then
    await until(() => got.length > 0, 'the first message');
    relay.cut();
    await some();
    await until(() => opened > round, 'the next stream');
  }
  await until(
    () => got.length >= published,
    () => `all messages, after ${got}`,
  );
  t.deepEqual(
    got,
    Array.from({ length: published }, (_, index) => index + 1),
  );
});

browserTests(test)('an EventSource of a browser misses and doubles nothing', async (t) => {
  const folder = new URL('../../js/dist/', import.meta.url).pathname;
  const own = await ownServer(t, { ...options, static: folder });
  const relay = await Relay.to(t, own.addresses[0]);
  const browser = await launchBrowser();
  t.teardown(() => browser.close());
  const page = await (await browser.newContext()).newPage();
  await page.goto(`http://${relay.address}/client.mjs`);
  await page.evaluate(() => {
    window.got = [];
    window.opened = 0;
    const source = new EventSource('/events?channel=long:page');
    source.onopen = () => {
      window.opened += 1;
    };
    source.onmessage = ({ data }) => window.got.push(data);
    source.addEventListener('gap', () => window.got.push('gap'));
  });
  await page.waitForFunction(() => window.opened === 1);
  await until(() => own.call('hasSubscriptions', 'long:page'), 'the subscription');
  await own.call('send', 'long:page', 'a');
  await page.waitForFunction(() => window.got.length === 1);
  relay.cut();
  for (const data of ['b', 'c']) await own.call('send', 'long:page', data);
  await page.waitForFunction(() => window.got.length === 3);
  t.deepEqual(await page.evaluate(() => window.got), ['a', 'b', 'c']);
});

test('a stream of channels cannot be called', async (t) => {
  const client = await stream(t, 'channel=room:called');
  const idOf = async () =>
    Object.keys((await server.call('getDebugState', 'channels', 'room:called'))?.subscribers ?? {})[0];
  const id = await until(idOf, 'the subscription');
  const error = await t.throwsAsync(server.call('call', Number(id), 'anything'));
  t.regex(error.message, /does not speak millrace.v1/);
  client.leave();
});

test('a stream that handleSubscribe denies is refused, and a browser does not come back', async (t) => {
  const own = await ownServer(t, { ...options, workerPath: worker('v1-handlers') });
  for (const query of [
    'channel=room:denied',
    'channel=room:1&channel=room:denied',
    'channel=room:denied&channel=kept:1',
  ]) {
    t.is((await eventStream(t, own, query)).status, 403, query);
  }
  const source = new EventSource(`http://${own.addresses[0]}/events?channel=room:denied`);
  t.teardown(() => source.close());
  await once(source, 'error');
  t.is(source.readyState, EventSource.CLOSED);
  const fine = await eventStream(t, own, 'channel=room:1&channel=kept:1');
  t.is(fine.status, 200);
  fine.leave();
  await until(async () => (await own.call('stats')).sockets === 0, 'no socket to be left');
});
