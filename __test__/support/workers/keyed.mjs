// Connections that count for the key in their query; `?bad=` names an invalid one. Records every close.
import { send, setKey } from '../millrace.mjs';

const BAD = { empty: '', number: 7, null: null, long: 'ü'.repeat(128).concat('x') };

export function handleOpen(_socketId, _ip, _headers, request) {
  const bad = request.query.get('bad');
  if (bad !== null) return { limitKey: BAD[bad] };
  const limitKey = request.query.get('key') ?? request.headers['x-key'];
  const name = request.query.get('name');
  if (limitKey === undefined) return { token: { name } };
  return { limitKey, token: { name }, headers: request.transport === 'tcp' ? undefined : { 'x-key': 'counted' } };
}

export function handleTextMessage(text, socketId) {
  send(socketId, text);
}

export function handleClose(_socketId, { name }, code, reason) {
  if (name !== null) setKey(`close ${name}`, `${code} ${reason}`);
}
