// The example of a shared document: its pages in a real browser, and its worker.
import test from 'ava';
import { WebSocket } from 'ws';
import * as Y from 'yjs';

import { builtByVite } from '../support/built-example.mjs';
import { until } from '../support/deadline.mjs';
import { browserTests, Example, ended, launchBrowser } from '../support/example.mjs';
import { FaultyProxy } from '../support/faulty-proxy.mjs';
import { createClient } from '../support/millrace-client.mjs';
import { freePort } from '../support/ports.mjs';
import { remove } from '../support/teardown.mjs';

const inBrowser = browserTests(test);
const HISTORY = 5;
let [browser, folder, example] = [];

inBrowser.before(async () => {
  folder = await builtByVite('shared-document');
  browser = await launchBrowser();
});
test.before(async () => {
  example = await Example.start('examples/shared-document/server.mjs', ['--port', '0', '--history', `${HISTORY}`]);
});
test.after.always(async () => {
  await browser?.close();
  await example?.kill();
  if (folder) await remove(folder);
});

/** A server with the pages. */
async function serve(t, args = ['--port', '0', '--history', `${HISTORY}`]) {
  const server = await Example.start(`${folder}/server.mjs`, args);
  t.teardown(() => server.kill());
  return server;
}

/** A page that has the document. */
async function open(t, url, name, documentName = 'ideas') {
  const context = await browser.newContext();
  t.teardown(() => context.close());
  const page = await context.newPage();
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    // A browser reports each connection that fails; here that is expected.
    if (message.type() === 'error' && !/WebSocket connection/.test(message.text())) complaints.push(message.text());
  });
  await page.goto(`${url}/#${documentName}`);
  await page.getByRole('textbox', { name: 'Your name' }).fill(name);
  const area = page.getByRole('textbox', { name: 'Text' });
  await until(() => area.isEnabled(), 'the document');
  const has = (text) =>
    until(
      async () => (await area.inputValue()) === text,
      () => `${JSON.stringify(text)} on the page of ${name}`,
    );
  return {
    page,
    area,
    complaints,
    has,
    text: () => area.inputValue(),
    saved: () => page.locator('#saved').getByText('Saved.', { exact: true }).waitFor(),
    waits: () => page.locator('#saved').getByText('Changes wait.', { exact: true }).waitFor(),
    shows: (status) => page.getByRole('status').getByText(status, { exact: true }).waitFor(),
    /** Writes at the beginning or the end. */
    write: async (text, key = 'End') => {
      await area.focus();
      await page.keyboard.press(`Control+${key}`);
      await page.keyboard.type(text);
    },
    people: () => page.getByRole('list', { name: 'Here now' }).getByRole('listitem').allTextContents(),
    cursors: () => page.locator('.cursor').evaluateAll((all) => all.map(({ dataset }) => dataset.name)),
    /** The text in front of a cursor. */
    before: () =>
      page.locator('#cursors').evaluate((cursors) => {
        const range = document.createRange();
        range.setStart(cursors, 0);
        const cursor = cursors.querySelector('.cursor');
        if (cursor === null) return undefined;
        range.setEndBefore(cursor);
        return range.toString();
      }),
  };
}

/** Resolves when both pages have the same text, with it. */
async function agree(one, other) {
  let text;
  await until(
    async () => {
      text = await one.text();
      return text === (await other.text()) && text;
    },
    () => `the same text on both pages, one has ${JSON.stringify(text)}`,
  );
  return text;
}

inBrowser('two pages write at the same time, and have the same text in the end', async (t) => {
  const { url } = await serve(t);
  const [anna, ben] = [await open(t, url, 'Anna'), await open(t, url, 'Ben')];
  const [upper, lower] = ['THE WHEEL TURNS AND ', 'water makes the noise '];
  await anna.write('|');
  await ben.has('|');
  await Promise.all([anna.write(upper.repeat(3), 'Home'), ben.write(lower.repeat(3))]);
  await Promise.all([anna.saved(), ben.saved()]);
  const text = await agree(anna, ben);
  // what a user typed stays in its order, whatever came in between
  t.is(text, `${upper.repeat(3)}|${lower.repeat(3)}`);

  await Promise.all([anna.write(upper, 'End'), ben.write(lower, 'End')]);
  await Promise.all([anna.saved(), ben.saved()]);
  const end = (await agree(anna, ben)).slice(text.length);
  t.is(end.replace(/[^a-z]/g, ''), lower.replaceAll(' ', ''));
  t.is(end.replace(/[^A-Z]/g, ''), upper.replaceAll(' ', ''));

  // deletions, and letters of two units
  await anna.area.fill('one \u{1f600} two');
  await ben.has('one \u{1f600} two');
  await ben.area.fill('one \u{1f601} two');
  await anna.has('one \u{1f601} two');
  await anna.area.fill('');
  await ben.has('');
  t.deepEqual([...anna.complaints, ...ben.complaints], []);
});

