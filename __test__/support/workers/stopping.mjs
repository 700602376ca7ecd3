// Appends "close" and "stop" to the keys "record" and "record of " with its thread at the (late) end of its handlers.
import { setTimeout as later } from 'node:timers/promises';
import { threadId } from 'node:worker_threads';

import { getKey, send, setKeyIf } from '../millrace.mjs';

function record(word) {
  append('record', word);
  append(`record of ${threadId}`, word);
}

function append(key, word) {
  for (;;) {
    const before = getKey(key);
    if (setKeyIf(key, `${before === undefined ? '' : Buffer.from(before).toString()}${word} `, before)) return;
  }
}

export function handleTextMessage(text, socketId) {
  send(socketId, text === 'thread' ? String(threadId) : text);
}

export async function handleClose() {
  await later(30);
  record('close');
}

export async function handleStop() {
  await later(10);
  record('stop');
}
