// Threads that start a gateway and end without stopping it. Resolves with the numbers of Millrace's threads while each
// ran, after its exit event, and at the end.
import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';

import { ioThreads } from '../io-threads.mjs';

const threads = () => ioThreads().length;

export default async function abandonedGateways(_millrace, rounds, deadlineMs) {
  const seen = [];
  for (let round = 0; round < rounds; round++) {
    const thread = new Worker(new URL('./abandoned-gateway-thread.mjs', import.meta.url));
    await once(thread, 'message');
    const during = threads();
    const ended = once(thread, 'exit');
    await thread.terminate();
    await ended;
    const after = threads();
    const deadline = performance.now() + deadlineMs;
    while (threads() > 0 && performance.now() < deadline) await setImmediate();
    seen.push({ during, after, left: threads() });
  }
  return seen;
}
