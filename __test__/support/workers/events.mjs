// Accepts event streams and WebSockets, and records the open and close of each socket in a key.
import { close, send, setKey, subscribe } from '../millrace.mjs';

export function handleOpen(socketId, _ip, headers, request) {
  const wish = request.query.get('wish');
  if (wish === 'refuse') return { status: 401, headers: { 'www-authenticate': 'Bearer' }, body: 'who are you?' };
  if (wish === 'protocol') return { protocol: 'chat' };
  const { transport, port } = request;
  const told = { socketId, last: headers['last-event-id'] ?? null, transport, port };
  setKey(`open ${request.query.get('name')}`, JSON.stringify(told));
  subscribe(socketId, 'news');
  if (wish === 'greet') send(socketId, 'welcome');
  if (wish === 'close') close(socketId, 4001, 'go away');
  return { headers: { 'x-seen': String(socketId) }, token: request.query.get('name') ?? '' };
}

export function handleTextMessage(text) {
  send('news', text);
}

export function handleBinaryMessage(data) {
  send('news', data);
}

export function handleClose(socketId, token, code) {
  setKey(`close ${new TextDecoder().decode(token)}`, JSON.stringify({ socketId, code }));
}
