// The chat example's page when a connection is lost, or its server: nothing is missing, or the page says what is.
import test from 'ava';

import { openChat } from '../support/chat-page.mjs';
import { join } from '../support/chatter.mjs';
import { until } from '../support/deadline.mjs';
import { browserTests, Example, ended, launchBrowser } from '../support/example.mjs';
import { FaultyProxy } from '../support/faulty-proxy.mjs';
import { freePort } from '../support/ports.mjs';

const SCRIPT = 'examples/chat/server.mjs';
const inBrowser = browserTests(test);

let chat;
let browser;
let rooms = 0;

test.before(async () => {
  chat = await Example.start(SCRIPT, ['--port', '0']);
});

test.after.always(async () => {
  await browser?.close();
  await chat?.kill();
});

/** A room that no other test uses. */
function newRoom() {
  rooms += 1;
  return `room-${rooms}`;
}

/** A user of the page, perhaps by a proxy. */
async function person(t, name, room, { url = chat.url, before } = {}) {
  browser ??= await launchBrowser();
  return openChat(t, browser, url, name, room, { before });
}

inBrowser('a page that was cut off gets all that it missed, once and in order, and sends what it wrote', async (t) => {
  const proxy = await FaultyProxy.start(t, chat.address);
  const room = newRoom();
  const anna = await person(t, 'Anna', room);
  const ben = await person(t, 'Ben', room, { url: `http://${proxy.address}` });
  await anna.notice('Ben joined');
  await ben.say('before');
  await anna.see('before');
  proxy.refuses = true;
  proxy.cut();
  await ben.page.locator('#banner').waitFor();
  await ben.page.locator('[data-joined="false"]').waitFor();
  await anna.notice('Ben left');
  const missed = Array.from({ length: 20 }, (_, index) => `missed ${index}`);
  for (const text of missed) await anna.say(text);
  await ben.say('written meanwhile');
  await until(async () => (await ben.waiting()).length === 1, 'the message that waits');
  await anna.see('missed 19');
  proxy.refuses = false;
  await ben.page.locator('[data-joined="true"]').waitFor();
  for (const { see } of [anna, ben]) await see('written meanwhile');
  for (const { bodies } of [anna, ben]) t.deepEqual(await bodies(), ['before', ...missed, 'written meanwhile']);
  t.deepEqual(await ben.waiting(), []);
  t.deepEqual(await ben.page.locator('#log .own .body').allTextContents(), ['before', 'written meanwhile']);
  await ben.notice('You are back, and nothing is missing.');
  await until(async () => (await anna.notices()).length === 4, 'Ben to be back');
  t.deepEqual(await anna.notices(), ['You joined as Anna', 'Ben joined', 'Ben left', 'Ben joined']);
  t.deepEqual(await ben.notices(), [
    'You joined as Ben',
    'The connection was lost. You are back, and nothing is missing.',
  ]);
  await ben.page.locator('#banner').waitFor({ state: 'hidden' });
  t.deepEqual([...anna.complaints, ...ben.complaints], []);
});

inBrowser('a page whose link was dead is the same person, also while the server does not know', async (t) => {
  const proxy = await FaultyProxy.start(t, chat.address);
  const room = newRoom();
  const anna = await person(t, 'Anna', room);
  const ben = await person(t, 'Ben', room, {
    url: `http://${proxy.address}`,
    // the client notices a dead link within 40 seconds
    before: (page) =>
      page.addInitScript((factor) => {
        const [wait, now] = [window.setTimeout, performance.now.bind(performance)];
        window.setTimeout = (call, ms) => wait(call, ms / factor);
        performance.now = () => now() * factor;
      }, 5),
  });
  await anna.notice('Ben joined');
  proxy.halfOpen();
  await anna.say('into the void');
  await ben.see('into the void');
  await ben.notice('You are back, and nothing is missing.');
  await ben.say('here again');
  await anna.see('here again');
  t.deepEqual(await anna.members(), ['Anna', 'Ben']);
  t.deepEqual(await ben.members(), ['Ben', 'Anna']);
  t.deepEqual(await anna.notices(), ['You joined as Anna', 'Ben joined']);
  t.deepEqual([...anna.complaints, ...ben.complaints], []);
});

