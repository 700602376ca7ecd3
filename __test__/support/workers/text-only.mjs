// A worker module with a handler only for text.
import { send } from '../millrace.mjs';

export function handleTextMessage(text, socketId) {
  send(socketId, text);
}
