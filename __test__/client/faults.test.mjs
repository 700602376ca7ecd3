// Cuts, stalls and half-open links: no message is lost or doubled, in Node.js and in a browser.
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import test from 'ava';
import { WebSocket } from 'ws';

import { fiftyFaults, numbers } from '../support/client-faults.mjs';
import { until } from '../support/deadline.mjs';
import { browserTests, launchBrowser } from '../support/example.mjs';
import { clientWith, fasterClock } from '../support/millrace-client.mjs';
import { V1Server } from '../support/v1-server.mjs';

/** The client's time, so that it notices half-open links soon. */
const FACTOR = 20;

/** All that was ever published stays, so that nothing may be a gap. */
const faultyServer = (t) => V1Server.start(t, { channels: () => ({ history: 10_000 }), ping: 2000 });

test('50 cuts, stalls and half-open links lose and double nothing', async (t) => {
  const server = await faultyServer(t);
  const { createClient } = await clientWith(fasterClock(FACTOR));
  const client = createClient(server.url, { WebSocket });
  t.teardown(() => client.close());
  const got = [];
  client.subscribe('numbers', { onMessage: ({ data }) => got.push(data), onGap: () => got.push('gap') });
  const looped = [];
  const loop = (async () => {
    for await (const { data, offset } of client.subscribe('numbers')) looped.push([data, offset]);
  })();
  let [publishing, sent] = [true, 1];
  // from the first answer on the client knows that it may send again
  await client.publish('mine', 1);
  const publisher = (async () => {
    while (publishing) await client.publish('mine', ++sent);
  })();

  const published = await fiftyFaults(server);
  publishing = false;
  await publisher;
  await until(
    () => got.length >= published,
    () => `${published} messages, after ${got.length}`,
  );
  t.is(`${got}`, `${numbers(published)}`);
  const { kept } = server.channels.get('mine');
  t.is(`${kept.map(({ payload }) => payload)}`, `${numbers(sent)}`);
  t.true(server.sessions.length > 50);
  t.deepEqual(server.violations, []);
  // the loop still gets what has arrived
  client.close();
  await loop;
  t.is(`${looped}`, `${numbers(published).map((number) => [number, number])}`);
});

browserTests(test)('50 cuts, stalls and half-open links lose and double nothing in a browser', async (t) => {
  const server = await faultyServer(t);
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
    performance.now = () => now() * factor;
  }, FACTOR);
  await page.goto(`http://127.0.0.1:${files.address().port}/`);
  await page.evaluate(async (url) => {
    const { createClient } = await import('/client.mjs');
    const client = createClient(url);
    window.got = [];
    client.subscribe('numbers', {
      onMessage: ({ data }) => window.got.push(data),
      onGap: () => window.got.push('gap'),
    });
    let [publishing, sent] = [true, 1];
    await client.publish('mine', 1);
    const publisher = (async () => {
      while (publishing) await client.publish('mine', ++sent);
    })();
    window.end = async () => {
      publishing = false;
      await publisher;
      return sent;
    };
  }, server.url);
  const published = await fiftyFaults(server);
  const sent = await page.evaluate(() => window.end());
  await page.waitForFunction((count) => window.got.length >= count, published);
  t.is(`${await page.evaluate(() => window.got)}`, `${numbers(published)}`);
  const { kept } = server.channels.get('mine');
  t.is(`${kept.map(({ payload }) => payload)}`, `${numbers(sent)}`);
  t.deepEqual(server.violations, []);
});
