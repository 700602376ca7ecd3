// The Server-Sent Events example: a goal is told to event streams and WebSockets, and the page comes back by itself.
import test from 'ava';
import { EventSource } from 'eventsource';

import { until } from '../support/deadline.mjs';
import { browserTests, Example, ended, launchBrowser } from '../support/example.mjs';
import { freePort } from '../support/ports.mjs';
import { connect } from '../support/ws-client.mjs';

const SCRIPT = 'examples/server-sent-events/server.mjs';
const inBrowser = browserTests(test);

async function startExample(t, port = '0') {
  const example = await Example.start(SCRIPT, [], { PORT: port });
  t.teardown(() => example.kill());
  return example;
}

function post(example, body, { type = 'application/json', method = 'POST', path = '/goals' } = {}) {
  const headers = { 'content-type': type, connection: 'close' };
  return fetch(`${example.url}${path}`, { method, headers, body });
}

test('a goal reaches event streams and WebSockets alike', async (t) => {
  const example = await startExample(t);
  t.is((await post(example, '{"team":"guests"}')).status, 201);
  const source = new EventSource(`${example.url}/events`);
  t.teardown(() => source.close());
  const events = [];
  source.addEventListener('message', ({ data }) => events.push(JSON.parse(data)));
  await until(() => events.length === 1, 'the score');
  const socket = await connect(t, example.address, { path: '/socket' });
  t.deepEqual(await socket.json(), { home: 0, guests: 1 });
  const answer = await post(example, '{"team":"home"}');
  t.deepEqual(await answer.json(), { home: 1, guests: 1 });
  t.deepEqual(await socket.json(), { home: 1, guests: 1 });
  await until(() => events.length === 2, 'the goal');
  t.deepEqual(events, [
    { home: 0, guests: 1 },
    { home: 1, guests: 1 },
  ]);
  source.close();
  t.is(await example.end(), ended());
});

test('what is no goal changes nothing', async (t) => {
  const example = await startExample(t);
  for (const body of ['{"team":"nobody"}', '{"team":"toString"}', '{}', 'null', '{"team":']) {
    t.is((await post(example, body)).status, 400, body);
  }
  t.is((await post(example, '{"team":"home"}', { type: 'text/plain' })).status, 415);
  t.is((await post(example, '{"team":"home"}', { path: '/other' })).status, 404);
  t.is((await post(example, undefined, { method: 'GET' })).status, 405);
  t.is((await post(example, ' '.repeat(2000))).status, 413);
  const headers = { accept: 'text/event-stream', origin: 'http://evil.example', connection: 'close' };
  t.is((await fetch(`${example.url}/events`, { headers })).status, 403);
  const socket = await connect(t, example.address, { path: '/socket' });
  t.deepEqual(await socket.json(), { home: 0, guests: 0 });
});

inBrowser('the page shows the score, in every window, and again when the server is back', async (t) => {
  const port = String(await freePort());
  const first = await startExample(t, port);
  const browser = await launchBrowser();
  t.teardown(() => browser.close());
  const context = await browser.newContext();
  const pages = [await context.newPage(), await context.newPage()];
  const shown = async (text) => {
    for (const page of pages) await page.getByRole('heading').filter({ hasText: text }).waitFor();
  };
  for (const page of pages) await page.goto(first.url);
  await shown('Home 0 : 0 Guests');
  await pages[0].getByRole('button', { name: 'Goal for home' }).click();
  await shown('Home 1 : 0 Guests');
  await pages[1].getByRole('button', { name: 'Goal for the guests' }).click();
  await shown('Home 1 : 1 Guests');
  t.is(await first.end(), ended());
  for (const page of pages) await page.getByRole('status').filter({ hasText: 'trying again' }).waitFor();
  const second = await startExample(t, port);
  await shown('Home 0 : 0 Guests');
  for (const page of pages)
    await page
      .getByRole('status')
      .filter({ hasText: /^Connected$/ })
      .waitFor();
  t.is((await post(second, '{"team":"home"}')).status, 201);
  await shown('Home 1 : 0 Guests');
});
