// The worker of the Millrace peer: the same handlers as the other peers.
import * as millrace from 'millrace';
import { handlers } from './handlers.mjs';

let handle;

export function handleStart({ handler }) {
  handle = handlers(millrace)[handler];
}

export function handleTextMessage(text, socketId) {
  handle(text, socketId);
}
