// The worker of the scenario `histories`: `/?channel=NAME` subscribes, and `/?channel=NAME&publish=yes` publishes.
import { send, subscribe } from 'millrace';

export function handleOpen(socketId, _ip, _headers, { query }) {
  const channel = query.get('channel');
  if (!query.has('publish')) subscribe(socketId, channel);
  return { token: { channel } };
}

export function handleBinaryMessage(data, _socketId, { channel }) {
  send(channel, data);
}
