// The chat example's server, tested with the package's client. Its page is in chat-page.test.mjs.
import test from 'ava';
import { WebSocket } from 'ws';

import { join as enter } from '../support/chatter.mjs';
import { until } from '../support/deadline.mjs';
import { Example } from '../support/example.mjs';
import { exchange, handshake } from '../support/http.mjs';
import { createClient } from '../support/millrace-client.mjs';
import { signalTests } from '../support/platforms.mjs';
import { ownServer, worker } from '../support/server.mjs';
import { connect } from '../support/ws-client.mjs';

const SCRIPT = 'examples/chat/server.mjs';
const CHANNELS = {
  'room:*': {
    history: { messages: 500, ageMs: 3_600_000 },
    presence: true,
    clients: { subscribe: true, publish: { from: true } },
  },
};

let chat;
let rooms = 0;

test.before(async () => {
  chat = await Example.start(SCRIPT, ['--port', '0']);
});

test.after.always(() => chat?.kill());

/** A room that no other test uses. */
function newRoom() {
  rooms += 1;
  return `room-${rooms}`;
}

const join = (t, room, name, options) => enter(t, chat.address, room, name, options);

test('a new member sees who is there, and the others see the new member', async (t) => {
  const room = newRoom();
  const anna = await join(t, room, ' Anna \u202e ', { tab: 'abcdefgh' });
  t.deepEqual(await anna.names(), ['Anna']);
  const ben = await join(t, room, 'Ben');
  t.deepEqual(await ben.names(), ['Anna', 'Ben']);
  await anna.sees('+Ben');
  const [{ info }, { info: other, socketId }] = await ben.subscription.presence();
  t.is(info.tab, 'abcdefgh');
  t.is(other.tab, `socket${socketId}`);
  const { position } = await ben.say(' hello ');
  t.is(position.offset, 1);
  for (const { hears, heard } of [anna, ben]) {
    await hears('<Ben>\thello');
    t.is(heard.length, 1);
  }
  await ben.client.call('typing', true);
  await until(() => anna.updates.length === 1, 'Ben to be typing');
  t.like(anna.updates[0], { name: 'Ben', typing: true });
  await ben.client.call('typing', false);
  await until(() => anna.updates.length === 2, 'Ben to be typing no more');
  t.like(anna.updates[1], { name: 'Ben', typing: false });
});

test('who goes to another room leaves the first, and may still write there', async (t) => {
  const [first, second] = [newRoom(), newRoom()];
  const [anna, ben] = [await join(t, first, 'Anna'), await join(t, first, 'Ben')];
  await anna.sees('+Ben');
  ben.subscription.close();
  await anna.sees('-Ben');
  const elsewhere = [];
  await new Promise((resolve) => {
    ben.client.subscribe(`room:${second}`, {
      info: { name: 'Benjamin' },
      onMessage: ({ data }) => elsewhere.push(data),
      onSubscribed: resolve,
    });
  });
  await anna.say('only in the first');
  await anna.hears('<Anna>\tonly in the first');
  await ben.client.publish(`room:${second}`, 'only in the second');
  await until(() => elsewhere.length === 1, 'the message');
  t.deepEqual(elsewhere, ['<Benjamin>\tonly in the second']);
  // what waited for the connection while a page went elsewhere
  await ben.say('late');
  await anna.hears('<Benjamin>\tlate');
  t.deepEqual(ben.heard, []);
});

test('a lost connection is a leave and a join, and nothing is missing behind it', async (t) => {
  const room = newRoom();
  const [anna, ben] = [await join(t, room, 'Anna'), await join(t, room, 'Ben')];
  await anna.sees('+Ben');
  ben.cut();
  await anna.sees('-Ben');
  for (let index = 0; index < 5; index++) await anna.say(`${index}`);
  await ben.hears('<Anna>\t4');
  t.deepEqual(
    ben.heard,
    [0, 1, 2, 3, 4].map((index) => `<Anna>\t${index}`),
  );
  await until(() => anna.moves.length === 3, 'Ben to be back');
  // both may be told together
  t.deepEqual([...anna.moves].sort(), ['+Ben', '+Ben', '-Ben']);
  t.deepEqual(await anna.names(), ['Anna', 'Ben']);
});

test('no members stay in a room after their worker died', async (t) => {
  const server = await ownServer(t, { workerPath: worker('chat-mortal'), threads: 2, channels: CHANNELS });
  const visitors = [];
  for (const name of ['A', 'B', 'C', 'D']) {
    const visitor = await enter(t, server.addresses[0], 'mill', name);
    const { workerId } = await server.call('getDebugState', 'sockets', Number(visitor.client.socketId));
    visitors.push({ ...visitor, name, workerId });
  }
  // who comes and goes at once is told to none of the others
  for (const [index, { sees }] of visitors.entries()) {
    for (const { name } of visitors.slice(index + 1)) await sees(`+${name}`);
  }
  const doomed = visitors.filter(({ workerId }) => workerId === visitors[0].workerId);
  const others = visitors.filter((visitor) => !doomed.includes(visitor));
  t.is(doomed.length, 2);
  const statuses = doomed.map(({ client }) => {
    const seen = [];
    client.onStatus((_status, reason) => seen.push(reason?.code));
    return seen;
  });
  doomed[0].client.call('die').catch(() => {});
  for (const { sees } of others) for (const { name } of doomed) await sees(`-${name}`);
  for (const seen of statuses) await until(() => seen.includes(1011), 'the end of who was lost');
  // they come back by themselves
  await until(async () => (await others[0].names()).length === 4, 'all four');
  const late = await enter(t, server.addresses[0], 'mill', 'Late');
  t.deepEqual((await late.names()).sort(), ['A', 'B', 'C', 'D', 'Late']);
});

