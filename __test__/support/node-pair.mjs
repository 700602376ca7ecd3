// One listener on `node:http` and through `nodeHandler`: sends both the same requests, and returns the answers.
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import { brotliDecompressSync, unzipSync } from 'node:zlib';

import { within } from './deadline.mjs';
import { RUNTIME } from './server.mjs';

/** Headers that each server may add by itself. */
const OWN = ['date', 'server', 'connection', 'keep-alive'];

/** Serves the listener of `make` on `node:http` while the tests of a file run. */
export function reference(test, make) {
  const server = createServer();
  const serves = { address: '' };
  test.before(async () => {
    server.on('request', await make());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    serves.address = `127.0.0.1:${server.address().port}`;
  });
  test.after.always(() => {
    server.closeAllConnections();
    server.close();
  });
  return serves;
}

/**
 * Sends a request: `[method and target, headers, body, trailers]`. An answer is everything that a client sees, except
 * for headers that servers add by themselves.
 */
export function askAs(address, agent, [line, headers = {}, body, trailers], { program, hides = [], cookie } = {}) {
  const [method, target] = line.split(/ (.*)/);
  const [host, port] = address.split(':');
  const list = Array.isArray(headers) ? [...headers] : Object.entries(headers).flat();
  if (!list.some((one, index) => index % 2 === 0 && one.toLowerCase() === 'host'))
    list.unshift('Host', 'program.example');
  list.push('X-Program', program);
  if (cookie !== undefined) list.push('Cookie', cookie);
  const has = (name) => list.some((one, index) => index % 2 === 0 && one.toLowerCase() === name);
  if (body !== undefined && !has('transfer-encoding')) list.push('Content-Length', String(Buffer.byteLength(body)));
  const asked = new Promise((resolve) => {
    const informational = [];
    const sent = request({ host, port, agent, method, path: target, headers: list, setHost: false });
    const fail = (error) => resolve({ failed: error.code ?? error.message });
    sent.on('error', fail);
    sent.on('information', ({ statusCode, rawHeaders }) => informational.push([statusCode, rawHeaders]));
    sent.on('continue', () => sent.end(body));
    sent.on('response', (response) => {
      const pieces = [];
      const answer = {
        status: response.statusCode,
        message: response.statusMessage,
        headers: visible(response.rawHeaders, [...OWN, ...hides]),
        informational,
      };
      const end = (how) =>
        resolve({ ...answer, ...how, body: bodyOf(read(pieces, response), address), trailers: response.rawTrailers });
      response.on('data', (piece) => pieces.push(piece));
      response.on('end', () => end({}));
      response.on('error', (error) => end({ cut: error.code }));
    });
    if (trailers !== undefined) sent.addTrailers(trailers);
    if (has('expect')) sent.flushHeaders();
    else sent.end(body);
  });
  return within(asked, `an answer to ${line} of ${program}`, 20_000);
}

/** Header lines in their order, with their names unchanged. */
function visible(raw, hidden) {
  const lines = [];
  for (let at = 0; at < raw.length; at += 2) {
    if (!hidden.includes(raw[at].toLowerCase())) lines.push(`${raw[at]}: ${raw[at + 1]}`);
  }
  return lines;
}

/** The bytes of a body. Other runtimes compress with other bytes than Node.js, so there it is their content. */
function read(pieces, { headers }) {
  const bytes = Buffer.concat(pieces);
  const encoding = headers['content-encoding'];
  if (RUNTIME === 'node' || encoding === undefined || bytes.length === 0) return bytes;
  return encoding === 'br' ? brotliDecompressSync(bytes) : unzipSync(bytes);
}

/** Small bodies as text, large ones as their size and checksum. */
function bodyOf(bytes, address) {
  const text = bytes.toString('latin1').replaceAll(address, 'ADDRESS');
  if (text.length < 4000) return text;
  let sum = 0;
  for (const byte of bytes) sum = (sum * 31 + byte) % 1_000_000_007;
  return `${bytes.length} bytes, ${sum}`;
}

/** A server's answers to all requests of a program, one after the other. */
export async function run(address, name, program) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const answers = [];
  let cookie;
  for (const asked of program.requests) {
    const answer = await askAs(address, agent, asked, { program: name, hides: program.hides, cookie });
    answers.push(answer);
    if (!program.keepsCookies) continue;
    const set = answer.headers.find((line) => line.startsWith('Set-Cookie: '));
    cookie = set?.slice('Set-Cookie: '.length).split(';')[0] ?? cookie;
  }
  agent.destroy();
  return answers;
}
