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
const [firstRoom = '', name = '', port = '7000'] = positionals;
if (name === '') {
  console.error('Usage: node examples/chat/console.mjs <room> <name> [port]');
  process.exit(2);
}

const ANSWER_MS = 10_000;
/** @type {import('millrace/sockety').ConnectOptions} */
const options = { port: Number(port), host: values.host, maxDataSize: 1024 * 1024 };
const chat = Draft.for('chat').data();

/** Control characters and bidirectional marks. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

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
  receiving = receiving.then(async () => show((await data).toString())).catch((error) => show(`! ${error.message}`));
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

/** @param {string} room @returns {Promise<boolean>} whether I am in that room now */
function join(room) {
  return ask({ type: 'join', name, room });
}

/**
 * @param {{ type: 'join', name: string, room: string } | { type: 'message', body: string }} request
 * @returns {Promise<boolean>} whether it was done
 */
async function ask(request) {
  const answer = await connection.send(chat({ data: JSON.stringify(request) })).response(ANSWER_MS);
  if (answer === FastReply.Accept) return true;
  if (typeof answer === 'number') show(`! The server answers ${FastReply[answer] ?? answer}.`);
  else show(`! ${JSON.parse((await answer.dataBuffer()).toString()).message}`);
  return false;
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
  return line.replaceAll('\t', ' ').replace(UNPRINTABLE, '\ufffd');
}
