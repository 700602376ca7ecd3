// The pages of the examples that use the client: a SharedWorker, and a hook of React. With the server of the tests, which
// shows what they send, and with their own.
import path from 'node:path';
import test from 'ava';

import { builtByVite, messagesOf, say, shows, visit } from '../support/built-example.mjs';
import { until } from '../support/deadline.mjs';
import { browserTests, Example, ended, launchBrowser } from '../support/example.mjs';
import { ROOT } from '../support/markdown.mjs';
import { remove } from '../support/teardown.mjs';
import { pagesOf } from '../support/v1-pages.mjs';
import { V1Server } from '../support/v1-server.mjs';

const inBrowser = browserTests(test);
let [browser, react] = [];

inBrowser.before(async () => {
  browser = await launchBrowser();
  react = await builtByVite('react');
});
test.after.always(async () => {
  await browser?.close();
  if (react) await remove(react);
});

/** A server with the pages of an example. */
const serve = (t, pages) => V1Server.start(t, { channels: () => ({ history: 50 }), pages });

/** Cuts the connection when it is asked for the history the first time. */
function cutAtHistory(server) {
  let asked = 0;
  server.onSession = (session) => {
    const answer = session._hist;
    session._hist = (...given) => {
      asked += 1;
      if (asked === 1) session.cut();
      else answer.apply(session, given);
    };
  };
  return () => asked;
}

/** A page in a context, and what went wrong in it. */
async function open(context, server, complaints) {
  const page = await context.newPage();
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.goto(server.url.replace('ws', 'http'));
  await shows(page, 'open');
  return page;
}

inBrowser('shared-worker: tabs share one connection and what it has received', async (t) => {
  const folder = path.join(ROOT, 'examples/shared-worker/public');
  const server = await serve(t, pagesOf(folder, { '/client.mjs': path.join(ROOT, 'js/dist/client.mjs') }));
  server.publish('notes', '"before"');
  const context = await browser.newContext();
  t.teardown(() => context.close());
  const complaints = [];
  const one = await open(context, server, complaints);
  await messagesOf(one).getByText('before').waitFor();
  await say(one, 'from the first');
  await messagesOf(one).getByText('from the first').waitFor();
  const two = await open(context, server, complaints);
  await messagesOf(two).getByText('from the first').waitFor();
  t.deepEqual(await messagesOf(two).allTextContents(), ['before', 'from the first']);
  const tabs = (page, count) => page.getByRole('status', { name: 'Tabs' }).getByText(count, { exact: true }).waitFor();
  await tabs(one, '2');

  // a message that was missed, and one that was sent while the server was away
  const { current } = server;
  server.current.close(1012, 'retry=500');
  await until(() => current.over, 'the end of the connection');
  server.publish('notes', '"missed"');
  await say(two, 'kept');
  for (const page of [one, two]) {
    await messagesOf(page).getByText('kept').waitFor();
    t.deepEqual(await messagesOf(page).allTextContents(), ['before', 'from the first', 'missed', 'kept']);
  }
  t.is(server.sessions.length, 2);

  // a gap: the server kept nothing, and the connection is lost once more while the page asks what there is
  const asked = cutAtHistory(server);
  server.channels.get('notes').renew();
  server.publish('notes', '"anew"');
  server.current.cut();
  for (const page of [one, two]) {
    await messagesOf(page).getByText('anew').waitFor();
    t.deepEqual(await messagesOf(page).allTextContents(), ['anew']);
  }
  t.is(asked(), 2);
  await two.close();
  await tabs(one, '1');
  t.deepEqual(complaints, []);
  t.deepEqual(server.violations, []);
});

inBrowser('react: a component has the last messages of its channel, also after a lost connection', async (t) => {
  const server = await serve(t, pagesOf(path.join(react, 'dist')));
  server.publish('room:lobby', '"before"');
  const context = await browser.newContext();
  t.teardown(() => context.close());
  const complaints = [];
  const page = await open(context, server, complaints);
  await messagesOf(page).getByText('before').waitFor();
  await say(page, 'mine');
  await messagesOf(page).getByText('mine').waitFor();
  server.publish('room:music', '"in music"');

  // another room: the server sends nothing of the first one any more
  const { members } = server.channels.get('room:lobby');
  await page.getByRole('button', { name: 'music' }).click();
  await messagesOf(page).getByText('in music').waitFor();
  t.deepEqual(await messagesOf(page).allTextContents(), ['in music']);
  await until(() => members.size === 0, 'the end of the subscription');
  await page.getByRole('button', { name: 'lobby' }).click();
  await messagesOf(page).getByText('mine').waitFor();
  t.deepEqual(await messagesOf(page).allTextContents(), ['before', 'mine']);

  server.current.close(1012, 'retry=5000');
  await shows(page, 'waiting');
  server.publish('room:lobby', '"missed"');
  await say(page, 'kept');
  await messagesOf(page).getByText('kept').waitFor();
  t.deepEqual(await messagesOf(page).allTextContents(), ['before', 'mine', 'missed', 'kept']);
  // a gap, and the connection is lost once more while the page asks what there is
  const asked = cutAtHistory(server);
  server.channels.get('room:lobby').renew();
  server.publish('room:lobby', '"anew"');
  server.current.cut();
  await messagesOf(page).getByText('anew').waitFor();
  t.deepEqual(await messagesOf(page).allTextContents(), ['anew']);
  t.is(asked(), 2);
  await page.getByRole('button', { name: 'Leave' }).click();
  await until(() => members.size === 0, 'the end of the subscription');
  t.deepEqual(complaints, []);
  t.deepEqual(server.violations, []);
});

/** Two pages talk over the example's own server, and a third that comes late sees what was said. */
async function talk(t, script) {
  const example = await Example.start(script, ['--port', '0']);
  t.teardown(() => example.kill());
  const [one, two] = [await visit(t, browser, example.url), await visit(t, browser, example.url)];
  for (const { page } of [one, two]) await shows(page, 'open');
  await say(one.page, 'from one');
  await messagesOf(two.page).getByText('from one').waitFor();
  await say(two.page, 'from <b>two');
  await messagesOf(one.page).getByText('from <b>two').waitFor();
  const late = await visit(t, browser, example.url);
  await messagesOf(late.page).getByText('from <b>two').waitFor();
  t.deepEqual(await messagesOf(late.page).allTextContents(), ['from one', 'from <b>two']);
  t.deepEqual([...one.complaints, ...two.complaints, ...late.complaints], []);
  t.is(await example.end(), ended());
}

inBrowser('shared-worker: browsers talk over the server of the example', async (t) => {
  await talk(t, 'examples/shared-worker/server.mjs');
});

inBrowser('react: pages talk over the server of the example', async (t) => {
  await talk(t, `${react}/server.mjs`);
});
