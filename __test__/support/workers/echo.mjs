// Sends every message back unchanged. A text "slow" is answered only when its async handler is released by
// the key "release" (so that a handler is pending for exactly as long as the test wants).
import { setImmediate as turn } from 'node:timers/promises';

import { getKey, send } from '../millrace.mjs';

export function handleTextMessage(text, socketId) {
  if (text.startsWith('slow ')) return slow(text, socketId);
  send(socketId, text);
  return undefined;
}

async function slow(text, socketId) {
  send(socketId, 'started');
  while (getKey(text) === undefined) await turn();
  send(socketId, text);
}

export function handleBinaryMessage(data, socketId) {
  send(socketId, data);
}
