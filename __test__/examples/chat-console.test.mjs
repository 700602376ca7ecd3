// The chat example in a terminal: consoles and browsers in the same rooms, by the same rules.
import test from 'ava';
import { until } from '../support/deadline.mjs';
import { Example, ended } from '../support/example.mjs';
import { connect as connectSockety, Draft, FastReply } from '../support/millrace-sockety.mjs';
import { connect } from '../support/ws-client.mjs';

const SERVER = 'examples/chat/server.mjs';
const CONSOLE = 'examples/chat/console.mjs';
const draft = Draft.for('chat').data();

let chat;
test.before(async () => {
  chat = await Example.start(SERVER, ['--port', '0', '--sockety-port', '0']);
});
test.after.always(() => chat?.kill());

const portOf = (server) => /console\.mjs lobby Anna (\d+)$/m.exec(server.output)[1];
const told = async (client) => JSON.parse(await client.text());

async function join(t, room, alias) {
  const client = await connect(t, chat.address, { path: '/socket' });
  client.send(JSON.stringify({ type: 'join', alias, room }));
  return Object.assign(client, { joined: await told(client) });
}

/** A console process that is in the room. */
async function openConsole(t, room, alias, server = chat) {
  const example = await Example.start(CONSOLE, [room, alias, portOf(server)], {}, /^\* You are (.*)\.\n/m, 'pipe');
  t.teardown(() => example.kill());
  return example;
}

/** A connection of Sockety: `ask` resolves with the answer, `events` are what was published to it. */
async function openSockety(t) {
  const connection = connectSockety(Number(portOf(chat)), 'localhost');
  t.teardown(() => connection.close(true));
  const events = [];
  connection.on('message', async (message) => events.push(JSON.parse((await message.dataBuffer()).toString())));
  await connection.ready();
  const ask = async (request) => {
    const data = typeof request === 'string' ? request : JSON.stringify(request);
    const answer = await connection.send(draft({ data })).response();
    return typeof answer === 'number' ? answer : JSON.parse((await answer.dataBuffer()).toString());
  };
  return { connection, events, ask };
}

test('a console and a browser talk in a room', async (t) => {
  const browser = await join(t, 'mill', 'Ben');
  browser.send(JSON.stringify({ type: 'message', body: 'before' }));
  t.like(await told(browser), { body: 'before' });
  const anna = await openConsole(t, 'MILL', 'Anna');
  t.is(anna.output, '<Ben> before\n* You are Anna in mill, with Ben.\n');
  const entered = await told(browser);
  t.like(entered, { type: 'user-joined', alias: 'Anna', room: 'mill' });
  anna.write('hello\n');
  t.like(await told(browser), { type: 'chat-message', alias: 'Anna', from: entered.id, body: 'hello' });
  browser.send(JSON.stringify({ type: 'message', body: 'and hello' }));
  await anna.printed('<Ben> and hello\n');
  const chiyo = await openConsole(t, 'mill', 'Chiyo');
  t.true(
    chiyo.output.startsWith('<Ben> before\n<Anna> hello\n<Ben> and hello\n* You are Chiyo in mill, with Ben, Anna.\n'),
  );
  await anna.printed('* Chiyo joined\n');
  t.like(await told(browser), { body: 'and hello' });
  t.like(await told(browser), { type: 'user-joined', alias: 'Chiyo' });
  chiyo.write('/join elsewhere\nalone here\n/quit\n');
  t.is(await chiyo.exited(), 0);
  t.regex(chiyo.output, /\* You are Chiyo in elsewhere, alone\.\n$/);
  await anna.printed('* Chiyo left\n');
  t.like(await told(browser), { type: 'user-left', alias: 'Chiyo', room: 'mill' });
  t.is(await anna.over(), 0);
  t.like(await told(browser), { type: 'user-left', alias: 'Anna', id: entered.id });
  t.false(anna.output.includes('<Anna>'), 'what a person says stands where it was typed');
});

test('no input of another user controls the terminal or looks like a line of another user', async (t) => {
  const anna = await openConsole(t, 'hostile', 'Anna');
  const browser = await join(t, 'hostile', 'Ben');
  const body = 'a\x1b[2J\u009b31m\tb\u202ec\u2028d\n<Anna> forged\r\x07';
  browser.send(JSON.stringify({ type: 'message', body }));
  await anna.printed('forged');
  t.true(anna.output.endsWith('<Ben> a[2J31m\ufffdb\ufffdc\ufffdd\n  <Anna> forged\n'), JSON.stringify(anna.output));
});

