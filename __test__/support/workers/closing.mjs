// Reports the arguments of handleClose to channel "closes", and how often it was called for a socket.
import { close, getDebugState, send, subscribe, unsubscribe } from '../millrace.mjs';

const calls = new Map();
const marks = new Map();
const failing = new Set();

const commands = {
  watch: (id) => {
    subscribe(id, 'closes');
    send(id, 'watching');
  },
  id: (id) => send(id, String(id)),
  throw: () => {
    throw new Error('on request');
  },
  'close me': (id) => close(id, 4100, 'as asked'),
  'throw at close': (id) => {
    failing.add(id);
    send(id, 'will throw');
  },
  mark: (id) => marks.set(id, (marks.get(id) ?? 0) + 1),
};

export function handleTextMessage(text, socketId) {
  if (commands[text]) commands[text](socketId);
  else if (text.startsWith('marks of ')) send(socketId, `marks ${marks.get(Number(text.slice(9))) ?? 0}`);
  else send(socketId, text);
}

export function handleClose(socketId, token, code, reason) {
  calls.set(socketId, (calls.get(socketId) ?? 0) + 1);
  const report = {
    event: 'close',
    socketId,
    code,
    reason,
    hasToken: token !== undefined,
    sendCount: send(socketId, 'too late'),
    listed: getDebugState('sockets', socketId) !== undefined,
    unsubscribed: unsubscribe(socketId, `room of ${socketId}`),
    marks: marks.get(socketId) ?? 0,
    calls: calls.get(socketId),
  };
  send('closes', JSON.stringify(report));
  if (failing.has(socketId)) throw new Error(`handleClose of ${socketId} failed`);
}
