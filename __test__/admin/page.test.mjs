// The admin page in a real browser: the token, what it shows, hostile names and payloads, and a channel's messages.
import test from 'ava';

import { at, TOKEN, withAdmin } from '../support/admin.mjs';
import { until } from '../support/deadline.mjs';
import { browserTests, launchBrowser } from '../support/example.mjs';
import { callIn, member, ownServer } from '../support/server.mjs';

const inBrowser = browserTests(test);
const HOSTILE = '<img src=x onerror="window.harmed=1"><script>window.harmed=1</script>';

let browser;

test.after.always(() => browser?.close());

/** The page: `{page, complaints, requests, enter}`. */
async function visit(t, server, options = {}) {
  browser ??= await launchBrowser();
  const context = await browser.newContext(options);
  t.teardown(() => context.close());
  const page = await context.newPage();
  const [complaints, requests] = [[], []];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    // a browser reports each refused request; here some are meant to be
    if (message.type() === 'error' && !/status of 401/.test(message.text())) complaints.push(message.text());
  });
  page.on('request', (request) => requests.push(request.url()));
  await page.goto(at(server));
  const enter = async (token) => {
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Open' }).click();
  };
  return { page, complaints, requests, enter };
}

const cell = (page, text) => page.locator('#channels td', { hasText: text });

inBrowser('the page opens with the token, which stays in memory', async (t) => {
  const server = await ownServer(t, withAdmin());
  const { page, complaints, requests, enter } = await visit(t, server);
  t.is(await page.getByLabel('Token').getAttribute('type'), 'password');
  await enter('a wrong token');
  await page.getByText('The token is wrong.').waitFor();
  await enter(TOKEN.replace('admin', 'wrong'));
  await page.getByText('The token is wrong.').waitFor();
  await enter(TOKEN);
  await page.getByRole('heading', { name: 'Workers' }).waitFor();
  await page.getByText('Every client keeps up.').waitFor();
  await page.getByText('No channel has a subscriber or keeps a message.').waitFor();
  const before = requests.length;
  await until(() => requests.length > before, 'the next sample');
  t.deepEqual(
    requests.filter((url) => url.includes(TOKEN)),
    [],
  );
  const stored = await page.evaluate(() => [localStorage.length, sessionStorage.length, document.cookie]);
  t.deepEqual(stored, [0, 0, '']);
  t.is(await page.locator('#token').inputValue(), '');
  await page.getByRole('button', { name: 'Lock' }).click();
  await page.getByLabel('Token').waitFor();
  t.is(await page.locator('#figures').textContent(), '');
  await page.reload();
  await page.getByLabel('Token').waitFor();
  t.deepEqual(complaints, []);
});

inBrowser('names and payloads of strangers are shown as texts', async (t) => {
  const server = await ownServer(t, withAdmin());
  const ws = await member(t, server);
  await callIn(ws, 'subscribe', ws.id, HOSTILE);
  await callIn(ws, 'subscribe', ws.id, Buffer.from([0x62, 0xff]));
  const { page, complaints, enter } = await visit(t, server);
  await enter(TOKEN);
  await cell(page, HOSTILE).waitFor();
  const row = page.locator('#channels tr', { hasText: HOSTILE });
  await row.getByRole('button', { name: 'Watch' }).click();
  await page.getByText('watching').waitFor();
  await callIn(ws, 'send', HOSTILE, `${HOSTILE} ✓`);
  await callIn(ws, 'send', HOSTILE, Buffer.from([0, 159, 255]));
  await page.locator('#lines pre', { hasText: `${HOSTILE} ✓` }).waitFor();
  await page.locator('#lines pre', { hasText: '00 9f ff' }).waitFor();
  await page.getByText('2 messages').waitFor();
  t.is(await page.locator('#tapped').textContent(), HOSTILE);
  t.is(await page.locator('img, script:not([nonce])').count(), 0);
  t.is(await page.evaluate(() => window.harmed), undefined);
  // a name that is no text
  await page.locator('#channels tr', { hasText: 'b\ufffd' }).getByRole('button', { name: 'Watch' }).click();
  await page.getByText('watching · 0 messages').waitFor();
  await callIn(ws, 'send', Buffer.from([0x62, 0xff]), 'of bytes');
  await page.locator('#lines pre', { hasText: 'of bytes' }).waitFor();
  t.is(await page.locator('#lines li').count(), 1);
  t.deepEqual(complaints, []);
});