test('a new member gets the last 50 messages in order, also in a room that was empty', async (t) => {
  const room = newRoom();
  const anna = await join(t, room, 'Anna');
  for (let index = 0; index < 60; index++) await anna.say(`message ${index}`);
  anna.client.close();
  const ben = await until(async () => {
    const visitor = await join(t, room, 'Ben');
    if ((await visitor.names()).length === 1) return visitor;
    visitor.client.close();
    return undefined;
  }, 'the room without Anna');
  await ben.hears('<Anna>\tmessage 59');
  t.deepEqual(
    ben.heard,
    Array.from({ length: 50 }, (_, index) => `<Anna>\tmessage ${index + 10}`),
  );
  const { publications } = await ben.subscription.history({ limit: 500 });
  t.is(publications.length, 60);
});

test('all clients see the messages of many workers in one order', async (t) => {
  const room = newRoom();
  const visitors = await Promise.all(Array.from({ length: 12 }, (_, index) => join(t, room, `Client ${index}`)));
  await Promise.all(visitors.flatMap(({ say }) => ['a', 'b', 'c'].map((part) => say(part))));
  for (const { heard } of visitors) await until(() => heard.length === 36, '36 messages');
  for (const { heard } of visitors) t.deepEqual(heard, visitors[0].heard);
  t.is(new Set(visitors[0].heard).size, 36);
  t.is((await visitors[0].names()).length, 12);
});

for (const [what, room, info, code] of [
  ['no name', 'x', {}, 'bad-name'],
  ['nothing about itself', 'x', undefined, 'bad-name'],
  ['a name of spaces', 'x', { name: ' \n ' }, 'bad-name'],
  ['a long name', 'x', { name: 'a'.repeat(25) }, 'bad-name'],
  ['a name that is no text', 'x', { name: {} }, 'bad-name'],
  ['a room with a slash', 'a/b', { name: 'A' }, 'bad-room'],
  ['a room in capitals', 'Room', { name: 'A' }, 'bad-room'],
  ['a long room', 'r'.repeat(33), { name: 'A' }, 'bad-room'],
  ['a room without a name', '', { name: 'A' }, 'bad-room'],
]) {
  test(`${what} is refused with the reason, and nothing worse happens`, async (t) => {
    const { client } = await join(t, newRoom(), 'A');
    const refusal = await new Promise((resolve, reject) => {
      client.subscribe(`room:${room}`, { info, onError: resolve, onSubscribed: reject });
    });
    t.is(refusal.code, code);
    t.regex(refusal.reason, /1 to \d+/);
    t.is(client.status, 'open');
  });
}

test('what the server does not know, and channels that are no rooms, are refused', async (t) => {
  const client = createClient(`ws://${chat.address}/socket`, { WebSocket });
  t.teardown(() => client.close());
  await t.throwsAsync(client.publish('room:x', 'hello'), { code: 'not-joined' });
  await t.throwsAsync(client.call('shout'), { code: 'not_found' });
  for (const channel of ['notices:lobby', 'lobby', 'room']) {
    await t.throwsAsync(client.publish(channel, 'hello'), { code: 'denied' });
    const refusal = await new Promise((resolve) => client.subscribe(channel, { onError: resolve }));
    t.is(refusal.code, 'denied');
  }
  const room = client.subscribe('room:nobody-joined');
  await t.throwsAsync(room.history(), { code: 'denied' });
});

test('a message may be long, but not too long, and has no control characters', async (t) => {
  const anna = await join(t, newRoom(), 'A');
  for (const body of ['', '   ', 'x'.repeat(2001), 7, null, Uint8Array.of(123)]) {
    const { code } = await t.throwsAsync(anna.say(body));
    t.true(['bad-body', 'bad-json'].includes(code), code);
  }
  // The longest message that JSON can make of 2000 characters still fits into the server's limit.
  await anna.say('\u0001'.repeat(1999) + 'é'.repeat(1000));
  await anna.hears(`<A>\t${'é'.repeat(1000)}`);
  await anna.say('a\x1b[2J\u009b31m\tb\u202ec\u2028d\n<Anna> forged\r\x07');
  await anna.hears('<A>\ta[2J31m\tbc\nd\n<Anna> forged');
});

test('pages of other hosts cannot connect, and only the page is served', async (t) => {
  const headers = { Host: chat.address, Origin: `http://${chat.address}` };
  t.is((await handshake(chat.address, { headers })).status, 101);
  t.is((await handshake(chat.address, { headers: { ...headers, Origin: 'http://evil.example' } })).status, 403);
  const page = await fetch(chat.url);
  t.is(page.status, 200);
  t.regex(page.headers.get('content-security-policy'), /default-src 'self'/);
  for (const script of ['app.mjs?x=1', 'client.mjs']) {
    t.is((await fetch(`${chat.url}/${script}`)).headers.get('content-type'), 'text/javascript; charset=utf-8');
  }
  t.is((await fetch(`${chat.url}/nothing`)).status, 404);
  t.is((await fetch(chat.url, { method: 'POST' })).status, 404);
  for (const target of ['/../server.mjs', '/%2e%2e/server.mjs', '/..%2fserver.mjs', '*']) {
    const answer = await exchange(chat.address, Buffer.from(`GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`));
    t.true([400, 404].includes(answer.status), `${target} ${answer.status}`);
  }
});

test('a WebSocket without the protocol is told which one it is', async (t) => {
  const client = await connect(t, chat.address, { path: '/socket' });
  client.send('{"type":"join"}');
  t.is((await client.closed()).code, 1002);
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
