// Nothing is compressed for connections with `?plain`; messages come back.
import { send } from '../millrace.mjs';

export function handleOpen(socketId, _ip, _headers, request) {
  if (request.query.has('greeting')) send(socketId, 'welcome '.repeat(300));
  const headers = request.query.has('headers') ? { 'x-plain': 'yes' } : undefined;
  return { compress: request.query.has('plain') ? false : undefined, headers };
}

export function handleTextMessage(text, socketId) {
  send(socketId, text);
}
