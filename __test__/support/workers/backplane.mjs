// The worker of the tests with several nodes: subscribes sockets on request, and publishes numbered messages no faster
// than the backplane sends them.
import { setTimeout as later, setImmediate as soon } from 'node:timers/promises';

import * as millrace from '../millrace.mjs';
import { decode, encode } from '../wire.mjs';

const { getKey, send, stats, subscribe } = millrace;

/** The number of messages that may wait for the backplane before a publisher waits. */
const WAITING = 20_000;

/** How many messages a publisher may have sent so far. */
function allowed() {
  const key = getKey('allowed');
  return key === undefined ? Number.POSITIVE_INFINITY : Number(Buffer.from(key).toString());
}

const commands = {
  sub: (id, { channel }) => subscribe(id, decode(channel)),
  unsub: (id, { channel }) => millrace.unsubscribe(id, decode(channel)),
  call: (_id, { fn, args }) => millrace[fn](...decode(args)),
  /** Sends `<publisher> <n>` to the channels in turn, n per channel, up to `allowed`, until the key `stop` is set. */
  publish: async (_id, { publisher, channels, count, batch, pauseMs }) => {
    let sent = 0;
    while (sent < count && getKey('stop') === undefined) {
      for (const end = Math.min(count, sent + batch, allowed()); sent < end; sent++) {
        send(`room-${sent % channels}`, `${publisher} ${Math.floor(sent / channels)}`);
      }
      if (pauseMs > 0) await later(pauseMs);
      else
        do await soon();
        while (stats().backplane.queued > WAITING);
    }
    return sent;
  },
};

export async function handleTextMessage(text, socketId) {
  const { cmd, n, ...rest } = JSON.parse(text);
  const value = await commands[cmd](socketId, rest);
  send(socketId, JSON.stringify({ re: n, value: encode(value) }));
}
