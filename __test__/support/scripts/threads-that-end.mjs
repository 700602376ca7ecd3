// Threads that end while the I/O threads of their gateway wake them: terminated, by `process.exit`, or by themselves.
// Resolves with the numbers of native objects before and after.
import { once } from 'node:events';
import net from 'node:net';
import { Worker } from 'node:worker_threads';

import { binding } from '../../../js/dist/addon/binding.js';

/** A handshake, and 2,000 messages of one byte. */
const FLOOD = Buffer.concat([
  Buffer.from(
    'GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n' +
      'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  ),
  ...Array.from({ length: 2000 }, () => Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0x61])),
]);

async function live(end) {
  const thread = new Worker(new URL('./thread-that-ends.mjs', import.meta.url), { workerData: end });
  const exited = once(thread, 'exit');
  const [port] = await once(thread, 'message');
  const clients = [0, 1].map(() => net.connect(port, '127.0.0.1').on('error', () => {}));
  for (const client of clients) client.resume().write(FLOOD);
  await once(thread, 'message');
  if (end === 'terminated') await thread.terminate();
  else thread.postMessage(end);
  await exited;
  for (const client of clients) client.destroy();
}

export default async function threadsThatEnd(_millrace, rounds, ends) {
  const before = binding().counts();
  for (let round = 0; round < rounds; round++) await live(ends[round % ends.length]);
  return { before, after: binding().counts() };
}