inBrowser('the policy stops scripts and markup, even if the page made some', async (t) => {
  const server = await ownServer(t, withAdmin());
  const { page } = await visit(t, server);
  const outcome = await page.evaluate(async () => {
    const attempts = {
      markup: () => {
        document.body.innerHTML = '<b>x</b>';
      },
      script: () => {
        const script = document.createElement('script');
        script.append('window.harmed = 1');
        document.body.append(script);
      },
      handler: () => document.body.setAttribute('onclick', 'window.harmed = 1') ?? document.body.click(),
    };
    const failed = [];
    for (const [name, attempt] of Object.entries(attempts)) {
      try {
        attempt();
      } catch {
        failed.push(name);
      }
    }
    await fetch('http://127.0.0.1:9/').catch(() => failed.push('elsewhere'));
    return [failed, window.harmed];
  });
  t.true(outcome[0].includes('markup') && outcome[0].includes('elsewhere'));
  t.is(outcome[1], undefined);
});

inBrowser('figures move, channels are found, and a tap is stopped and paused', async (t) => {
  const server = await ownServer(t, withAdmin());
  const ws = await member(t, server);
  for (let index = 0; index < 130; index++) await callIn(ws, 'subscribe', ws.id, `room:${index}`);
  for (let index = 0; index < 3; index++) await callIn(ws, 'publish', 'kept:1', 'x');
  const { page, complaints, enter } = await visit(t, server);
  await enter(TOKEN);
  await page.locator('#count', { hasText: '130, 130 subscriptions' }).waitFor();
  const rows = page.locator('#channels tbody tr');
  await until(async () => (await rows.count()) === 10, 'ten channels');
  await page.getByRole('button', { name: 'All' }).click();
  await page.getByRole('button', { name: 'More' }).waitFor();
  for (const count of [100, 131]) {
    await page.getByRole('button', { name: 'More' }).click();
    await until(async () => (await rows.count()) === count, `${count} channels`);
  }
  await page.getByLabel('Find in names').fill('kept');
  await page.getByLabel('Find in names').press('Enter');
  await until(async () => (await rows.count()) === 1, 'one channel');
  t.deepEqual((await rows.locator('td').allTextContents()).slice(0, 3), ['kept:1', '0', '3']);
  await page.getByLabel('Channel to watch').fill('room:1');
  await page.getByLabel('Channel to watch').press('Enter');
  await page.getByText('watching · 0 messages').waitFor();
  const lines = page.locator('#lines li');
  await callIn(ws, 'send', 'room:1', 'first');
  await until(async () => (await lines.count()) === 1, 'the first message');
  await page.getByRole('button', { name: 'Pause' }).click();
  await callIn(ws, 'send', 'room:1', 'second');
  await page.getByText('watching · 2 messages').waitFor();
  t.is(await lines.count(), 1);
  await page.getByRole('button', { name: 'Pause' }).click();
  await callIn(ws, 'send', 'room:1', 'third');
  await until(async () => (await lines.count()) === 3, 'all three');
  t.regex(await lines.first().textContent(), /text5 Bthird$/);
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByText('stopped · 3 messages').waitFor();
  await until(async () => (await callIn(ws, 'send', 'room:1', 'x')) === 1, 'the tap to go');
  const rate = page.locator('#figures .figure', { hasText: 'Messages in' }).locator('output');
  let round = 0;
  await until(async () => {
    await callIn(ws, 'getKey', `${round++}`);
    return Number(await rate.textContent()) > 0;
  }, 'a rate');
  t.deepEqual(complaints, []);
});

inBrowser('nothing is wider than the screen of a phone', async (t) => {
  const server = await ownServer(t, withAdmin());
  const ws = await member(t, server);
  await callIn(ws, 'subscribe', ws.id, 'a-very-long-name-without-any-place-to-break'.repeat(5));
  const { page, complaints, enter } = await visit(t, server, { viewport: { width: 375, height: 700 } });
  await enter(TOKEN);
  await cell(page, 'a-very-long-name').waitFor();
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  t.true(width <= 375, `${width}`);
  t.deepEqual(complaints, []);
});
