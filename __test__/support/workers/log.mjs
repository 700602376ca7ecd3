// Causes the events that log.test.mjs expects in a log.
import { send } from '../millrace.mjs';

export function handleOpen(_id, _ip, _headers, request) {
  return request.path !== '/refused';
}

export function handleTextMessage(text, id) {
  if (text === 'throw') throw new Error('on purpose');
  if (text === 'flood') for (let i = 0; i < 64; i += 1) send(id, 'x'.repeat(1024 * 1024));
  else send(id, text);
}
