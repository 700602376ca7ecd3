// Each message goes to everyone.
import { send, subscribe } from 'millrace';

export function handleOpen(socketId, ip) {
  subscribe(socketId, 'everyone');
  return { token: { ip } };
}

export function handleTextMessage(text, socketId, { ip }) {
  send('everyone', `${ip}: ${text}`);
}
