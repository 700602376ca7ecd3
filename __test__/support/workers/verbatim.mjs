// Sends every message back unchanged, whatever it says.
import { send } from '../millrace.mjs';

export function handleTextMessage(text, socketId) {
  send(socketId, text);
}

export function handleBinaryMessage(data, socketId) {
  send(socketId, data);
}
