// The commands worker with handlers for the marks of outboxes. What they are told of a socket is listed in the key/value
// store, by the socket's id: the handler and the name in the socket's token.
import { getKey, send, setKey } from '../millrace.mjs';

export * from './commands.mjs';

const told = new Map();

function list(socketId, what) {
  const all = [...(told.get(socketId) ?? []), what];
  told.set(socketId, all);
  setKey(`levels ${socketId}`, JSON.stringify(all));
}

export function handleOpen(socketId) {
  const greeting = getKey('greeting');
  if (greeting !== undefined) send(socketId, new Uint8Array(Number(Buffer.from(greeting).toString())));
  return { token: { name: `number ${socketId}` } };
}

export function handleCongested(socketId, token) {
  list(socketId, `congested ${token.name}`);
  // a promise: the next event waits for it
  return getKey('slow handlers') === undefined ? undefined : new Promise((resolve) => setTimeout(resolve, 50));
}

export function handleDrain(socketId, token) {
  list(socketId, `drain ${token.name}`);
}
