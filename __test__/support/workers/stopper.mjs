// Answers and stops the server in the same handler.
import { send } from '../millrace.mjs';

export function handleTextMessage(_text, socketId) {
  send(socketId, 'goodbye');
  process.emit('stop server');
}
