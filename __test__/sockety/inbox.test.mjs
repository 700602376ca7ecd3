// Sockety messages of a worker whose I/O thread is overloaded.
import { fileURLToPath } from 'node:url';
import test from 'ava';

import { ownServer } from '../support/server.mjs';
import { SocketyClient } from '../support/sockety.mjs';
import { message } from '../support/sockety-wire.mjs';

const WORKER = fileURLToPath(new URL('../support/workers/sockety.mjs', import.meta.url));

test('sent() does not resolve for messages without room in the inbox', async (t) => {
  const server = await ownServer(t, {
    workerPath: WORKER,
    threads: 1,
    ioThreads: 1,
    bind: { address: '127.0.0.1:0', protocol: 'sockety' },
    limits: { shardInboxBytes: 64 * 1024 },
  });
  const client = await SocketyClient.connect(t, server.addresses[0]);
  const outcomes = new Set();
  while (outcomes.size < 2) {
    client.write(message({ action: 'flood', expects: true }));
    const open = new Map();
    const complete = new Set();
    let answer;
    while (answer === undefined) {
      const packet = await client.packet();
      if (packet === undefined) throw new Error('the connection was closed');
      const { type, bytes } = packet;
      if (type === 'message') open.set(packet.channel, { id: packet.id, left: packet.dataSize });
      const one = open.get(packet.channel);
      if (type === 'data') one.left -= bytes.length;
      if (type === 'streamEnd' || (type === 'data' && one.left === 0)) complete.add(one.id);
      if (type === 'data' && bytes[0] === 0x7b) answer = JSON.parse(String(bytes));
    }
    for (const [index, code] of answer.told.entries()) {
      t.is(code, complete.has(answer.ids[index]) ? 'sent' : 'ERR_SOCKETY_NOT_SENT');
      outcomes.add(code);
    }
  }
});
