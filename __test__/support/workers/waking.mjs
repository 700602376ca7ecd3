// Handlers that show what runs between them: promises, ticks, timers.
import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as after } from 'node:timers/promises';

import { send } from '../millrace.mjs';

const storage = new AsyncLocalStorage();
let last = performance.now();
let longest = 0;
setInterval(() => {
  const now = performance.now();
  longest = Math.max(longest, now - last);
  last = now;
}, 5).unref();

const commands = {
  /** Answers with the order of what follows a handler. */
  order(socketId) {
    const seen = ['handler'];
    setImmediate(() => send(socketId, seen.join(' ')));
    Promise.resolve().then(() => seen.push('promise'));
    process.nextTick(() => seen.push('tick'));
  },
  /** Answers with the value that its storage has after a while. */
  store(socketId, value) {
    return storage.run(value, async () => {
      await after(1);
      send(socketId, `${storage.getStore()}`);
    });
  },
  /** Takes so many milliseconds. */
  work(_socketId, ms) {
    const until = performance.now() + Number(ms);
    while (performance.now() < until);
  },
  /** Answers with the longest time between two timers since the last call. */
  longest(socketId) {
    send(socketId, String(Math.max(longest, performance.now() - last)));
    longest = 0;
  },
  later() {
    process.nextTick(() => {
      throw new Error('thrown after the handler');
    });
  },
};

export function handleTextMessage(text, socketId) {
  const [command, argument] = text.split(' ');
  return commands[command](socketId, argument);
}