inBrowser(
  'after a restart of the server the page is back, says that there is a gap, and sends what waits',
  async (t) => {
    // of its own, because another one might be taken while it is started again
    const port = String(await freePort());
    let own = await Example.start(SCRIPT, ['--port', port]);
    t.teardown(() => own.kill());
    const { url } = own;
    const anna = await person(t, 'Anna', 'general', { url });
    const ben = await person(t, 'Ben', 'general', { url });
    await anna.say('before');
    await ben.see('before');
    t.is(await own.end(), ended());
    for (const { page } of [anna, ben]) {
      await page.getByText('The connection was lost. The page tries again').waitFor();
      await page.locator('[data-joined="false"]').waitFor();
    }
    await anna.say('after');
    await until(async () => (await anna.waiting()).length === 1, 'the message that waits');
    own = await Example.start(SCRIPT, ['--port', port]);
    for (const { page } of [anna, ben]) await page.locator('[data-joined="true"]').waitFor();
    await anna.page.locator('#state').getByText('Connected', { exact: true }).waitFor();
    await anna.page.locator('#banner').waitFor({ state: 'hidden' });
    await until(async () => (await ben.members()).length === 2, 'both members');
    for (const { see, notice, bodies } of [anna, ben]) {
      await see('after');
      await notice('The server has lost its history');
      t.deepEqual(await bodies(), ['before', 'after']);
    }
    t.deepEqual(await anna.waiting(), []);
    t.deepEqual(await anna.page.locator('#log .own .body').allTextContents(), ['before', 'after']);
    t.deepEqual(anna.complaints, []);
  },
);

inBrowser('more was missed than the room keeps: the page has the rest, and says how much is missing', async (t) => {
  const proxy = await FaultyProxy.start(t, chat.address);
  const room = newRoom();
  const ben = await person(t, 'Ben', room, { url: `http://${proxy.address}` });
  const writers = await Promise.all(Array.from({ length: 40 }, (_, index) => join(t, chat.address, room, `W${index}`)));
  await writers[0].say('before');
  await ben.see('before');
  proxy.refuses = true;
  proxy.cut();
  await ben.page.locator('[data-joined="false"]').waitFor();
  // as many writers as keep below the rate of each
  for (let round = 0; round < 13; round++) await Promise.all(writers.map(({ say }) => say(`${round}`)));
  proxy.refuses = false;
  await ben.notice('20 messages are missing here.');
  const bodies = await ben.bodies();
  t.is(bodies.length, 501);
  t.is(bodies.at(-1), '12');
});

inBrowser('a message that was lost with its connection, or whose answer was, is there once', async (t) => {
  const losses = ['message', 'answer'];
  const anna = await person(t, 'Anna', newRoom(), {
    before: (page) =>
      page.routeWebSocket(/socket/, (socket) => {
        const server = socket.connectToServer();
        const lose = async () => {
          losses.shift();
          await server.close();
          await socket.close({ code: 3001 });
        };
        let published = false;
        socket.onMessage((message) => {
          const publishes = `${message}`.includes('"t":"pub"');
          if (publishes && losses[0] === 'message') return lose();
          published ||= publishes;
          return server.send(message);
        });
        server.onMessage((message) => (published && losses[0] === 'answer' ? lose() : socket.send(message)));
      }),
  });
  await anna.say('Do not lose me');
  await until(() => losses.length === 0, 'both losses');
  await anna.page.locator('[data-joined="true"]').waitFor();
  await until(async () => (await anna.waiting()).length === 0, 'the answer');
  await anna.see('Do not lose me');
  t.deepEqual(await anna.page.locator('#log .own .body').allTextContents(), ['Do not lose me']);
  t.deepEqual(await anna.bodies(), ['Do not lose me']);
});
