// @ts-check
/** Pages subscribe to channels and publish to them; what they send is JSON. */
import { randomUUID } from 'node:crypto';
import { close, send, subscribe, unsubscribe } from 'millrace';

const CHANNELS = ['lobby', 'music', 'games'];

/**
 * @param {string} text
 * @param {number} socketId
 */
export function handleTextMessage(text, socketId) {
  const request = read(text);
  if (request === undefined || !CHANNELS.includes(request.channel)) {
    close(socketId, 1008, 'no such request');
    return;
  }
  const { type, channel, data } = request;
  if (type === 'subscribe') subscribe(socketId, channel);
  else if (type === 'unsubscribe') unsubscribe(socketId, channel);
  else send(channel, JSON.stringify({ channel, id: randomUUID(), data }));
}

/** @param {string} text which a client may have made up */
function read(text) {
  try {
    const request = JSON.parse(text);
    return ['subscribe', 'unsubscribe', 'publish'].includes(request?.type) ? request : undefined;
  } catch {
    return undefined;
  }
}
