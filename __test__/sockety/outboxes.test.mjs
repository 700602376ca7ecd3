// Sockety with small outboxes, and a client that reads late and slowly: all messages of a worker arrive whole.
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { folderFor } from '../support/files.mjs';
import { ownServer } from '../support/server.mjs';
import { SocketyClient } from '../support/sockety.mjs';
import { fastReply, message } from '../support/sockety-wire.mjs';
import { told } from '../support/tcp.mjs';

const WORKER = fileURLToPath(new URL('../support/workers/sockety.mjs', import.meta.url));
/** Of each kind: all of them are more than the kernel keeps. */
const COUNT = 5_000_000;

/** What came of one message: how many bytes of which content, in which all bytes are the same. */
function add(contents, name, bytes, letter) {
  const isRight = bytes.every((byte) => byte === letter.charCodeAt(0));
  contents[name] = isRight ? (contents[name] ?? 0) + bytes.length : Number.NaN;
}

for (const outboxBytes of [1, 1024, 64 * 1024, 256 * 1024, 1024 * 1024]) {
  test(`all that is sent to a slow reader arrives with outboxes of ${outboxBytes} bytes`, async (t) => {
    const limits = { outboxBytes, handlerTimeoutMs: 0 };
    const bind = { address: '127.0.0.1:0', protocol: 'sockety' };
    const server = await ownServer(t, { workerPath: WORKER, threads: 1, ioThreads: 1, bind, limits });
    const client = await SocketyClient.connect(t, server.addresses[0]);
    const file = path.join(folderFor(t, { file: Buffer.alloc(COUNT, 'f') }), 'file');
    client.pause();
    client.write(message({ action: 'plenty', data: Buffer.from(JSON.stringify({ count: COUNT, path: file })) }));
    await told(server, 'begun');
    await until(async () => (await server.call('stats')).outboxBytes > 0, 'a client that is behind');
    client.resume();
    const contents = {};
    let packets = 0;
    for (let last; last?.type !== 'fastReply'; packets++) {
      last = await client.packet();
      if (last === undefined) break;
      const { type, bytes, index, action, id, expects } = last;
      if (type === 'message' && action === 'request') {
        t.true(expects);
        client.write(fastReply(id, 7));
      } else if (type === 'data') {
        const letter = String.fromCharCode(bytes[0]);
        add(contents, `data ${letter}`, bytes, letter);
      } else if (type === 'stream') add(contents, 'stream', bytes, 's');
      else if (type === 'file') add(contents, `file ${index}`, bytes, 'bsf'[index]);
      // it stops now and then
      if (packets % 16 === 0) {
        client.pause();
        setImmediate(() => client.resume());
      }
    }
    t.deepEqual(contents, {
      'data d': 2 * COUNT,
      'data w': 40 * 60_000,
      'file 0': COUNT,
      'file 1': COUNT,
      'file 2': COUNT,
      stream: COUNT,
    });
    t.is(await told(server, 'answer'), 7);
  });
}

test('fast replies, heartbeats and what says that a message is given up wait for room in the smallest outbox', async (t) => {
  const [streams, replies, beats, pieces] = [50, 500, 20, 400];
  const limits = { outboxBytes: 1, handlerTimeoutMs: 0 };
  const bind = { address: '127.0.0.1:0', protocol: 'sockety' };
  const server = await ownServer(t, { workerPath: WORKER, threads: 1, ioThreads: 1, bind, limits });
  const client = await SocketyClient.connect(t, server.addresses[0]);
  const counts = {};
  const count = ({ type }) => {
    counts[type] = (counts[type] ?? 0) + 1;
  };
  client.write(message({ action: 'abandon', data: Buffer.from(String(streams)) }));
  while (counts.stream !== streams) count(await client.packet());
  client.pause();
  client.write(message({ action: 'pour', data: Buffer.from(String(pieces)) }));
  await until(async () => (await server.call('stats')).outboxBytes > 0, 'a client that is behind');
  client.write(message({ action: 'beat', data: Buffer.from(String(beats)) }));
  for (let index = 0; index < replies; index++) client.write(message({ action: 'accept' }));
  await told(server, 'beaten');
  await server.call('setKey', 'abandon', '1');
  await told(server, 'abandoned');
  client.resume();
  while (counts.streamEnd === undefined || counts.fastReply !== replies || counts.abort !== streams) {
    const packet = await client.packet();
    if (packet === undefined) break;
    count(packet);
  }
  t.like(counts, { fastReply: replies, abort: streams, streamEnd: 1 });
});
