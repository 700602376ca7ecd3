// The chat example's page in a real browser. Lost connections are in chat-loss.test.mjs, its server in chat.test.mjs.
import { mkdtemp, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'ava';
import { openChat } from '../support/chat-page.mjs';
import { until } from '../support/deadline.mjs';
import { browserTests, Example, launchBrowser } from '../support/example.mjs';
import { remove } from '../support/teardown.mjs';

const SCRIPT = 'examples/chat/server.mjs';
const inBrowser = browserTests(test);

let chat;
let browser;
let folder;
let rooms = 0;

test.before(async () => {
  chat = await Example.start(SCRIPT, ['--port', '0']);
  folder = await mkdtemp(path.join(tmpdir(), 'millrace-chat-'));
});

test.after.always(async () => {
  await browser?.close();
  await chat?.kill();
  if (folder !== undefined) await remove(folder);
});

/** A room that no other test uses. */
function newRoom() {
  rooms += 1;
  return `room-${rooms}`;
}

/** A user of the page. */
async function person(t, name, room, options) {
  browser ??= await launchBrowser();
  return openChat(t, browser, chat.url, name, room, options);
}

inBrowser('two pages talk in a room, a third elsewhere hears nothing', async (t) => {
  const [here, elsewhere] = [newRoom(), newRoom()];
  const anna = await person(t, 'Anna', here);
  const chiyo = await person(t, 'Chiyo', elsewhere);
  await anna.say('Is anyone here?');
  await anna.see('Is anyone here?');
  const ben = await person(t, 'Ben', here);
  await ben.see('Is anyone here?');
  await anna.notice('Ben joined');
  t.deepEqual(await anna.members(), ['Anna', 'Ben']);
  t.deepEqual(await ben.members(), ['Ben', 'Anna']);
  await ben.say('Yes!\nIn two lines.');
  await anna.see('Yes!\nIn two lines.');
  await ben.page.getByRole('textbox', { name: 'Message' }).fill('More');
  await anna.page.getByText('Ben is typing…').waitFor();
  await ben.page.keyboard.press('Enter');
  await anna.see('More');
  await until(async () => (await anna.page.locator('#typing').textContent()) === '', 'Ben to be typing no more');

  // Own words stand apart from others', also after a reload.
  t.deepEqual(await anna.page.locator('.entry.own .body').allTextContents(), ['Is anyone here?']);
  await anna.page.reload();
  await anna.see('More');
  t.deepEqual(await anna.page.locator('.entry.own .body').allTextContents(), ['Is anyone here?']);

  // Whatever had gone to the wrong room would have come before this.
  await chiyo.say('Quiet in here.');
  await chiyo.see('Quiet in here.');
  t.deepEqual(await chiyo.bodies(), ['Quiet in here.']);
  t.deepEqual(await chiyo.members(), ['Chiyo']);

  await ben.page.close();
  await anna.notice('Ben left');
  t.deepEqual(await anna.members(), ['Anna']);
  t.deepEqual([...anna.complaints, ...ben.complaints, ...chiyo.complaints], []);
});

inBrowser('rooms are switched by link, by name and with the back button, and keep their messages', async (t) => {
  const [first, second] = [newRoom(), newRoom()];
  const anna = await person(t, 'Anna', first);
  const ben = await person(t, 'Ben', second);
  await anna.say('In the first');
  await anna.see('In the first');
  await anna.page.getByLabel('Name of another room').fill(` #${second.toUpperCase()} `);
  await anna.page.getByRole('button', { name: 'Go' }).click();
  await ben.notice('Anna joined');
  await anna.notice('You joined');
  t.is(new URL(anna.page.url()).hash, `#${second}`);
  await ben.say('Welcome to the second');
  await anna.see('Welcome to the second');
  t.false((await anna.bodies()).includes('In the first'));
  await anna.page.goBack();
  await anna.see('In the first');
  await ben.notice('Anna left');
  t.is(await anna.page.locator('#room-title').textContent(), `#${first}`);
  await anna.page.getByRole('link', { name: second }).click();
  await anna.see('Welcome to the second');
  t.deepEqual(await anna.bodies(), ['Welcome to the second']);
  t.deepEqual(anna.complaints, []);
});

inBrowser('a new name is told to the room', async (t) => {
  const room = newRoom();
  const anna = await person(t, 'Anna', room);
  const ben = await person(t, 'Ben', room);
  await ben.page.getByRole('button', { name: 'Rename' }).click();
  await ben.page.getByRole('textbox', { name: 'Your name' }).fill('Benjamin');
  await ben.page.keyboard.press('Enter');
  await anna.notice('Benjamin joined');
  t.deepEqual(await anna.members(), ['Anna', 'Benjamin']);
});

inBrowser('what people write is text, never markup', async (t) => {
  const room = newRoom();
  const anna = await person(t, 'Anna', room);
  const evil = await person(t, '<img src=x>&<b>', room);
  const text = '<img src=x onerror="document.title=1"><script>alert(1)</script> &amp; **x**';
  await evil.say(text);
  await anna.see(text);
  t.is(await anna.page.locator('.main img, .main script, .main b, #members img').count(), 0);
  t.deepEqual(
    await anna.members(),
    ['<img src=x>&<b>', 'Anna'].sort((a) => (a === 'Anna' ? -1 : 1)),
  );
  await evil.page.goto(`${chat.url}/#%E0%A4%A`);
  await evil.page.reload();
  await evil.page.getByRole('heading', { name: '#general' }).waitFor();
  t.deepEqual([...anna.complaints, ...evil.complaints], []);
});

inBrowser('a name or room that the server refuses is asked for again', async (t) => {
  const anna = await person(t, 'Anna', newRoom());
  await anna.page.getByLabel('Name of another room').fill('a/b');
  await anna.page.getByRole('button', { name: 'Go' }).click();
  await anna.page.getByRole('alert').filter({ hasText: 'A room has' }).waitFor();
  const room = newRoom();
  await anna.page.getByRole('textbox', { name: 'Room', exact: true }).fill(room);
  await anna.page.keyboard.press('Enter');
  await anna.page.locator('[data-joined="true"]').waitFor();
  t.is(await anna.page.locator('#room-title').textContent(), `#${room}`);
});

inBrowser('the title counts what came while nobody looked', async (t) => {
  const room = newRoom();
  const anna = await person(t, 'Anna', room);
  const ben = await person(t, 'Ben', room);
  const look = (hidden) =>
    anna.page.evaluate((value) => {
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => value });
      document.dispatchEvent(new Event('visibilitychange'));
    }, hidden);
  await look(true);
  await ben.say('one');
  await ben.say('two');
  await anna.see('two');
  t.is(await anna.page.title(), `(2) #${room} · Millrace chat`);
  await look(false);
  t.is(await anna.page.title(), `#${room} · Millrace chat`);
});

