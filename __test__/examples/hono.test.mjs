// The Hono example: requests and sockets of one server meet in the rooms.
import test from 'ava';

import { browserTests, Example, ended, launchBrowser } from '../support/example.mjs';
import { connect } from '../support/ws-client.mjs';

const inBrowser = browserTests(test);
let example;

test.before(async () => {
  example = await Example.start('examples/hono/server.mjs', [], { PORT: '0' });
});
test.after.always(() => example?.kill());

const listen = (t, room) => connect(t, example.address, { path: `/rooms/${room}` });

async function post(room, body, type = 'application/json') {
  const headers = { 'content-type': type, connection: 'close' };
  const answer = await fetch(`${example.url}/rooms/${room}/messages`, { method: 'POST', headers, body });
  const text = await answer.text();
  return { status: answer.status, text, json: () => JSON.parse(text) };
}

test('what is posted, and what a socket says, reaches the sockets of the room', async (t) => {
  // two workers: the sockets are dealt to both
  const [one, two, other] = [await listen(t, 'mill'), await listen(t, 'mill'), await listen(t, 'other')];
  for (const text of ['first', 'second', 'third']) {
    const answer = await post('mill', JSON.stringify({ text: ` ${text} ` }));
    t.is(answer.status, 201);
    t.deepEqual(answer.json(), { heard: 2 });
    for (const client of [one, two]) t.deepEqual(await client.json(), { room: 'mill', text });
  }
  two.send('fourth');
  for (const client of [one, two]) t.deepEqual(await client.json(), { room: 'mill', text: 'fourth' });
  other.send('alone');
  t.deepEqual(await other.json(), { room: 'other', text: 'alone' });
  t.deepEqual((await post('empty', '{"text":"hello"}')).json(), { heard: 0 });
});

test('what is no message is refused', async (t) => {
  for (const body of ['{}', 'null', '{"text":7}', '{"text":" "}', '{"text":'])
    t.is((await post('mill', body)).status, 400, body);
  t.is((await post('mill', '{"text":"hello"}', 'text/plain')).status, 400);
  t.is((await post('mill', JSON.stringify({ text: 'x'.repeat(5000) }))).status, 413);
  t.is((await post('mill/more', '{"text":"hello"}')).status, 404);
  t.is((await t.throwsAsync(connect(t, example.address, { path: '/' }))).status, 404);
});

inBrowser('the page sends either way, and shows it in every window', async (t) => {
  const own = await Example.start('examples/hono/server.mjs', [], { PORT: '0' });
  t.teardown(() => own.kill());
  const browser = await launchBrowser();
  t.teardown(() => browser.close());
  const context = await browser.newContext();
  const pages = [await context.newPage(), await context.newPage()];
  for (const page of pages) {
    await page.goto(own.url);
    await page
      .getByRole('status')
      .filter({ hasText: /^Connected$/ })
      .waitFor();
  }
  for (const [index, button] of ['Send by HTTP', 'Send by socket'].entries()) {
    await pages[index].getByLabel('Message').fill(`<i>${button}</i>`);
    await pages[index].getByRole('button', { name: button }).click();
    for (const page of pages) await page.getByText(`<i>${button}</i>`).waitFor();
  }
  t.is(await own.end(), ended());
});
