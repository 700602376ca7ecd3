// The chat example by `nc`: lines of plain text and browsers in the same rooms, by the same rules.
import test from 'ava';

import { Example } from '../support/example.mjs';
import { TcpClient } from '../support/tcp.mjs';
import { connect } from '../support/ws-client.mjs';

const SERVER = 'examples/chat/server.mjs';

let chat;
let port;
test.before(async () => {
  chat = await Example.start(SERVER, ['--port', '0', '--line-port', '0', '--host', '127.0.0.1']);
  port = /^For terminals: nc 127\.0\.0\.1 (\d+)$/m.exec(chat.output)[1];
});
test.after.always(() => chat?.kill());

const told = async (client) => JSON.parse(await client.text());
const tell = (client, request) => client.send(JSON.stringify(request));

async function browse(t, room, alias) {
  const client = await connect(t, chat.address, { path: '/socket' });
  tell(client, { type: 'join', alias, room });
  return Object.assign(client, { joined: await told(client) });
}

/** What a client reads until it is in a room; others come and go meanwhile where it was before. */
async function untilIn(client, room) {
  const lines = [];
  while (!lines.at(-1)?.startsWith('* You are') || !lines.at(-1).includes(` in ${room}, `)) {
    lines.push(await client.line());
  }
  return lines.filter((line) => !/^\* \S+ (joined|left)$/.test(line));
}

/** A client that has said its name and gone to a room, and the lines with which it is received there. */
async function enter(t, alias, room) {
  const client = await TcpClient.connect(t, `127.0.0.1:${port}`);
  t.is(await client.line(), 'Welcome to the chat. What is your name?');
  client.write(`${alias}\n`);
  await untilIn(client, 'lobby');
  client.write(`/join ${room}\n`);
  return Object.assign(client, { received: await untilIn(client, room.toLowerCase()) });
}

test('lines and browsers see each other', async (t) => {
  const browser = await browse(t, 'mill', 'Ben');
  tell(browser, { type: 'message', body: 'before' });
  t.like(await told(browser), { body: 'before' });
  const anna = await enter(t, 'Anna', 'MILL');
  t.deepEqual(anna.received, ['<Ben> before', '* You are Anna in mill, with Ben.']);
  const entered = await told(browser);
  t.like(entered, { type: 'user-joined', alias: 'Anna', room: 'mill' });
  anna.write('hello, grüße\r\n\n  \n');
  t.like(await told(browser), { type: 'chat-message', alias: 'Anna', from: entered.id, body: 'hello, grüße' });
  tell(browser, { type: 'typing' });
  tell(browser, { type: 'message', body: 'and\nhello' });
  t.like(await told(browser), { body: 'and\nhello' });
  t.is(await anna.line(), '<Ben> and hello', 'one line, and none of what was typed here');
  const chiyo = await enter(t, 'Chiyo', 'mill');
  t.deepEqual(chiyo.received, [
    '<Ben> before',
    '<Anna> hello, grüße',
    '<Ben> and hello',
    '* You are Chiyo in mill, with Ben, Anna.',
  ]);
  t.is(await anna.line(), '* Chiyo joined');
  chiyo.write('between lines\n');
  t.is(await anna.line(), '<Chiyo> between lines');
  t.like(await told(browser), { type: 'user-joined', alias: 'Chiyo' });
  t.like(await told(browser), { alias: 'Chiyo', body: 'between lines' });
  chiyo.write('/join elsewhere\n');
  t.is(await chiyo.line(), '* You are Chiyo in elsewhere, alone.');
  t.is(await anna.line(), '* Chiyo left');
  t.like(await told(browser), { type: 'user-left', alias: 'Chiyo', room: 'mill' });
  browser.close();
  t.is(await anna.line(), '* Ben left');
  anna.write('/quit\n');
  t.is(await anna.rest(), '');
});

test('no input of another user controls the terminal or looks like a line of another user', async (t) => {
  const anna = await enter(t, 'Anna', 'hostile');
  const browser = await browse(t, 'hostile', 'Ben');
  t.is(await anna.line(), '* Ben joined');
  tell(browser, { type: 'message', body: 'a\x1b[2J\u009b31m\tb\u202ec\u2028d\n<Anna> forged\r\x07' });
  t.is(await anna.line(), '<Ben> a[2J31m b\ufffdc\ufffdd <Anna> forged');
});

test('errors are reported only to their own client', async (t) => {
  const browser = await browse(t, 'strict', 'Ben');
  const client = await TcpClient.connect(t, `127.0.0.1:${port}`);
  await client.line();
  client.write(`${'x'.repeat(25)}\n`);
  t.is(await client.line(), '! A name has 1 to 24 characters.');
  client.write('Anna\n');
  await untilIn(client, 'lobby');
  client.write('/join a/b\n/join strict\n');
  const [refusal, welcome] = await untilIn(client, 'strict');
  t.regex(refusal, /^! A room has 1 to 32/);
  t.is(welcome, '* You are Anna in strict, with Ben.');
  client.write(`${'x'.repeat(2001)}\n`);
  t.is(await client.line(), '! A message has 1 to 2000 characters.');
  client.write(Buffer.of(0xff, 10));
  t.is(await client.line(), '! Send text.');
  t.like(await told(browser), { type: 'user-joined', alias: 'Anna' });
  client.end('the last words');
  t.is(await client.rest(), '');
  t.like(await told(browser), { type: 'chat-message', body: 'the last words' });
  t.like(await told(browser), { type: 'user-left', alias: 'Anna' });
});

test('too long a line, and a request of HTTP, close the connection', async (t) => {
  const client = await enter(t, 'Anna', 'long');
  client.write('x'.repeat(17_000));
  await client.rest();
  const http = await TcpClient.connect(t, `127.0.0.1:${port}`);
  http.write('POST / HTTP/1.1\r\n\r\nAnna\nhello\n');
  t.is(await http.rest(), 'Welcome to the chat. What is your name?\n');
});
