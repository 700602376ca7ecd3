// Appends "close" and "stop" to the key "record" at the (late) end of its handlers.
import { setTimeout as later } from 'node:timers/promises';

import { getKey, send, setKeyIf } from '../millrace.mjs';

function record(word) {
  for (;;) {
    const before = getKey('record');
    if (setKeyIf('record', `${before === undefined ? '' : Buffer.from(before).toString()}${word} `, before)) return;
  }
}

export function handleTextMessage(text, socketId) {
  send(socketId, text);
}

export async function handleClose() {
  await later(30);
  record('close');
}

export async function handleStop() {
  await later(10);
  record('stop');
}
