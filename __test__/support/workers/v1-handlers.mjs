// Handlers for clients of `millrace.v1`, which do what the client asks for: `hold <name>` waits until the method `release` is
// called with that name.
import { CallError, call, send } from '../millrace.mjs';

const held = new Map();
const seen = [];

/** Waits for `release <name>`. */
function hold(name) {
  return new Promise((resolve) => held.set(name, resolve));
}

function answer(wish, otherwise) {
  if (wish.startsWith('hold ')) return hold(wish);
  if (wish.startsWith('code ')) throw new CallError(...wish.slice(5).split('|'));
  if (wish === 'throw') throw new Error('thrown on request');
  if (wish === 'reject') return Promise.reject(new Error('rejected on request'));
  if (wish === 'reject code') return Promise.reject(new CallError('mine'));
  return otherwise();
}

export function handleOpen(_socketId, _ip, headers) {
  return { token: Buffer.from(headers['x-user'] ?? 'nobody') };
}

export function handleSubscribe(channel, socketId, token, request) {
  seen.push(['sub', channel, socketId, token?.toString(), request]);
  if (`${channel}`.startsWith('room:denied')) return false;
  return answer(request.info ?? '', () => {
    if (request.info === 'odd') return 7;
    if (request.info === 'long') return { member: 'x'.repeat(4095) };
    return request.info === 'member' ? { member: { name: 'me' } } : request.info !== 'no';
  });
}

export function handlePublish(channel, data, socketId, token) {
  seen.push(['pub', channel, data, socketId, token?.toString()]);
  const text = data.toString();
  return answer(text, () => {
    if (text === 'no') return false;
    if (text === 'nothing') return undefined;
    if (text === 'json') return { data: { a: 1 } };
    if (text === 'bytes') return { data: Buffer.from([0xff, 10]) };
    if (text.startsWith('up ')) return Promise.resolve({ data: text.toUpperCase() });
    return true;
  });
}

const methods = {
  echo: (params) => params,
  parsed: (params) => ({ got: JSON.parse(params) }),
  nothing: () => undefined,
  null: () => null,
  number: async () => 7,
  view: () => new Uint8Array([1, 2, 3, 4]).subarray(1, 3),
  shared: () => new Uint8Array(new SharedArrayBuffer(3), 1),
  sharedBuffer: () => new SharedArrayBuffer(2),
  buffer: () => new Uint8Array([5, 6]).buffer,
  long: () => 'x'.repeat(300_000),
  impossible: () => 7n,
  who: (_params, socketId, token) => [socketId, token?.toString()],
  say: (params, socketId) => {
    send(socketId, `before ${params}`);
    return 'result';
  },
  release: (params) => {
    const { name, value } = JSON.parse(params);
    const release = held.get(name);
    held.delete(name);
    release?.(value);
    return release !== undefined;
  },
  /** Calls its client when `release` is called with that name. */
  back: async (name, socketId) => {
    await hold(name);
    return call(socketId, 'back', 'again?');
  },
  held: () => [...held.keys()],
  seen: () => seen.splice(0),
  exit: () => process.exit(0),
};

export function handleCall(method, params, socketId, token) {
  return answer(method, () => {
    const own = methods[method];
    if (own === undefined) throw new CallError('not_found');
    return own(params, socketId, token);
  });
}

export function handleTextMessage(_text, socketId) {
  send(socketId, String(socketId));
}
