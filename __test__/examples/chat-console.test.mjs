// The chat example in a terminal: consoles and pages in the same rooms, by the same rules.
import test from 'ava';
import { join } from '../support/chatter.mjs';
import { until } from '../support/deadline.mjs';
import { Example, ended } from '../support/example.mjs';
import { connect as connectSockety, Draft, FastReply } from '../support/millrace-sockety.mjs';

const SERVER = 'examples/chat/server.mjs';
const CONSOLE = 'examples/chat/console.mjs';
const draft = Draft.for('chat').data();

let chat;
test.before(async () => {
  chat = await Example.start(SERVER, ['--port', '0', '--sockety-port', '0']);
});
test.after.always(() => chat?.kill());

const portOf = (server) => /console\.mjs lobby Anna (\d+)$/m.exec(server.output)[1];
const page = (t, room, name) => join(t, chat.address, room, name);

/** A console process that is in the room. */
async function openConsole(t, room, name, server = chat) {
  const example = await Example.start(CONSOLE, [room, name, portOf(server)], {}, /^\* You are (.*)\.\n/m, 'pipe');
  t.teardown(() => example.kill());
  return example;
}

/** A connection of Sockety: `ask` resolves with the answer, `lines` are what was published to it. */
async function openSockety(t) {
  const connection = connectSockety(Number(portOf(chat)), 'localhost');
  t.teardown(() => connection.close(true));
  const lines = [];
  connection.on('message', async (message) => lines.push((await message.dataBuffer()).toString()));
  await connection.ready();
  const ask = async (request) => {
    const data = typeof request === 'string' ? request : JSON.stringify(request);
    const answer = await connection.send(draft({ data })).response();
    return typeof answer === 'number' ? answer : JSON.parse((await answer.dataBuffer()).toString());
  };
  return { connection, lines, ask };
}

test('a console and a page talk in a room', async (t) => {
  const ben = await page(t, 'mill', 'Ben');
  await ben.say('before');
  const anna = await openConsole(t, 'MILL', 'Anna');
  await anna.printed('<Ben> before\n');
  t.is(anna.output, '* You are Anna in mill, with Ben.\n<Ben> before\n');
  await ben.sees('+Anna');
  anna.write('hello\n');
  await ben.hears('<Anna>\thello');
  await ben.say('and hello');
  await anna.printed('<Ben> and hello\n');
  const chiyo = await openConsole(t, 'mill', 'Chiyo');
  await chiyo.printed('<Ben> and hello\n');
  t.is(chiyo.output, '* You are Chiyo in mill, with Ben, Anna.\n<Ben> before\n<Anna> hello\n<Ben> and hello\n');
  await anna.printed('* Chiyo joined\n');
  await ben.sees('+Chiyo');
  chiyo.write('/join elsewhere\nalone here\n/quit\n');
  t.is(await chiyo.exited(), 0);
  t.regex(chiyo.output, /\* You are Chiyo in elsewhere, alone\.\n$/);
  await anna.printed('* Chiyo left\n');
  await ben.sees('-Chiyo');
  t.is(await anna.over(), 0);
  await ben.sees('-Anna');
  t.false(anna.output.includes('<Anna>'), 'what a user says stands where it was typed');
});

test('no input of another user controls the terminal or looks like a line of another user', async (t) => {
  const anna = await openConsole(t, 'hostile', 'Anna');
  const ben = await page(t, 'hostile', 'Ben');
  await ben.say('a\x1b[2J\u009b31m\tb\u202ec\u2028d\n<Anna> forged\r\x07');
  await anna.printed('forged');
  t.true(anna.output.endsWith('<Ben> a[2J31m bc\n  d\n  <Anna> forged\n'), JSON.stringify(anna.output));
});

test('errors are printed, and the console ends with exit code 1 if it cannot continue', async (t) => {
  const anna = await openConsole(t, 'strict', 'Anna');
  anna.write(`/join a/b\n${'x'.repeat(2001)}\nstill here\n`);
  await anna.printed('! A room has 1 to 32');
  await anna.printed('! A message has 1 to 2000');
  const ben = await page(t, 'strict', 'Ben');
  await ben.hears('<Anna>\tstill here');
  t.is((await ben.names()).length, 2);
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
  const { connection, lines, ask } = await openSockety(t);
  t.like(await ask('{"type":'), { code: 'bad-json' });
  t.like(await ask(''), { code: 'bad-json' });
  t.like(await ask('null'), { code: 'bad-type' });
  t.like(await ask({ type: 'message', body: 'x' }), { code: 'not-joined' });
  t.like(await ask({ type: 'join', room: 'answers', name: ' ' }), { code: 'bad-name' });
  t.is(await ask({ type: 'join', room: 'answers', name: 'Anna' }), FastReply.Accept);
  t.is(await connection.send(Draft.for('shout').data('x')()).response(), FastReply.NotImplemented);
  t.like(await ask({ type: 'message', body: 7 }), { code: 'bad-body' });
  t.is(await ask({ type: 'message', body: 'é'.repeat(2000) }), FastReply.Accept);
  await until(() => lines.length === 1, 'the welcome');
  t.deepEqual(lines, ['* You are Anna in answers, alone.']);
});

test('a request that is too long is refused, and other users do not notice', async (t) => {
  const ben = await page(t, 'long', 'Ben');
  const { connection, ask } = await openSockety(t);
  t.is(await ask({ type: 'join', room: 'long', name: 'Anna' }), FastReply.Accept);
  await ben.sees('+Anna');
  for (const bytes of [16_385, 3_000_000]) t.like(await ask('x'.repeat(bytes)), { code: 'too-long' });
  t.is(await ask({ type: 'message', body: 'short' }), FastReply.Accept);
  await ben.hears('<Anna>\tshort');
  connection.close();
  await ben.sees('-Anna');
  t.deepEqual(ben.heard, ['<Anna>\tshort']);
});

test('requests that do not wait for answers are done one after the other', async (t) => {
  const { ask } = await openSockety(t);
  const joins = ['one', 'two', 'three'].map((room) => ask({ type: 'join', room: `turns-${room}`, name: 'Anna' }));
  const answers = await Promise.all([...joins, ask({ type: 'message', body: 'hello' })]);
  t.deepEqual(answers, [FastReply.Accept, FastReply.Accept, FastReply.Accept, FastReply.Accept]);
  for (const [room, expected, past] of [
    ['one', ['Ben'], 0],
    ['two', ['Ben'], 0],
    ['three', ['Anna', 'Ben'], 1],
  ]) {
    const ben = await page(t, `turns-${room}`, 'Ben');
    t.deepEqual(await ben.names(), expected);
    t.is((await ben.subscription.history()).publications.length, past);
  }
});