test('errors are printed, and the console ends with exit code 1 if it cannot continue', async (t) => {
  const anna = await openConsole(t, 'strict', 'Anna');
  anna.write(`/join a/b\n${'x'.repeat(2001)}\nstill here\n`);
  await anna.printed('! A room has 1 to 32');
  await anna.printed('! A message has 1 to 2000');
  const browser = await join(t, 'strict', 'Ben');
  t.is(browser.joined.members.length, 2);
  t.is(await anna.over(), 0);

  for (const [args, said] of [
    [['a/b', 'Anna', portOf(chat)], /^! A room has 1 to 32/],
    [['lobby', 'Anna', chat.port], /^! /],
    [['lobby', 'Anna', '1'], /^! connect ECONNREFUSED/],
  ]) {
    const { code, output } = await Example.run(t, CONSOLE, args);
    t.is(code, 1, output);
    t.regex(output, said);
    t.is(output.trim().split('\n').length, 1, output);
  }
  t.is((await Example.run(t, CONSOLE, ['lobby'])).code, 2);
});

test('a console ends when its server does', async (t) => {
  const own = await Example.start(SERVER, ['--port', '0', '--sockety-port', '0']);
  t.teardown(() => own.kill());
  const anna = await openConsole(t, 'lobby', 'Anna', own);
  t.is(await own.end(), ended());
  t.is(await anna.exited(), 1);
  t.regex(anna.output, /\n! The server has ended the connection\.\n$/);
});

test('requests are answered: accepted, refused with the reason, or not known', async (t) => {
  const { connection, events, ask } = await openSockety(t);
  t.like(await ask('{"type":'), { type: 'error', code: 'bad-json' });
  t.like(await ask(''), { code: 'bad-json' });
  t.like(await ask({ type: 'message', body: 'x' }), { code: 'not-joined' });
  t.like(await ask({ type: 'join', room: 'answers', alias: ' ' }), { code: 'bad-alias' });
  t.is(await ask({ type: 'join', room: 'answers', alias: 'Anna' }), FastReply.Accept);
  t.is(await ask({ type: 'typing' }), FastReply.Accept);
  t.is(await connection.send(Draft.for('shout').data('x')()).response(), FastReply.NotImplemented);
  t.like(await ask({ type: 'message', body: 7 }), { code: 'bad-body' });
  t.is(await ask({ type: 'message', body: 'é'.repeat(2000) }), FastReply.Accept);
  await until(() => events.length === 2, 'two events');
  t.deepEqual(
    events.map(({ type }) => type),
    ['joined', 'chat-message'],
  );
});

test('a request that is too long is refused, and other users do not notice', async (t) => {
  const browser = await join(t, 'long', 'Ben');
  const { connection, ask } = await openSockety(t);
  t.is(await ask({ type: 'join', room: 'long', alias: 'Anna' }), FastReply.Accept);
  t.like(await told(browser), { type: 'user-joined' });
  for (const bytes of [16_385, 3_000_000]) t.like(await ask('x'.repeat(bytes)), { type: 'error', code: 'too-long' });
  t.is(await ask({ type: 'message', body: 'short' }), FastReply.Accept);
  t.like(await told(browser), { type: 'chat-message', alias: 'Anna', body: 'short' });
  connection.close();
  t.like(await told(browser), { type: 'user-left', alias: 'Anna' });
});

test('requests that do not wait for answers are done one after the other', async (t) => {
  const { ask } = await openSockety(t);
  const joins = ['one', 'two', 'three'].map((room) => ask({ type: 'join', room: `turns-${room}`, alias: 'Anna' }));
  const answers = await Promise.all([...joins, ask({ type: 'message', body: 'hello' })]);
  t.deepEqual(answers, [FastReply.Accept, FastReply.Accept, FastReply.Accept, FastReply.Accept]);
  for (const [room, expected, history] of [
    ['one', ['Ben'], 0],
    ['two', ['Ben'], 0],
    ['three', ['Anna', 'Ben'], 1],
  ]) {
    const { joined } = await join(t, `turns-${room}`, 'Ben');
    t.deepEqual(
      joined.members.map(({ alias }) => alias),
      expected,
    );
    t.is(joined.history.length, history);
  }
});
