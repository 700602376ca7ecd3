// Reports the native state of its thread, and answers through it; ends the thread on request.
import { threadId } from 'node:worker_threads';

import { binding } from '../../../js/dist/addon/binding.js';
import { send, setKey, subscribe } from '../millrace.mjs';

export function handleStart() {
  setKey(`state of ${threadId}`, binding().state);
}

export function handleOpen(socketId) {
  subscribe(socketId, 'everybody');
}

export function handleTextMessage(text, socketId) {
  if (text === 'exit') process.exit(1);
  send(text === 'everybody' ? text : socketId, `${threadId} ${binding().state}`);
}
