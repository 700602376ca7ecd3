// A worker module with a handler for text alone.
import { send } from '../millrace.mjs';

export function handleTextMessage(text, socketId) {
  send(socketId, text);
}
