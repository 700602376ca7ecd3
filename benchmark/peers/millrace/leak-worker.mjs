// The worker of the leak server: echoes; collects its heap first when the message says so.
import { send } from 'millrace';

export function handleTextMessage(text, socketId) {
  if (text === 'collect') {
    globalThis.gc();
    globalThis.gc();
  }
  send(socketId, text);
}
