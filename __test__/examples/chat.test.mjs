// The chat example's server, tested with a strict client. Its page is in chat-page.test.mjs.
import test from 'ava';
import { until } from '../support/deadline.mjs';
import { Example } from '../support/example.mjs';
import { exchange, handshake } from '../support/http.mjs';
import { signalTests } from '../support/platforms.mjs';
import { ownServer, worker } from '../support/server.mjs';
import { connect } from '../support/ws-client.mjs';

const SCRIPT = 'examples/chat/server.mjs';

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

test('a new member gets the list of members, and the others get the new member', async (t) => {
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

test('a member whose connection is lost is reported, once', async (t) => {
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

test('no members stay in a room after their worker died', async (t) => {
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

test('a new member gets the last 50 messages in order, also in a room that was empty', async (t) => {
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
    const messages = [];
    while (messages.length < expected.length) {
      const message = await told(client);
      if (message.type === 'chat-message') messages.push(message);
    }
    t.deepEqual(messages.map(({ body }) => body).sort(), expected);
    t.is(new Set(messages.map(({ id }) => id)).size, expected.length);
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
