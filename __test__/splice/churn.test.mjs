// Ten thousand sessions with a target each leave nothing behind: no descriptor, no socket, little memory.
import net from 'node:net';

import test from 'ava';

import { until } from '../support/deadline.mjs';
import { BINARY, close, frame } from '../support/frames.mjs';
import { connectOptions, handshakeBytes } from '../support/http.mjs';
import { linuxTests } from '../support/platforms.mjs';
import { ownServer } from '../support/server.mjs';
import { CONTROL, options, prefixed, Target } from '../support/splice.mjs';

const MIB = 1024 * 1024;
const BATCH = 50;
const REPLY = '"result":{"index":0}';

/** Ways in which a session ends. */
const ENDS = [
  (socket) => socket.write(close(1000)),
  (socket) => socket.end(),
  (socket) => socket.resetAndDestroy(),
  (socket) => socket.write(frame({ opcode: BINARY, payload: Buffer.from('\0\0close'), masked: true })),
  (socket) => socket.write(call({ id: 2, method: 'terminate', params: { index: 0 } })),
  // before it is reached
  undefined,
];

const call = (document) => frame({ opcode: BINARY, payload: prefixed(CONTROL, JSON.stringify(document)) });

/** One session: it connects to a target, sends it a message, gets it back, and ends. */
function session(address, url, number) {
  const end = ENDS[number % ENDS.length];
  return new Promise((resolve, reject) => {
    const socket = net.connect(connectOptions(address));
    let text = '';
    let done = end === undefined;
    socket.on('error', () => {});
    socket.on('close', () => (done ? resolve() : reject(new Error(`session ${number} got no echo: ${text}`))));
    socket.on('data', (chunk) => {
      const before = text;
      text += chunk.toString('latin1');
      if (text.includes(REPLY) && !before.includes(REPLY)) {
        socket.write(frame({ opcode: BINARY, payload: prefixed(0, 'churn') }));
      }
      if (!done && text.includes('\0\0churn')) {
        done = true;
        end(socket);
      } else if (text.includes('onSocketDisconnect')) socket.destroy();
    });
    const connect = call({ id: 1, method: 'connect', params: { url } });
    socket.write(Buffer.concat([handshakeBytes(), connect]), () => end === undefined && socket.destroy());
  });
}

async function sessions(address, url, count) {
  for (let done = 0; done < count; done += BATCH) {
    await Promise.all(Array.from({ length: BATCH }, (_, index) => session(address, url, done + index)));
  }
}

linuxTests(test)('10,000 sessions with a target each leave no descriptor and no memory behind', async (t) => {
  const server = await ownServer(t, options(), { nodeArgs: ['--expose-gc'] });
  const target = await Target.listen(t, {
    onMessage: ({ data }, at) => (String(data) === 'close' ? at.close(4000) : at.send(data)),
  });
  const quiet = () =>
    until(async () => {
      target.connections.length = 0;
      const { connections, sockets } = await server.call('stats');
      return connections === 0 && sockets === 0;
    }, 'all connections to be gone');
  await sessions(server.addresses[0], target.url(), 2000);
  await quiet();
  const before = await server.usage();
  await sessions(server.addresses[0], target.url(), 10_000);
  await quiet();
  const after = await until(async () => {
    const usage = await server.usage();
    return usage.descriptors <= before.descriptors && usage;
  }, `descriptors to be back at ${before.descriptors}`);
  t.log(
    `resident ${(before.rss / MIB).toFixed(1)} → ${(after.rss / MIB).toFixed(1)} MiB, descriptors ${after.descriptors}`,
  );
  t.true(after.rss - before.rss < 16 * MIB, `grew by ${(after.rss - before.rss) / MIB} MiB`);
});