inBrowser('both write while one of them is offline, and have the same text afterwards', async (t) => {
  const server = await serve(t);
  const proxy = await FaultyProxy.start(t, server.address);
  const [anna, ben] = [await open(t, server.url, 'Anna'), await open(t, `http://${proxy.address}`, 'Ben')];
  await anna.write('middle');
  await ben.has('middle');
  for (const [round, count] of [
    ['few', HISTORY - 2],
    ['many', HISTORY + 5],
  ]) {
    proxy.refuses = true;
    proxy.cut();
    await until(async () => (await ben.page.getByRole('status').textContent()) !== 'open', 'the loss');
    const before = await anna.text();
    // each of them a publication of its own, fewer or more than the channel keeps
    let text = before;
    for (let index = 0; index < count; index++) {
      await anna.write(`${index}`);
      await anna.saved();
      text += index;
    }
    await ben.write(`${round} `, 'Home');
    await ben.waits();
    t.is(await ben.text(), `${round} ${before}`);
    proxy.refuses = false;
    await ben.shows('open');
    for (const { has } of [anna, ben]) await has(`${round} ${text}`);
    await ben.saved();
  }
  t.deepEqual([...anna.complaints, ...ben.complaints], []);
});

inBrowser('cursors are seen, stay at their letters, and go with their pages', async (t) => {
  const { url } = await serve(t);
  const [anna, ben] = [await open(t, url, 'Anna'), await open(t, url, 'Ben')];
  await until(async () => `${await anna.people()}` === 'Anna (you),Ben', 'both');
  await ben.write('<b>here');
  await anna.has('<b>here');
  await until(async () => `${await anna.cursors()}` === 'Ben', 'the cursor of Ben');
  await until(async () => (await anna.before()) === '<b>here', 'the cursor at the end');
  await anna.write('now and ', 'Home');
  await until(async () => (await anna.before()) === 'now and <b>here', 'the cursor at the same letter');
  await ben.has('now and <b>here');
  await until(async () => (await ben.before()) === 'now and ', 'the cursor of Anna');
  await ben.page.getByRole('textbox', { name: 'Your name' }).fill('<i>Benjamin');
  await until(async () => `${await anna.people()}` === 'Anna (you),<i>Benjamin', 'the new name');
  await until(async () => (await anna.cursors()).length === 0, 'no cursor of a user who does not write');
  await ben.area.focus();
  await until(async () => `${await anna.cursors()}` === '<i>Benjamin', 'the cursor again');
  await ben.page.close();
  await until(async () => `${await anna.people()}` === 'Anna (you)', 'the end of Ben');
  t.deepEqual(await anna.cursors(), []);
  t.is(await anna.page.locator('.paper b, .paper i, #people i').count(), 0);
  t.deepEqual(anna.complaints, []);
});

inBrowser('a page that comes late has the whole document, also of more updates than the channel keeps', async (t) => {
  const server = await serve(t);
  const anna = await open(t, server.url, 'Anna');
  for (let index = 0; index < 3 * HISTORY; index++) {
    await anna.write(`${index} `);
    await anna.saved();
  }
  const client = visitor(t, server.address);
  const { position, publications } = await client.subscribe('document:ideas').history({ limit: 1000 });
  t.is(publications.length, HISTORY);
  t.true(position.offset >= 3 * HISTORY, `${position.offset}`);
  const late = await open(t, server.url, 'Late');
  t.is(await late.text(), await anna.text());
  t.regex(await late.text(), /^0 1 2 .* 14 $/);
  await late.write('and more');
  await anna.has(`${await late.text()}`);
  const other = await open(t, server.url, 'Late', 'other');
  t.is(await other.text(), '');
  t.deepEqual([...anna.complaints, ...late.complaints], []);
});

inBrowser('after a restart the pages give the document back to the server', async (t) => {
  const port = String(await freePort());
  let server = await serve(t, ['--port', port]);
  const { url } = server;
  const [anna, ben] = [await open(t, url, 'Anna'), await open(t, url, 'Ben')];
  await anna.write('kept by the pages');
  await ben.has('kept by the pages');
  await anna.saved();
  t.is(await server.end(), ended());
  await until(async () => (await anna.page.getByRole('status').textContent()) !== 'open', 'the loss');
  await anna.write(', and more');
  await anna.waits();
  server = await serve(t, ['--port', port]);
  for (const { has, saved } of [anna, ben]) {
    await has('kept by the pages, and more');
    await saved();
  }
  const late = await open(t, url, 'Late');
  t.is(await late.text(), 'kept by the pages, and more');
  t.deepEqual([...anna.complaints, ...ben.complaints], []);
});

