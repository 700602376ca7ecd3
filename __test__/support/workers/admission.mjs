// A handleOpen that does what the path of the request says; `?arg=` carries its argument.
import { setTimeout as later } from 'node:timers/promises';

import { getDebugState, send, setToken, subscribe } from '../millrace.mjs';

const decide = {
  '/accept': () => true,
  '/undefined': () => undefined,
  '/null': () => null,
  '/zero': () => 0,
  '/refuse': () => false,
  '/refuse-later': async () => {
    await later(5);
    return false;
  },
  '/status': (_id, { arg }) => ({
    status: Number(arg),
    headers: { 'X-Why': 'because', 'Content-Type': 'text/plain' },
    body: 'not today',
  }),
  '/lie': () => ({ status: 400, headers: { 'Content-Length': '100', Connection: 'keep-alive' }, body: 'short' }),
  '/status-only': (_id, { arg }) => ({ status: Number(arg) }),
  '/throw': () => {
    throw new Error('handleOpen threw');
  },
  '/reject': async () => {
    await later(1);
    throw new Error('handleOpen rejected');
  },
  '/never': () => new Promise(() => {}),
  '/later': async () => {
    await later(50);
    return true;
  },
  '/protocol': (_id, { arg }) => ({ protocol: arg }),
  '/token': (_id, { arg }) => ({ token: arg }),
  '/set-token': (id, { arg }) => {
    setToken(id, arg);
    return true;
  },
  '/headers': () => ({ headers: { 'X-Millrace': 'yes', 'Set-Cookie': 'a=b' } }),
  '/greet': async (id, { arg }) => {
    subscribe(id, 'greeted');
    send(id, `hello ${arg}`);
    await later(20);
    send(id, 'still in handleOpen');
    send('greeted', 'by channel');
    return true;
  },
  '/greet-protocol': async (id, { arg }) => {
    subscribe(id, 'greeted before');
    send(id, 'hello');
    send('greeted before', 'by channel');
    await later(20);
    send(id, 'x'.repeat(100_000));
    return { protocol: arg };
  },
  '/greet-refuse': (id) => {
    subscribe(id, 'refused');
    send(id, 'never seen');
    return false;
  },
  '/inspect': (id, _request, args) => {
    const [, ip, headers, request] = args;
    const plain = {
      count: args.length,
      id: typeof id,
      ip,
      headers,
      path: request.path,
      query: String(request.query),
      url: request.url,
      protocols: request.protocols,
      listed: getDebugState('sockets', id) !== undefined,
    };
    send(id, JSON.stringify(plain));
    return true;
  },
};

export function handleOpen(...args) {
  const [socketId, , , request] = args;
  const [path, query = ''] = String(request.url ?? `${request.path}?${request.query}`).split('?');
  const arg = new URLSearchParams(query).get('arg');
  const act = decide[path] ?? (() => true);
  return act(socketId, { arg }, args);
}

export function handleTextMessage(text, socketId, token) {
  if (text === 'token') send(socketId, `token ${token === undefined ? 'none' : Buffer.from(token).toString()}`);
  else send(socketId, text);
}

export function handleClose(socketId, token, code) {
  send('log', JSON.stringify({ event: 'close', socketId, code }));
}
