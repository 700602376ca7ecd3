// @ts-check
/**
 * The chat in a terminal, together with browsers: `node examples/chat/console.mjs lobby Anna [port]`. The server must
 * listen for it: `node examples/chat/server.mjs --sockety-port 7000`.
 *
 * --host localhost  where the server is
 * --ca ca.pem       speak TLS, with a server whose certificate comes from this authority
 *
 * Sends each line to the room. `/join ROOM` changes the room; `/quit`, Ctrl-D or Ctrl-C end the program.
 */
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { connect, Draft, FastReply, secureConnect } from 'millrace/sockety';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { host: { type: 'string', default: 'localhost' }, ca: { type: 'string' } },
});
const [firstRoom = '', alias = '', port = '7000'] = positionals;
if (alias === '') {
  console.error('Usage: node examples/chat/console.mjs <room> <name> [port]');
  process.exit(2);
}

const ANSWER_MS = 10_000;
/** @type {import('millrace/sockety').ConnectOptions} */
const options = { port: Number(port), host: values.host, maxDataSize: 1024 * 1024 };
const chat = Draft.for('chat').data();

/** Control characters and bidirectional marks. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** My id, in every room. @type {number | undefined} */
let me;
/** The room that I am in. @type {string | undefined} */
let room;
/** Messages that came with the room's history. @type {Set<number>} */
let known = new Set();
/** The room's version when I came in: changes up to it are in the list of members already. */
let version = 0;
/** Events that arrive before the answer to `join`. @type {any[] | undefined} */
let early;
/** @type {import('node:readline').Interface | undefined} */
let input;
let isLeaving = false;
let hasFailed = false;

const connection = values.ca === undefined ? connect(options) : secureConnect({ ...options, ca: values.ca });
connection.on('error', (error) => fail(error.message));
connection.on('close', () => {
  if (!isLeaving) fail('The server has ended the connection.');
  input?.close();
});
// Data may arrive late, but messages are shown in the order in which they began.
let receiving = Promise.resolve();
connection.on('message', (message) => {
  if (message.action !== 'publish') return message.discard();
  const data = message.dataBuffer();
  receiving = receiving
    .then(async () => receive(JSON.parse((await data).toString())))
    .catch((error) => show(`! ${error.message}`));
});

try {
  await connection.ready();
  if (await join(firstRoom)) await converse();
  else process.exitCode = 1;
} catch (error) {
  fail(/** @type {Error} */ (error).message);
}
isLeaving = true;
await connection.close();

/** Reads lines until the input or the connection ends. */
async function converse() {
  const { stdin, stdout } = process;
  const lines = createInterface({ input: stdin, output: stdout, terminal: stdout.isTTY === true, prompt: '' });
  input = lines;
  if (stdout.isTTY) lines.setPrompt('> ');
  // The connection may have ended meanwhile.
  if (connection.closed) lines.close();
  else lines.prompt();
  for await (const line of lines) {
    const [, command, argument = ''] = /^\/(join|quit)\b\s*(.*)$/.exec(line) ?? [];
    if (command === 'quit') break;
    if (command === 'join') await join(argument);
    else if (line.trim() !== '') await ask({ type: 'message', body: line });
    lines.prompt();
  }
  lines.close();
}

/** @param {string} name @returns {Promise<boolean>} whether I am in that room now */
async function join(name) {
  // The gateway's threads have no order among each other: an event may arrive before the room's history.
  early = [];
  const isIn = await ask({ type: 'join', alias, room: name });
  if (!isIn) replay();
  return isIn;
}

/**
 * @param {{ type: 'join', alias: string, room: string } | { type: 'message', body: string }} request
 * @returns {Promise<boolean>} whether it was done
 */
async function ask(request) {
  const answer = await connection.send(chat({ data: JSON.stringify(request) })).response(ANSWER_MS);
  if (answer === FastReply.Accept) return true;
  if (typeof answer === 'number') show(`! The server answers ${FastReply[answer] ?? answer}.`);
  else show(`! ${JSON.parse((await answer.dataBuffer()).toString()).message}`);
  return false;
}

/** @param {any} event what a browser would get, see protocol.mjs */
function receive(event) {
  if (event.type === 'joined') joined(event);
  else if (early !== undefined) early.push(event);
  else if (event.room === room) happened(event);
}

/** @param {any} event */
function joined(event) {
  ({ id: me, room, version } = event);
  known = new Set(event.history.map((/** @type {{ id: number }} */ { id }) => id));
  event.history.forEach(showMessage);
  const others = event.members.filter((/** @type {{ id: number }} */ { id }) => id !== me);
  const names = others.map((/** @type {{ alias: string }} */ member) => member.alias).join(', ');
  show(`* You are ${event.alias} in ${room}, ${names === '' ? 'alone' : `with ${names}`}.`);
  replay();
}

function replay() {
  const events = early ?? [];
  early = undefined;
  events.forEach(receive);
}

/** @param {any} event of the room that I am in */
function happened(event) {
  if (event.type === 'chat-message') {
    // My own message is already on the screen, where I typed it.
    if (event.from !== me && !known.has(event.id)) showMessage(event);
  } else if (event.type === 'user-joined' || event.type === 'user-left') {
    if (event.version > version) show(`* ${event.alias} ${event.type === 'user-joined' ? 'joined' : 'left'}`);
  }
}

/** @param {{ alias: string, body: string }} message */
function showMessage({ alias: from, body }) {
  show(`<${from}> ${body}`);
}

/** Ends with exit code 1, and prints the first reason. @param {string} message */
function fail(message) {
  process.exitCode = 1;
  if (hasFailed) return;
  hasFailed = true;
  show(`! ${message}`);
}

/**
 * Prints untrusted text above the line that is being typed. Lines after the first are indented, so that users cannot
 * forge messages; characters that could control the terminal are replaced.
 * @param {string} text
 */
function show(text) {
  const isTyping = input !== undefined && process.stdout.isTTY;
  // To the beginning of the line that is being typed, and clear it.
  if (isTyping) process.stdout.write('\r\x1b[K');
  console.log(text.split('\n').map(printable).join('\n  '));
  if (isTyping && !isLeaving) input?.prompt(true);
}

/** @param {string} line */
function printable(line) {
  return line.replace(UNPRINTABLE, '\ufffd');
}
