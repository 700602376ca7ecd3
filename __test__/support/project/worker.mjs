import { send } from 'millrace';

export function handleTextMessage(text, socketId) {
  send(socketId, text);
}
