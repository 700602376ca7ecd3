// `handleOpen` may return `{ compress: false }`: nothing is compressed for this connection.
import test from 'ava';

import { Compression } from '../support/deflate.mjs';
import { open, sharedServer, worker } from '../support/server.mjs';
import { speak } from '../support/v1.mjs';

const server = sharedServer(test, {
  workerPath: worker('plain-open'),
  threads: 1,
  bind: [
    { address: '127.0.0.1:0', compression: true },
    { address: '127.0.0.1:0', compression: { serverContextTakeover: true } },
    '127.0.0.1:0',
  ],
  channels: { 'room:*': { clients: { subscribe: true, publish: true } } },
});
const LONG = 'again and '.repeat(3000);

for (const [index, listener] of ['defaults', 'context takeover'].entries()) {
  for (const query of ['plain', 'plain&headers']) {
    test(`messages are sent as they are (${query}, ${listener})`, async (t) => {
      const address = server.addresses[index];
      const client = await open(t, server, { address, path: `/?${query}`, compression: new Compression() });
      t.is(client.headers['x-plain'], query.includes('headers') ? 'yes' : undefined);
      for (let round = 0; round < 3; round++) {
        client.send(LONG);
        t.is(await client.text(), LONG);
      }
      t.is(client.compressedBytes, 0);
      const usual = await open(t, server, { address, path: '/', compression: new Compression() });
      usual.send(LONG);
      t.is(await usual.text(), LONG);
      t.true(usual.compressedBytes > 0);
    });
  }

  test(`what was sent before the answer arrives, compressed or not (${listener})`, async (t) => {
    const address = server.addresses[index];
    const client = await open(t, server, { address, path: '/?plain&greeting', compression: new Compression() });
    t.is(await client.text(), 'welcome '.repeat(300));
    const { compressedBytes } = client;
    client.send(LONG);
    t.is(await client.text(), LONG);
    t.is(client.compressedBytes, compressedBytes);
  });
}

test('it holds for millrace.v1, and without compression nothing changes', async (t) => {
  for (const [index, shorter] of [true, true, false].entries()) {
    const address = server.addresses[index];
    const clients = [];
    for (const path of ['/?plain', '/']) {
      const client = await speak(t, server, { address, path, perMessageDeflate: true });
      await client.subscribe(`room:${index}`);
      clients.push(client);
    }
    const before = clients.map(({ ws }) => ws._socket.bytesRead);
    await server.call('send', `room:${index}`, LONG);
    for (const client of clients) t.deepEqual(await client.next(), [{ c: `room:${index}` }, LONG]);
    const [plain, usual] = clients.map(({ ws }, at) => ws._socket.bytesRead - before[at]);
    t.true(plain > LONG.length, `${plain} bytes`);
    t.is(usual < LONG.length / 4, shorter, `${usual} bytes`);
  }
});
