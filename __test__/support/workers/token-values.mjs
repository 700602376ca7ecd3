// Tokens that are values. A text message is a command in JSON; the answer contains, for each event, the token that the
// handler got and how many objects the connection has had so far. The token of `handleClose` goes to channel "ends".
import { threadId } from 'node:worker_threads';

import { send, setToken, subscribe } from '../millrace.mjs';

const seen = new Map();

/** How many different objects in a row this worker got for this connection. */
function count(socketId, token) {
  const known = seen.get(socketId) ?? { token: undefined, objects: 0 };
  if (typeof token === 'object' && token !== null && token !== known.token) {
    known.objects += 1;
    known.token = token;
  }
  seen.set(socketId, known);
  return known.objects;
}

function told(token) {
  if (token === undefined) return { kind: 'none' };
  if (token instanceof Uint8Array) return { kind: 'bytes', hex: Buffer.from(token).toString('hex') };
  const roles = token?.roles instanceof Set ? [...token.roles] : undefined;
  const since = token?.since instanceof Date ? token.since.getTime() : undefined;
  return { kind: token === null ? 'null' : typeof token, value: token, roles, since };
}

const VALUES = {
  session: (name) => ({ name, roles: new Set(['user']), since: new Date(5) }),
  null: () => null,
  number: () => 5,
  big: () => ({ text: 'x'.repeat(2 ** 20) }),
  function: () => () => {},
  bytes: (hex) => Buffer.from(hex, 'hex'),
};

export default {
  handleOpen(socketId, _ip, _headers, request) {
    const kind = request.query.get('token');
    if (request.query.has('ends')) subscribe(socketId, 'ends');
    return kind === null ? true : { token: VALUES[kind](request.query.get('arg')) };
  },
  handleTextMessage(text, socketId, token) {
    const { set, arg, mutate, die } = JSON.parse(text);
    if (die) process.exit(1);
    if (mutate) token.name = mutate;
    let error;
    try {
      if (set !== undefined) setToken(socketId, VALUES[set](arg));
    } catch (thrown) {
      error = `${thrown.name}: ${thrown.message}`;
    }
    send(socketId, JSON.stringify({ socketId, threadId, ...told(token), objects: count(socketId, token), error }));
  },
  handleBinaryMessage(_data, socketId, token) {
    send(socketId, JSON.stringify({ ...told(token), objects: count(socketId, token) }));
  },
  handleClose(socketId, token) {
    send('ends', JSON.stringify({ socketId, threadId, ...told(token), objects: count(socketId, token) }));
  },
};
