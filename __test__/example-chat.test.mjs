// The chat example, end to end: what its server says to a strict client, and its page in a real browser.
// Over 400 lines because every test here talks to the same few pages and servers.
import { mkdtemp, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'ava';
import { until } from './support/deadline.mjs';
import { browserTests, Example, ended, launchBrowser } from './support/example.mjs';
import { exchange, handshake } from './support/http.mjs';
import { signalTests } from './support/platforms.mjs';
import { freePort } from './support/ports.mjs';
import { ownServer, worker } from './support/server.mjs';
import { remove } from './support/teardown.mjs';
import { connect } from './support/ws-client.mjs';

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

/** A client that has joined, with the answer it got. */
async function join(t, room, alias, address = chat.address) {
  const client = await connect(t, address, { path: '/socket' });
  client.send(JSON.stringify({ type: 'join', alias, room }));
  const joined = await told(client);
  return Object.assign(client, { joined, id: joined.id });
}

async function told(client) {
  return JSON.parse(await client.text());
}

function say(client, body) {
  client.send(JSON.stringify({ type: 'message', body }));
}

// --- The server

test('who joins is told who is there, and the others are told', async (t) => {
  const room = newRoom();
  const anna = await join(t, room, ' Anna \u202e ');
  t.like(anna.joined, { type: 'joined', alias: 'Anna', room, history: [] });
  t.deepEqual(anna.joined.members, [{ id: anna.id, alias: 'Anna' }]);
  const ben = await join(t, room.toUpperCase(), 'Ben');
  t.deepEqual(ben.joined.members, [
    { id: anna.id, alias: 'Anna' },
    { id: ben.id, alias: 'Ben' },
  ]);
  t.true(ben.joined.version > anna.joined.version);
  t.like(await told(anna), { type: 'user-joined', id: ben.id, alias: 'Ben', room, version: ben.joined.version });
  say(ben, ' hello ');
  for (const client of [anna, ben]) {
    const message = await told(client);
    t.like(message, { type: 'chat-message', from: ben.id, alias: 'Ben', body: 'hello', room });
    t.is(typeof message.timestamp, 'number');
  }
  ben.send(JSON.stringify({ type: 'typing' }));
  t.like(await told(anna), { type: 'typing', from: ben.id, alias: 'Ben' });
});

test('joining another room leaves the first', async (t) => {
  const [first, second] = [newRoom(), newRoom()];
  const anna = await join(t, first, 'Anna');
  const ben = await join(t, first, 'Ben');
  t.like(await told(anna), { type: 'user-joined' });
  ben.send(JSON.stringify({ type: 'join', alias: 'Benjamin', room: second }));
  t.like(await told(ben), { type: 'joined', alias: 'Benjamin', room: second });
  t.like(await told(anna), { type: 'user-left', id: ben.id, alias: 'Ben', room: first });
  say(anna, 'only in the first');
  t.like(await told(anna), { type: 'chat-message' });
  say(ben, 'only in the second');
  t.like(await told(ben), { body: 'only in the second' });
});

test('whoever vanishes without a word is reported, once', async (t) => {
  const room = newRoom();
  const anna = await join(t, room, 'Anna');
  const ben = await join(t, room, 'Ben');
  t.like(await told(anna), { type: 'user-joined' });
  ben.reset();
  t.like(await told(anna), { type: 'user-left', id: ben.id, alias: 'Ben' });
  const chiyo = await join(t, room, 'Chiyo');
  t.deepEqual(
    chiyo.joined.members.map(({ alias }) => alias),
    ['Anna', 'Chiyo'],
  );
});

test('a worker that dies leaves nobody behind in a room', async (t) => {
  const server = await ownServer(t, { workerPath: worker('chat-mortal'), threads: 2 });
  const clients = [];
  for (const alias of ['A', 'B', 'C', 'D']) {
    const client = await join(t, 'mill', alias, server.addresses[0]);
    const { workerId } = await server.call('getDebugState', 'sockets', client.id);
    clients.push(Object.assign(client, { alias, workerId }));
  }
  const doomed = clients.filter(({ workerId }) => workerId === clients[0].workerId);
  const others = clients.filter((client) => !doomed.includes(client));
  t.is(doomed.length, 2);
  doomed[0].send('die');
  for (const client of doomed) {
    await until(() => client.closeFrame, 'a close frame');
    t.is(client.closeFrame.code, 1011);
  }
  for (const client of others) {
    const left = [];
    while (left.length < doomed.length) {
      const event = await told(client);
      if (event.type === 'user-left') left.push(event.alias);
    }
    t.deepEqual(left.sort(), doomed.map(({ alias }) => alias).sort());
  }
  const late = await join(t, 'mill', 'Late', server.addresses[0]);
  t.deepEqual(
    late.joined.members.map(({ alias }) => alias).sort(),
    [...others.map(({ alias }) => alias), 'Late'].sort(),
  );
});

test('a newcomer is shown the last 50 messages, in order, also in a room that was empty', async (t) => {
  const room = newRoom();
  const anna = await join(t, room, 'Anna');
  // Slower than the limit of messages per second would allow in one go: each waits for its echo.
  for (let i = 0; i < 60; i += 1) {
    say(anna, `message ${i}`);
    t.like(await told(anna), { body: `message ${i}` });
  }
  anna.close(1000);
  await until(() => anna.over, 'the end of the connection');
  const ben = await until(async () => {
    const client = await join(t, room, 'Ben');
    if (client.joined.members.length === 1) return client;
    client.destroy();
    return undefined;
  }, 'the room without Anna');
  t.deepEqual(
    ben.joined.history.map(({ body }) => body),
    Array.from({ length: 50 }, (_, i) => `message ${i + 10}`),
  );
  const ids = ben.joined.history.map(({ id }) => id);
  t.deepEqual(
    ids,
    [...new Set(ids)].sort((a, b) => a - b),
  );
});

test('messages of many clients on several workers at once are all in the history', async (t) => {
  const room = newRoom();
  const clients = await Promise.all(Array.from({ length: 12 }, (_, i) => join(t, room, `Client ${i}`)));
  for (const [i, client] of clients.entries()) for (const part of ['a', 'b', 'c']) say(client, `${i}${part}`);
  const expected = clients.flatMap((_, i) => [`${i}a`, `${i}b`, `${i}c`]).sort();
  for (const client of clients) {
    const heard = [];
    while (heard.length < expected.length) {
      const message = await told(client);
      if (message.type === 'chat-message') heard.push(message);
    }
    t.deepEqual(heard.map(({ body }) => body).sort(), expected);
    t.is(new Set(heard.map(({ id }) => id)).size, expected.length);
  }
  const late = await join(t, room, 'Late');
  t.deepEqual(late.joined.history.map(({ body }) => body).sort(), expected);
  t.is(late.joined.members.length, clients.length + 1);
});

for (const [what, text, code] of [
  ['not JSON', '{"type":', 'bad-json'],
  ['a JSON null', 'null', 'bad-type'],
  ['an unknown type', '{"type":"shout"}', 'bad-type'],
  ['no alias', '{"type":"join","room":"x"}', 'bad-alias'],
  ['an alias of spaces', '{"type":"join","room":"x","alias":" \\n "}', 'bad-alias'],
  ['a long alias', JSON.stringify({ type: 'join', room: 'x', alias: 'a'.repeat(25) }), 'bad-alias'],
  ['an alias that is no text', '{"type":"join","room":"x","alias":{}}', 'bad-alias'],
  ['a room with a slash', '{"type":"join","room":"a/b","alias":"A"}', 'bad-room'],
  ['a long room', JSON.stringify({ type: 'join', room: 'r'.repeat(33), alias: 'A' }), 'bad-room'],
  ['a message before joining', '{"type":"message","body":"hello"}', 'not-joined'],
  ['typing before joining', '{"type":"typing"}', 'not-joined'],
]) {
  test(`${what} gets an error and nothing worse`, async (t) => {
    const client = await connect(t, chat.address, { path: '/socket' });
    client.send(text);
    t.like(await told(client), { type: 'error', code });
    client.send(JSON.stringify({ type: 'join', alias: 'A', room: newRoom() }));
    t.like(await told(client), { type: 'joined' });
  });
}

test('a message may be long, but not too long, and not of bytes', async (t) => {
  const client = await join(t, newRoom(), 'A');
  for (const body of ['', '   ', 'x'.repeat(2001), 7]) {
    say(client, body);
    t.like(await told(client), { type: 'error', code: 'bad-body' });
  }
  // The longest message that JSON can make of 2000 characters still fits into the server's limit.
  const escaped = '\\u00e9'.repeat(2000);
  client.send(`{"type":"message","body":"${escaped}"}`);
  t.is((await told(client)).body, 'é'.repeat(2000));
  client.send(Buffer.from('{}'));
  t.like(await told(client), { type: 'error', code: 'bad-json' });
  client.send('x'.repeat(20_000));
  await until(() => client.closeFrame, 'a close frame');
  t.is(client.closeFrame.code, 1009);
});

test('pages of other hosts cannot connect, and only the page is served', async (t) => {
  const headers = { Host: chat.address, Origin: `http://${chat.address}` };
  t.is((await handshake(chat.address, { headers })).status, 101);
  t.is((await handshake(chat.address, { headers: { ...headers, Origin: 'http://evil.example' } })).status, 403);
  const page = await fetch(chat.url);
  t.is(page.status, 200);
  t.regex(page.headers.get('content-security-policy'), /default-src 'self'/);
  t.is((await fetch(`${chat.url}/app.mjs?x=1`)).headers.get('content-type'), 'text/javascript; charset=utf-8');
  t.is((await fetch(`${chat.url}/nothing`)).status, 404);
  t.is((await fetch(chat.url, { method: 'POST' })).status, 405);
  for (const target of ['/../server.mjs', '/%2e%2e/server.mjs', '/..%2fserver.mjs', '*']) {
    const answer = await exchange(chat.address, Buffer.from(`GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`));
    t.true([400, 404].includes(answer.status), `${target} ${answer.status}`);
  }
});

signalTests(test)(
  'it ends with 0 on SIGINT and SIGTERM, tells the pages, and says when its port is taken',
  async (t) => {
    for (const signal of ['SIGINT', 'SIGTERM']) {
      const own = await Example.start(SCRIPT, ['--port', '0']);
      t.teardown(() => own.kill());
      t.is(own.output, `Chat example: ${own.url}\n`);
      const client = await connect(t, own.address, { path: '/socket' });
      await t.throwsAsync(Example.start(SCRIPT, ['--port', own.port]), { message: /another port: --port/ });
      t.is(await own.end(signal), 0);
      await until(() => client.over, 'the end of the connection');
      t.is(client.closeFrame?.code, 1001);
    }
  },
);

// --- The page

/** A person at a browser of their own: `{page, say, see, notice}`. */
async function person(t, alias, room, { context: options, before, url = chat.url } = {}) {
  browser ??= await launchBrowser();
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  t.teardown(() => context.close());
  const page = await context.newPage();
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    // A browser reports each connection that fails; here that is expected while a server is away.
    if (message.type() === 'error' && !/WebSocket connection/.test(message.text())) complaints.push(message.text());
  });
  await before?.(page);
  await page.goto(`${url}/#${room}`);
  await page.getByRole('textbox', { name: 'Your name' }).fill(alias);
  await page.getByRole('button', { name: 'Enter the room' }).click();
  await page.locator('[data-joined="true"]').waitFor();
  return {
    page,
    complaints,
    say: async (text) => {
      await page.getByRole('textbox', { name: 'Message' }).fill(text);
      await page.getByRole('button', { name: 'Send' }).click();
    },
    see: (text) => page.locator('.entry .body').getByText(text, { exact: true }).waitFor(),
    notice: (text) => page.locator('.notice').filter({ hasText: text }).first().waitFor(),
    bodies: () => page.locator('.entry .body').allTextContents(),
    members: () => page.locator('#members bdi').allTextContents(),
  };
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
  const field = ben.page.getByRole('textbox', { name: 'Message' });
  // it is told for seconds only, so perhaps more than once
  await until(async () => {
    await field.fill('');
    await field.pressSequentially('More');
    return anna.page.getByText('Ben is typing…').isVisible();
  }, 'Ben to be seen typing');
  await ben.page.keyboard.press('Enter');
  await anna.see('More');
  t.is(await anna.page.locator('#typing').textContent(), '');

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

