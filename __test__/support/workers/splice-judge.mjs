// Accepts or refuses sessions of splice and their targets, as the URL of the request says, and is a chat room for
// targets in the same gateway.
import { close, send, setKey, subscribe } from '../millrace.mjs';

const ANSWERS = {
  refuse: () => false,
  accept: () => true,
  nothing: () => undefined,
  url: (to) => to,
  only: (to) => ({ url: to }),
  headers: (to) => ({ url: to, headers: { authorization: 'Bearer own' } }),
  late: async (to) => to,
  throw: () => {
    throw new Error('handleSpliceConnect threw');
  },
  reject: () => Promise.reject(new Error('handleSpliceConnect rejected')),
  number: () => 5,
  host: (to) => ({ url: to, headers: { host: 'evil.example' } }),
  line: (to) => ({ url: to, headers: { 'x-a': 'a\r\nhost: evil.example' } }),
  hang: () => new Promise((resolve) => setTimeout(resolve, 60_000).unref()),
};

export function handleOpen(socketId, ip, headers, request) {
  const { transport, path } = request;
  if (request.query.get('who') === 'nobody')
    return { status: 401, headers: { 'x-why': 'cookie' }, body: 'log in first' };
  if (transport !== 'splice') subscribe(socketId, 'room');
  setKey(`open ${path}`, JSON.stringify({ socketId, ip, transport, name: headers['x-name'] ?? null }));
  return { token: path };
}

/** `answer=wss…`: the name of the answer, and its target. */
export function handleSpliceConnect(url, headers, socketId, token) {
  const [answer, ...to] = url.split('=');
  setKey(`asked ${url}`, JSON.stringify({ url, headers, socketId, token: new TextDecoder().decode(token) }));
  return ANSWERS[answer] === undefined ? true : ANSWERS[answer](to.join('='));
}

export function handleTextMessage(text, socketId) {
  if (text === 'leave') close(socketId, 4001, 'as you wish');
  else send('room', text);
}

export function handleClose(socketId, token, code, reason) {
  setKey(`close ${new TextDecoder().decode(token)}`, JSON.stringify({ socketId, code, reason }));
}
