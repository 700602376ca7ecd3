// The example for Vue, built and in a real browser: what it subscribes to, what it lets go, and how it comes back.
import test from 'ava';

import { builtByVite, messagesOf, say, sayAndHear, shows, visit } from '../support/built-example.mjs';
import { until } from '../support/deadline.mjs';
import { browserTests, Example, ended, launchBrowser } from '../support/example.mjs';
import { freePort } from '../support/ports.mjs';
import { remove } from '../support/teardown.mjs';

const NAMES = ['vue'];
const inBrowser = browserTests(test);
let browser;

/** The folder of each, built. */
const built = {};

inBrowser.before(async () => {
  browser = await launchBrowser();
  for (const name of NAMES) built[name] = await builtByVite(name);
});
test.after.always(async () => {
  await browser?.close();
  for (const folder of Object.values(built)) await remove(folder);
});

for (const name of NAMES) {
  inBrowser(`${name}: a component hears its channel while it is mounted`, async (t) => {
    const example = await Example.start(`${built[name]}/server.mjs`, ['--port', '0']);
    t.teardown(() => example.kill());
    const [one, two] = [await visit(t, browser, example.url), await visit(t, browser, `${example.url}/any/page`)];
    await shows(one.page, 'open');
    await shows(two.page, 'open');
    await sayAndHear(one.page, 'first');
    await sayAndHear(two.page, 'second');
    await say(one.page, 'to all');
    await messagesOf(one.page).getByText('to all').waitFor();
    await messagesOf(two.page).getByText('to all').waitFor();

    // another room: its own messages are heard, and the server sends no others
    await two.page.getByRole('button', { name: 'music' }).click();
    await two.page.getByRole('heading', { name: 'music' }).waitFor();
    await sayAndHear(two.page, 'in music');
    await say(one.page, 'in the lobby');
    await messagesOf(one.page).getByText('in the lobby').waitFor();
    await say(two.page, 'another');
    await messagesOf(two.page).getByText('another').waitFor();
    t.deepEqual(await messagesOf(two.page).allTextContents(), ['in music', 'another']);
    t.deepEqual(await messagesOf(one.page).allTextContents(), ['first', 'second', 'to all', 'in the lobby']);
    t.true(two.frames.some((frame) => frame.includes('in music')));
    t.false(two.frames.some((frame) => frame.includes('in the lobby')));

    // the last component is gone, and so is the connection
    t.is(two.sockets.length, 1);
    await two.page.getByRole('button', { name: 'Leave' }).click();
    await shows(two.page, 'closed');
    await until(() => two.sockets[0].isClosed(), 'the end of the connection');
    await two.page.getByRole('button', { name: 'lobby' }).click();
    await shows(two.page, 'open');
    await sayAndHear(two.page, 'back');
    await say(one.page, 'again');
    await messagesOf(two.page).getByText('again').waitFor();
    t.is(two.sockets.length, 2);
    t.deepEqual([...one.complaints, ...two.complaints], []);
    t.is(await example.end(), ended());
  });

  inBrowser(`${name}: a lost connection is opened again, with its subscriptions`, async (t) => {
    const args = ['--port', String(await freePort())];
    let example = await Example.start(`${built[name]}/server.mjs`, args);
    t.teardown(() => example.kill());
    const { page, sockets, complaints } = await visit(t, browser, example.url);
    await shows(page, 'open');
    t.is(await example.end(), ended());
    await shows(page, 'waiting');
    // what cannot be sent stays in its field
    await say(page, 'kept');
    t.is(await page.getByRole('textbox', { name: 'Text' }).inputValue(), 'kept');

    example = await Example.start(`${built[name]}/server.mjs`, args);
    await shows(page, 'open');
    await page.getByRole('button', { name: 'Send' }).click();
    await messagesOf(page).getByText('kept').waitFor();
    t.is(await messagesOf(page).count(), 1);
    t.is(sockets.filter((socket) => !socket.isClosed()).length, 1);
    t.deepEqual(complaints, []);
  });
}
