// All connections count for one key. Echoes lines.
import { send } from '../millrace.mjs';

export function handleOpen() {
  return { limitKey: 'all' };
}

export function handleTextMessage(text, socketId) {
  send(socketId, text);
}
