// @ts-check
/** The last announcements. They lie in the gateway, where pages, routes and handlers of sockets find the same ones. */
import { getKey, send, setKey } from 'millrace';

const KEPT = 20;

/** @returns {string[]} */
export function announcements() {
  return JSON.parse(getKey('announcements')?.toString() ?? '[]');
}

/** @param {string} text */
export function announce(text) {
  const list = JSON.stringify([...announcements(), text].slice(-KEPT));
  setKey('announcements', list);
  // all of them each time: a client that reconnects needs nothing else
  send('announcements', list);
}
