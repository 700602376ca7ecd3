// Raw HTTP/1.1 to the server under test: requests as exact bytes, strictly parsed answers.
import { createHash } from 'node:crypto';
import net from 'node:net';
import { setTimeout as later, setImmediate as turn } from 'node:timers/promises';

import { SOON, within } from './deadline.mjs';

export const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** The Sec-WebSocket-Accept value for a key. */
export const acceptOf = (key) =>
  createHash('sha1')
    .update(key + GUID)
    .digest('base64');

/** `"127.0.0.1:80"`, `"[::1]:80"` or `"unix:/path"` as options of `net.connect`. */
export function connectOptions(address) {
  if (address.startsWith('unix:')) return { path: address.slice(5) };
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(address.slice(colon + 1)) };
}

/**
 * The bytes of a handshake. `headers` is an object (merged with the valid defaults; undefined removes a header, a list
 * repeats it) or, for exact control, a list of [name, value] that replaces all headers.
 */
export function handshakeBytes({ method = 'GET', path = '/', version = 'HTTP/1.1', headers = {} } = {}) {
  const defaults = {
    Host: 'localhost',
    Upgrade: 'websocket',
    Connection: 'Upgrade',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': KEY,
  };
  const list = Array.isArray(headers) ? headers : Object.entries({ ...defaults, ...headers });
  const lines = [`${method} ${path} ${version}`];
  for (const [name, value] of list) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined) lines.push(`${name}: ${one}`);
    }
  }
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

/** Parses a response head at the beginning of `bytes`; undefined while it is incomplete. */
export function parseHead(bytes) {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [first, ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const match = /^HTTP\/1\.[01] (\d{3})(?: (.*))?$/.exec(first);
  if (!match) throw new Error(`not a status line: ${JSON.stringify(first)}`);
  const headers = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon < 1) throw new Error(`not a header line: ${JSON.stringify(line)}`);
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
  }
  return { status: Number(match[1]), reason: match[2] ?? '', headers, length: end + 4 };
}

/**
 * Sends bytes (a list is written piece by piece, `pace` ms apart) on a new connection and resolves with the first
 * response `{status, headers, body, closed}`; `status` is 0 when the server closed without answering. With
 * `untilClosed` it also waits for the end of the TCP connection.
 */
export function exchange(address, bytes, { untilClosed = false, pace = 0, ms = SOON } = {}) {
  const socket = net.connect(connectOptions(address));
  const pieces = Array.isArray(bytes) ? bytes : [bytes];
  const isHead = String(pieces[0]).startsWith('HEAD ');
  const answer = new Promise((resolve) => {
    let seen = Buffer.alloc(0);
    let response;
    const finish = (closed) => {
      response ??= { status: 0, headers: {}, body: '' };
      resolve({ ...response, closed });
    };
    socket.on('data', (chunk) => {
      seen = Buffer.concat([seen, chunk]);
      const head = parseHead(seen);
      if (!head) return;
      const wanted = head.status === 101 || isHead ? 0 : Number(head.headers['content-length'] ?? 0);
      if (seen.length < head.length + wanted) return;
      response ??= { ...head, body: seen.toString('utf8', head.length, head.length + wanted) };
      if (!untilClosed) finish(false);
    });
    socket.on('end', () => finish(true));
    socket.on('close', () => finish(true));
    socket.on('error', () => finish(true));
  });
  socket.setNoDelay(true);
  socket.once('connect', async () => {
    for (const piece of pieces) {
      if (socket.destroyed) return;
      socket.write(piece);
      await (pace ? later(pace) : turn());
    }
  });
  return within(answer, 'an HTTP answer', ms).finally(() => socket.destroy());
}

/** A handshake as one call: see `handshakeBytes` and `exchange`. */
export function handshake(address, request, options) {
  return exchange(address, handshakeBytes(request), options);
}
