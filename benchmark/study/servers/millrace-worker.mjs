// The worker of the study's server on Millrace.
import { threadId } from 'node:worker_threads';
import { send } from 'millrace';
import { createHandler } from './answer.mjs';

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
let handle;

export function handleStart(options) {
  handle = createHandler(options, threadId, () => process.exit(1));
}

export function handleTextMessage(text, socketId) {
  const reply = handle(text);
  if (reply) send(socketId, reply);
}

export function handleBinaryMessage(data, socketId) {
  handleTextMessage(decoder.decode(data), socketId);
}