inBrowser('the page comes back by itself after the server was restarted', async (t) => {
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
    await page.getByText('The connection was lost. Trying again in').waitFor();
    await page.locator('[data-joined="false"]').waitFor();
  }
  await anna.page.getByRole('textbox', { name: 'Message' }).fill('after');
  t.true(await anna.page.getByRole('button', { name: 'Send' }).isDisabled());
  own = await Example.start(SCRIPT, ['--port', port]);
  for (const { page } of [anna, ben]) await page.locator('[data-joined="true"]').waitFor();
  await anna.page.locator('#state').getByText('Connected', { exact: true }).waitFor();
  await anna.page.locator('#banner').waitFor({ state: 'hidden' });
  await until(async () => (await ben.members()).length === 2, 'both members');
  await anna.page.getByRole('button', { name: 'Send' }).click();
  await ben.see('after');
  t.deepEqual(await ben.bodies(), ['before', 'after']);
  t.deepEqual(await anna.page.locator('.entry.own .body').allTextContents(), ['before', 'after']);
});

inBrowser('a message that was lost with its connection goes back into the field', async (t) => {
  let lose = true;
  const anna = await person(t, 'Anna', newRoom(), {
    before: (page) =>
      page.routeWebSocket(/socket/, (socket) => {
        const server = socket.connectToServer();
        socket.onMessage((message) => {
          if (!lose || !message.includes('"message"')) return server.send(message);
          lose = false;
          return server.close().then(() => socket.close());
        });
      }),
  });
  await anna.say('Do not lose me');
  const field = anna.page.getByRole('textbox', { name: 'Message' });
  await until(async () => (await field.inputValue()) === 'Do not lose me', 'the text in the field');
  await anna.page.locator('[data-joined="true"]').waitFor();
  await anna.page.keyboard.press('Enter');
  await anna.see('Do not lose me');
  t.deepEqual(await anna.bodies(), ['Do not lose me']);
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
