// The dashboard example: a page in a real browser sees five sources over one connection, also after one was restarted.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { browserTests, Example, ended, launchBrowser } from '../support/example.mjs';
import { freePort } from '../support/ports.mjs';
import { connect, Refused } from '../support/ws-client.mjs';

const SCRIPT = 'examples/dashboard/server.mjs';
const MORE = ['--every', '50', '--away', '700'];
const ARGS = ['--port', '0', '--splice-port', '0', ...MORE];
const NAMES = ['price', 'temperature', 'wind', 'water', 'power'];
const inBrowser = browserTests(test);

let browser;

test.after.always(() => browser?.close());

/** A page that is open: `{page, sockets, complaints, tile}`. */
async function visit(t, url) {
  browser ??= await launchBrowser();
  const context = await browser.newContext();
  t.teardown(() => context.close());
  const page = await context.newPage();
  const [sockets, complaints] = [[], []];
  page.on('websocket', (socket) => sockets.push(socket));
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    // A browser reports each connection that fails; here that is expected while the server is away.
    if (message.type() === 'error' && !/WebSocket connection/.test(message.text())) complaints.push(message.text());
  });
  await page.goto(url);
  const tile = (name) => page.locator(`[data-name="${name}"]`);
  return { page, sockets, complaints, tile };
}

/** Resolves when a tile has shown another figure than before. */
async function moves(tile) {
  const figure = tile.locator('output');
  const before = await figure.textContent();
  await until(async () => (await figure.textContent()) !== before, 'another figure');
}

const isLive = (tile) => until(async () => (await tile.getAttribute('data-state')) === 'live', 'a live tile');

inBrowser('a page has five sources on one connection, and one that is restarted comes back', async (t) => {
  const example = await Example.start(SCRIPT, ARGS);
  t.teardown(() => example.kill());
  const { page, sockets, complaints, tile } = await visit(t, example.url);
  await page.getByText('5 sources, one connection').waitFor();
  for (const name of NAMES) {
    await isLive(tile(name));
    await moves(tile(name));
    t.true(Number.isFinite(Number(await tile(name).locator('output').textContent())));
    t.true((await tile(name).locator('polyline').getAttribute('points')).split(' ').length > 1);
  }
  t.is(sockets.length, 1);

  const seen = [];
  await page.exposeFunction('seen', (text) => seen.push(text));
  await tile('wind').evaluate((section) => {
    const status = section.querySelector('.status');
    new MutationObserver(() => window.seen(status.textContent)).observe(status, { childList: true });
  });
  await page.getByRole('button', { name: 'Restart wind' }).click();
  await until(() => seen.includes('Closed with 1012 restarting, trying again'), 'the end of wind');
  await moves(tile('water'));
  await until(() => seen.at(-1) === 'Live', 'wind again');
  await moves(tile('wind'));
  t.is(sockets.length, 1);
  t.deepEqual(complaints, []);
  t.is(await example.end(), ended());
});

inBrowser('all come back over one connection when the program was restarted', async (t) => {
  const args = ['--port', String(await freePort()), '--splice-port', String(await freePort()), ...MORE];
  let example = await Example.start(SCRIPT, args);
  t.teardown(() => example.kill());
  const { page, sockets, tile } = await visit(t, example.url);
  for (const name of NAMES) await isLive(tile(name));
  t.is(await example.end(), ended());
  await page.getByText('The connection was lost, trying again').waitFor();
  example = await Example.start(SCRIPT, args);
  await page.getByText('5 sources, one connection').waitFor();
  for (const name of NAMES) {
    await isLive(tile(name));
    await moves(tile(name));
  }
  t.is(sockets.filter((socket) => !socket.isClosed()).length, 1);
});

test('a page of another origin is refused, and nothing but the sources is reached', async (t) => {
  const example = await Example.start(SCRIPT, ARGS);
  t.teardown(() => example.kill());
  const { port } = await (await fetch(`${example.url}/dashboard.json`)).json();
  const address = `127.0.0.1:${port}`;
  const refused = await t.throwsAsync(connect(t, address, { headers: { Origin: 'http://evil.example' } }), {
    instanceOf: Refused,
  });
  t.is(refused.status, 403);
  const session = await connect(t, address, { headers: { Origin: example.url } });
  const urls = [`ws://127.0.0.1:${example.port}/`, 'ws://sources/nothing', 'millrace:/other'];
  for (const url of urls) {
    session.send(Buffer.from(`\xff\xff${JSON.stringify({ id: 1, method: 'connect', params: { url } })}`, 'latin1'));
    const { data } = await session.next();
    t.is(JSON.parse(data.toString('utf8', 2)).error.code, 4006, url);
  }
  // nor on the port of the page, where no session is needed
  await t.throwsAsync(connect(t, example.address), { instanceOf: Refused });
});
