// Requests to an app as exact bytes, and its complete answers as exact bytes.
import { once } from 'node:events';
import net from 'node:net';

import { within } from './deadline.mjs';
import { connectOptions } from './http.mjs';

/**
 * The bytes of a request that closes its connection. `headers` is a list of lines.
 *
 * @param {string} start "GET /path" or "GET /path HTTP/1.0"
 */
export function requestBytes(start, headers = [], body = undefined) {
  const content = body === undefined ? undefined : Buffer.from(body);
  const lines = [
    / HTTP\//.test(start) ? start : `${start} HTTP/1.1`,
    'Host: localhost',
    'Connection: close',
    ...headers,
    ...(content === undefined ? [] : [`Content-Length: ${content.length}`]),
  ];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), content ?? Buffer.alloc(0)]);
}

/** Everything that the server answers to some bytes until it closes. `begun` is called when the first bytes arrive. */
export async function everything(address, bytes, begun = () => {}) {
  const socket = net.connect(connectOptions(address));
  const pieces = [];
  socket.once('data', begun);
  socket.on('data', (piece) => pieces.push(piece));
  socket.on('error', () => {});
  try {
    socket.write(bytes);
    await within(once(socket, 'close'), () => `the end of the connection; received: ${Buffer.concat(pieces)}`);
  } finally {
    socket.destroy();
  }
  return Buffer.concat(pieces);
}

/** The parts of an answer: `{status, lines, headers, body}`; headers as an object of lists, the body as bytes. */
export function answerOf(bytes) {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) throw new Error(`no answer: ${JSON.stringify(bytes.toString('latin1'))}`);
  const [first, ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const headers = {};
  for (const line of lines) {
    const [, name, value] = /^([^:]+):[ \t]*(.*)$/.exec(line);
    headers[name.toLowerCase()] = [...(headers[name.toLowerCase()] ?? []), value];
  }
  return { first, status: Number(first.split(' ')[1]), lines, headers, body: bytes.subarray(end + 4) };
}

/** One request on a connection of its own, and its answer. */
export async function request(address, start, { headers, body } = {}) {
  const answer = answerOf(await everything(address, requestBytes(start, headers, body)));
  return { ...answer, text: answer.body.toString() };
}
