// Makes gateways without keeping references, and stopped servers with handlers on this thread. Garbage collection must
// free their native objects, but for the last ones, to which references may still be on the stack: resolves with the
// numbers of these objects before, at most, and after.
import { setImmediate } from 'node:timers/promises';

import { binding } from '../../../js/dist/addon/binding.js';

/** So many of each may stay, by references on the stack. */
const LAST = 1;

export default async function gatewaysLost(millrace, count, deadlineMs) {
  const before = binding().counts();
  for (let index = 0; index < count; index++) {
    const gateway = millrace.createGateway();
    const server = await gateway.start({ bind: '127.0.0.1:0', threads: 0, handlers: { handleTextMessage() {} } });
    await server.stop();
  }
  const most = binding().counts();
  const deadline = performance.now() + deadlineMs;
  let after = most;
  while (performance.now() < deadline && (after.gateways > before.gateways + LAST || after.workers > LAST)) {
    globalThis.gc();
    await setImmediate();
    after = binding().counts();
  }
  return { before, most, after };
}
