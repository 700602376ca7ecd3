// A handleOpen that waits for the key "gate".
import { setImmediate as turn } from 'node:timers/promises';

import { getKey, send } from '../millrace.mjs';

export async function handleOpen() {
  while (getKey('gate') === undefined) await turn();
  return true;
}

export function handleTextMessage(text, socketId) {
  send(socketId, text);
}