inBrowser('after a restart a deletion stays, even if the page that missed it comes back first', async (t) => {
  const port = String(await freePort());
  let server = await serve(t, ['--port', port]);
  const proxies = [await FaultyProxy.start(t, server.address), await FaultyProxy.start(t, server.address)];
  const [anna, ben] = await Promise.all(
    proxies.map(({ address }, index) => open(t, `http://${address}`, ['Anna', 'Ben'][index])),
  );
  const away = async ({ page }, proxy) => {
    proxy.refuses = true;
    proxy.cut();
    await until(async () => (await page.getByRole('status').textContent()) !== 'open', 'the loss');
  };
  await anna.area.fill('kept, deleted');
  await ben.has('kept, deleted');
  await anna.saved();
  await away(ben, proxies[1]);
  await anna.area.fill('kept');
  await anna.saved();
  await away(anna, proxies[0]);
  t.is(await server.end(), ended());
  server = await serve(t, ['--port', port]);
  const client = visitor(t, server.address);
  const serverHas = (text) =>
    until(
      async () => textOf(await client.call('state', 'ideas')) === text,
      () => `${JSON.stringify(text)} on the server`,
    );
  proxies[1].refuses = false;
  await serverHas('kept, deleted');
  t.is(await ben.text(), 'kept, deleted');

  proxies[0].refuses = false;
  await serverHas('kept');
  for (const { has } of [anna, ben]) await has('kept');
  const late = await open(t, server.url, 'Late');
  t.is(await late.text(), 'kept');
  await late.write('!');
  await late.saved();
  for (const { has } of [anna, ben]) await has('kept!');
  // Each page has sent once what was missing, and none has answered another.
  const { position } = await client.subscribe('document:ideas').history({ limit: 1 });
  t.is(position.offset, 3);
  t.deepEqual([...anna.complaints, ...ben.complaints, ...late.complaints], []);
});

/** A client without a page. */
function visitor(t, address = example.address) {
  const client = createClient(`ws://${address}/channels`, { WebSocket });
  t.teardown(() => client.close());
  return client;
}

/** An update with a text. */
function updateOf(text) {
  const document = new Y.Doc();
  document.getText('text').insert(0, text);
  return Y.encodeStateAsUpdate(document);
}

/** The text of a state. */
function textOf(state) {
  const document = new Y.Doc();
  Y.applyUpdate(document, state);
  return document.getText('text').toString();
}

test('invalid updates and names are refused', async (t) => {
  const client = visitor(t);
  for (const data of ['text', { a: 1 }, Uint8Array.of(255, 255, 255, 255, 15), new Uint8Array(0)]) {
    await t.throwsAsync(client.publish('document:hostile', data), { code: 'bad' });
  }
  for (const name of ['', 'A', 'a/b', 'x'.repeat(41)]) {
    await t.throwsAsync(client.publish(`document:${name}`, updateOf('a')), { code: 'bad' });
    await t.throwsAsync(client.call('state', name), { code: 'bad' });
  }
  await t.throwsAsync(client.call('state', 7), { code: 'bad' });
  await t.throwsAsync(client.call('state', Uint8Array.of(123)), { code: 'bad' });
  await t.throwsAsync(client.call('other', 'a'), { code: 'not_found' });
  await t.throwsAsync(client.publish('other:a', updateOf('a')), { code: 'denied' });
  t.is(textOf(await client.call('state', 'hostile')), '');
});

test('a document and their number have bounds', async (t) => {
  const own = await Example.start('examples/shared-document/server.mjs', ['--port', '0']);
  t.teardown(() => own.kill());
  const client = visitor(t, own.address);
  await client.publish('document:full', updateOf('a'.repeat(200_000)));
  await t.throwsAsync(client.publish('document:full', updateOf('b'.repeat(100_000))), { code: 'limit' });
  t.is(textOf(await client.call('state', 'full')), 'a'.repeat(200_000));
  for (let index = 1; index < 100; index++) await client.publish(`document:d${index}`, updateOf('a'));
  await t.throwsAsync(client.publish('document:more', updateOf('a')), { code: 'limit' });
  await client.publish('document:d99', updateOf('b'));
  t.is(textOf(await client.call('state', 'd99')).length, 2);
});

test('updates of many clients at once are all in the state, whichever worker takes them', async (t) => {
  const clients = Array.from({ length: 8 }, () => visitor(t));
  const letters = [...'abcdefgh'];
  await Promise.all(
    clients.flatMap((client, index) =>
      Array.from({ length: 5 }, () => client.publish('document:together', updateOf(letters[index]))),
    ),
  );
  const text = textOf(await clients[0].call('state', 'together'));
  t.deepEqual(
    [...text].sort(),
    letters.flatMap((letter) => Array.from({ length: 5 }, () => letter)),
  );
});
