// Handlers of pings and pongs, which tell the client what they got.
import { send } from '../millrace.mjs';

const shown = (data) => (data === undefined ? 'nothing' : Buffer.from(data).toString());

export function handleOpen() {
  return { token: 'token' };
}

export function handleTextMessage(text, socketId) {
  send(socketId, text);
}

export function handlePing(socketId, token, data) {
  send(socketId, `ping ${Buffer.from(token)} ${shown(data)}`);
}

export function handlePong(socketId, token, data) {
  send(socketId, `pong ${Buffer.from(token)} ${shown(data)}`);
}
