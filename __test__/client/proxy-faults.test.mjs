// The client and the real gateway with a network between them that fails: fifty cuts, stalls and half-open links lose and
// double nothing, in Node.js and in a browser. The faults are the same in each run.
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import test from 'ava';
import { WebSocket } from 'ws';

import { numbers } from '../support/client-faults.mjs';
import { until } from '../support/deadline.mjs';
import { browserTests, launchBrowser } from '../support/example.mjs';
import { FaultyProxy } from '../support/faulty-proxy.mjs';
import { clientWith, fasterClock } from '../support/millrace-client.mjs';
import { ownServer, worker } from '../support/server.mjs';

/** The client's time, so that it notices dead links soon: with the server's interval in half a second. */
const FACTOR = 40;
const history = { messages: 10_000, ageMs: 3_600_000 };
const OPTIONS = {
  workerPath: worker('commands'),
  threads: 1,
  ioThreads: 2,
  origins: '*',
  limits: { pingIntervalMs: 4000 },
  channels: {
    numbers: { history, clients: { subscribe: true } },
    mine: { history, clients: { publish: true } },
  },
};
const SEED = 19;

/** Numbers that look random, the same for the same seed. */
function randomOf(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** How a link fails. `back` resolves when the client has subscribed again. */
const FAULTS = [
  async (link, _publish, back) => {
    link.cut();
    await back();
  },
  async (link, publish, back) => {
    const posted = publish(8);
    link.cut();
    await posted;
    await back();
  },
  async (link, publish, back) => {
    link.halfOpen();
    await publish(5);
    await back();
  },
  // what it held back comes when the client has another link
  async (link, publish, back) => {
    const release = link.stall();
    await publish(5);
    await back();
    release();
    await publish(2);
    link.cut();
  },
  // it ends before the client gives it up, or perhaps not
  async (link, publish) => {
    const release = link.stall();
    await publish(5);
    release();
  },
  // the next one is cut while it recovers
  async (link, publish, back, proxy) => {
    const { length } = proxy.links;
    link.cut();
    await publish(20);
    await until(() => proxy.links.length > length, 'the next link');
    proxy.links.at(-1).cut();
    await back();
  },
];

/**
 * Makes the faults, and resolves with how many numbers were published, from 1.
 * @param times how often the client has subscribed
 */
async function fiftyFaults(server, proxy, times) {
  const random = randomOf(SEED);
  let published = 0;
  const publish = async (count) => {
    for (let index = 0; index < count; index++) await server.call('send', 'numbers', `${++published}`);
  };
  await until(async () => (await times()) > 0, 'the subscription');
  for (let round = 0; round < 50; round++) {
    const before = await times();
    const back = () => until(async () => (await times()) > before, `the subscription after fault ${round}`);
    await publish(1 + random(4));
    await FAULTS[random(FAULTS.length)](proxy.links.at(-1), publish, back, proxy);
  }
  await publish(1);
  return published;
}

/** What was published by the client itself is there once and in order. */
async function checkMine(t, server, sent) {
  const { publications } = await server.call('history', 'mine', { limit: 10_000 });
  t.is(`${publications.map(({ data }) => data)}`, `${numbers(sent)}`);
}

test('50 faults of the network between the client and the gateway lose and double nothing', async (t) => {
  const server = await ownServer(t, OPTIONS);
  const proxy = await FaultyProxy.start(t, server.addresses[0]);
  const { createClient } = await clientWith(fasterClock(FACTOR));
  const client = createClient(`ws://${proxy.address}/`, { WebSocket });
  t.teardown(() => client.close());
  const got = [];
  let times = 0;
  client.subscribe('numbers', {
    onMessage: ({ data }) => got.push(data),
    onGap: () => got.push('gap'),
    onSubscribed: () => {
      times += 1;
    },
  });
  let [publishing, sent] = [true, 0];
  const publisher = (async () => {
    while (publishing) {
      await client.publish('mine', ++sent);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();
  const published = await fiftyFaults(server, proxy, () => times);
  publishing = false;
  await publisher;
  await until(
    () => got.length >= published,
    () => `${published} messages, after ${got.length}`,
  );
  t.is(`${got}`, `${numbers(published)}`);
  await checkMine(t, server, sent);
  t.true(times > 30, `${times} subscriptions`);
});

browserTests(test)('50 faults of the network between a page and the gateway lose and double nothing', async (t) => {
  const server = await ownServer(t, OPTIONS);
  const proxy = await FaultyProxy.start(t, server.addresses[0]);
  const files = http.createServer(async ({ url }, response) => {
    const script = url === '/client.mjs';
    response.setHeader('Content-Type', script ? 'text/javascript' : 'text/html');
    response.end(script ? await readFile(new URL('../../js/dist/client.mjs', import.meta.url)) : '<!doctype html>');
  });
  files.listen(0, '127.0.0.1');
  await once(files, 'listening');
  t.teardown(() => files.close());
  const browser = await launchBrowser();
  t.teardown(() => browser.close());
  const page = await (await browser.newContext()).newPage();
  await page.addInitScript((factor) => {
    const [wait, now] = [window.setTimeout, performance.now.bind(performance)];
    window.setTimeout = (call, ms) => wait(call, ms / factor);
    window.pause = (ms) => new Promise((resolve) => wait(resolve, ms));
    performance.now = () => now() * factor;
  }, FACTOR);
  await page.goto(`http://127.0.0.1:${files.address().port}/`);
  await page.evaluate(async (url) => {
    const { createClient } = await import('/client.mjs');
    const client = createClient(url);
    Object.assign(window, { got: [], times: 0 });
    client.subscribe('numbers', {
      onMessage: ({ data }) => window.got.push(data),
      onGap: () => window.got.push('gap'),
      onSubscribed: () => {
        window.times += 1;
      },
    });
    let [publishing, sent] = [true, 0];
    const publisher = (async () => {
      while (publishing) {
        await client.publish('mine', ++sent);
        await window.pause(5);
      }
    })();
    window.end = async () => {
      publishing = false;
      await publisher;
      return sent;
    };
  }, `ws://${proxy.address}/`);
  const times = () => page.evaluate(() => window.times);
  const published = await fiftyFaults(server, proxy, times);
  const sent = await page.evaluate(() => window.end());
  await page.waitForFunction((count) => window.got.length >= count, published);
  t.is(`${await page.evaluate(() => window.got)}`, `${numbers(published)}`);
  await checkMine(t, server, sent);
  t.true((await times()) > 30, `${await times()} subscriptions`);
});
