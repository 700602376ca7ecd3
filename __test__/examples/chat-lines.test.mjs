// The chat example by `nc`: lines of plain text and pages in the same rooms, by the same rules.
import test from 'ava';

import { join } from '../support/chatter.mjs';
import { Example } from '../support/example.mjs';
import { TcpClient } from '../support/tcp.mjs';

const SERVER = 'examples/chat/server.mjs';

let chat;
let port;
test.before(async () => {
  chat = await Example.start(SERVER, ['--port', '0', '--line-port', '0', '--host', '127.0.0.1']);
  port = /^For terminals: nc 127\.0\.0\.1 (\d+)$/m.exec(chat.output)[1];
});
test.after.always(() => chat?.kill());

const page = (t, room, name) => join(t, chat.address, room, name);

/** What a client reads until it is in a room; others come and go meanwhile where it was before. */
async function untilIn(client, room) {
  const lines = [];
  while (!lines.at(-1)?.startsWith('* You are') || !lines.at(-1).includes(` in ${room}, `)) {
    lines.push(await client.line());
  }
  return lines.filter((line) => !/^\* \S+ (joined|left)$/.test(line));
}

/** A client that has said its name and gone to a room, and the lines with which it is received there. */
async function enter(t, name, room) {
  const client = await TcpClient.connect(t, `127.0.0.1:${port}`);
  t.is(await client.line(), 'Welcome to the chat. What is your name?');
  client.write(`${name}\n`);
  await untilIn(client, 'lobby');
  client.write(`/join ${room}\n`);
  return Object.assign(client, { received: await untilIn(client, room.toLowerCase()) });
}

test('lines and pages see each other', async (t) => {
  const ben = await page(t, 'mill', 'Ben');
  await ben.say('before');
  const anna = await enter(t, 'Anna', 'MILL');
  t.deepEqual(anna.received, ['* You are Anna in mill, with Ben.']);
  t.is(await anna.line(), '<Ben>\tbefore');
  await ben.sees('+Anna');
  t.deepEqual(await ben.names(), ['Ben', 'Anna']);
  anna.write('hello, grüße\r\n\n  \n');
  await ben.hears('<Anna>\thello, grüße');
  await ben.client.call('typing', true);
  await ben.say('and\nhello');
  t.is(await anna.line(), '<Ben>\tand hello', 'one line, and none of what was typed here');
  const chiyo = await enter(t, 'Chiyo', 'mill');
  t.deepEqual(chiyo.received, ['* You are Chiyo in mill, with Ben, Anna.']);
  for (const line of ['<Ben>\tbefore', '<Anna>\thello, grüße', '<Ben>\tand hello']) t.is(await chiyo.line(), line);
  t.is(await anna.line(), '* Chiyo joined');
  chiyo.write('between lines\n');
  t.is(await anna.line(), '<Chiyo>\tbetween lines');
  await ben.hears('<Chiyo>\tbetween lines');
  // who comes and goes within 50 ms is not told of as coming
  await ben.sees('+Chiyo');
  chiyo.write('/join elsewhere\n');
  t.is(await chiyo.line(), '* You are Chiyo in elsewhere, alone.');
  t.is(await anna.line(), '* Chiyo left');
  await ben.sees('-Chiyo');
  const late = await page(t, 'mill', 'Late');
  t.is(await anna.line(), '* Late joined');
  await ben.sees('+Late');
  late.client.close();
  t.is(await anna.line(), '* Late left');
  await ben.sees('-Late');
  anna.write('/quit\n');
  t.is(await anna.rest(), '');
  await ben.sees('-Anna');
  t.deepEqual(ben.moves, ['+Anna', '+Chiyo', '-Chiyo', '+Late', '-Late', '-Anna']);
});

test('no input of another user controls the terminal or looks like a line of another user', async (t) => {
  const anna = await enter(t, 'Anna', 'hostile');
  const ben = await page(t, 'hostile', 'Ben');
  t.is(await anna.line(), '* Ben joined');
  await ben.say('a\x1b[2J\u009b31m\tb\u202ec\u2028d\n<Anna> forged\r\x07');
  t.is(await anna.line(), '<Ben>\ta[2J31m\tbc d <Anna> forged');
});

test('errors are reported only to their own client', async (t) => {
  const ben = await page(t, 'strict', 'Ben');
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
  await ben.sees('+Anna');
  client.write(`${'x'.repeat(2001)}\n`);
  t.is(await client.line(), '! A message has 1 to 2000 characters.');
  client.write(Buffer.of(0xff, 10));
  t.is(await client.line(), '! Send text.');
  client.end('the last words');
  t.is(await client.rest(), '');
  await ben.sees('-Anna');
  t.deepEqual(ben.heard, ['<Anna>\tthe last words']);
});

test('too long a line, and a request of HTTP, close the connection', async (t) => {
  const client = await enter(t, 'Anna', 'long');
  client.write('x'.repeat(17_000));
  await client.rest();
  const http = await TcpClient.connect(t, `127.0.0.1:${port}`);
  http.write('POST / HTTP/1.1\r\n\r\nAnna\nhello\n');
  t.is(await http.rest(), 'Welcome to the chat. What is your name?\n');
});
