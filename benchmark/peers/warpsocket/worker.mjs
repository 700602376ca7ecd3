// The worker of the WarpSocket peer.
import * as warpsocket from 'warpsocket';
import { handlers } from '../millrace/handlers.mjs';

let handle;

export function handleStart({ handler }) {
  handle = handlers(warpsocket)[handler];
}

export function handleTextMessage(text, socketId) {
  handle(text, socketId);
}