inBrowser('who reads further up is not pulled down, and told what is new', async (t) => {
  const room = newRoom();
  const anna = await person(t, 'Anna', room, { context: { viewport: { width: 800, height: 420 } } });
  const ben = await person(t, 'Ben', room);
  for (let i = 0; i < 12; i += 1) await ben.say(`line ${i}`);
  await anna.see('line 11');
  const gap = () =>
    anna.page.locator('#scroll').evaluate((list) => list.scrollHeight - list.scrollTop - list.clientHeight);
  await until(async () => (await gap()) < 2, 'the end of the list');
  await anna.page.locator('#scroll').evaluate((list) => list.scrollTo(0, 0));
  await anna.page.waitForFunction(() => document.querySelector('#scroll').scrollTop === 0);
  await ben.say('news');
  await anna.page.getByRole('button', { name: '1 new message' }).click();
  await until(async () => (await gap()) < 2, 'the end of the list');
  await anna.page.locator('#newer').waitFor({ state: 'hidden' });
  t.pass();
});

inBrowser('a name is kept within its limits, and a message that was refused goes back into the field', async (t) => {
  const anna = await person(t, 'Anna', newRoom());
  await anna.page.locator('#body').evaluate((field) => field.removeAttribute('maxlength'));
  await anna.say('x'.repeat(2001));
  await anna.page.getByRole('alert').filter({ hasText: 'A message has 1 to 2000' }).waitFor();
  t.is((await anna.page.locator('#body').inputValue()).length, 2001);
  t.deepEqual(await anna.waiting(), []);
});

inBrowser('it fits a phone: no sideways scrolling, a menu for rooms and members, targets for fingers', async (t) => {
  const room = newRoom();
  const anna = await person(t, 'Anna', room);
  const context = { viewport: { width: 360, height: 640 }, isMobile: true, hasTouch: true, colorScheme: 'dark' };
  const phone = await person(t, 'Ben', room, { context });
  await anna.say(`A long word: ${'wheel'.repeat(40)}`);
  await phone.page.locator('.entry').first().waitFor();
  t.is(await phone.page.evaluate(() => document.documentElement.scrollWidth), 360);
  t.false(await phone.page.locator('#side').isVisible());
  const size = await phone.page.getByRole('button', { name: 'Send' }).boundingBox();
  t.true(size.width >= 44 && size.height >= 44);
  t.true(
    await phone.page.locator('#body').evaluate((field) => Number.parseFloat(getComputedStyle(field).fontSize) >= 16),
  );
  const ground = await phone.page.locator('body').evaluate((body) => getComputedStyle(body).backgroundColor);
  t.true(
    ground.match(/\d+/g).every((part) => Number(part) < 64),
    ground,
  );

  await phone.page.getByRole('button', { name: 'Rooms and members' }).tap();
  await phone.page.getByRole('link', { name: 'ideas' }).waitFor();
  t.deepEqual(await phone.members(), ['Ben', 'Anna']);
  await phone.page.getByRole('link', { name: 'ideas' }).tap();
  await phone.page.getByRole('heading', { name: '#ideas' }).waitFor();
  await phone.page.locator('#side').waitFor({ state: 'hidden' });
  await anna.notice('Ben left');

  for (const [name, { page }] of [
    ['phone', phone],
    ['desktop', anna],
  ]) {
    const file = path.join(folder, `${name}.png`);
    await page.screenshot({ path: file });
    t.true((await stat(file)).size > 5000);
  }
});

inBrowser('a screen reader finds names for everything', async (t) => {
  const anna = await person(t, 'Anna', newRoom());
  await anna.say('Hello');
  await anna.see('Hello');
  const tree = await anna.page.locator('body').ariaSnapshot();
  for (const part of [
    'navigation "Rooms"',
    'heading "Here now 1"',
    'textbox "Name of another room"',
    'status: Connected',
    'log "Messages of this room"',
    'textbox "Message"',
    'button "Send"',
  ]) {
    t.true(tree.includes(part), `${part} in\n${tree}`);
  }
  const nameless = await anna.page
    .locator('button:visible, input:visible, textarea:visible, a:visible')
    .evaluateAll((all) => all.filter((e) => !e.labels?.length && !e.textContent.trim()).map((e) => e.outerHTML));
  t.deepEqual(nameless, []);
});
