// `millrace.v1` together with permessage-deflate, in the combinations of its options.
import test from 'ava';

import { sharedServer, worker } from '../support/server.mjs';
import { speak } from '../support/v1.mjs';

const server = sharedServer(test, {
  workerPath: worker('no-handlers'),
  threads: 1,
  bind: [
    { address: '127.0.0.1:0', compression: { threshold: 0 } },
    { address: '127.0.0.1:0', compression: { serverContextTakeover: true, clientContextTakeover: true, threshold: 0 } },
    { address: '127.0.0.1:0', compression: { clientContextTakeover: false, serverMaxWindowBits: 9 } },
    '127.0.0.1:0',
  ],
  channels: [
    ['room:plain:*', { compress: false, clients: { subscribe: true, publish: true } }],
    ['room:*', { clients: { subscribe: true, publish: true } }],
  ],
});

const words = (count) => JSON.stringify(Array.from({ length: count }, (_, index) => ({ id: index % 97 })));
const PAYLOADS = ['', 'a', words(20), words(20), words(5000), 'é\u{1f980}'.repeat(20_000)];
PAYLOADS.push(Buffer.alloc(0), Buffer.from(words(30)), Buffer.alloc(300_000, 'abc'), 'last');

for (const [index, listener] of ['defaults', 'context takeover', 'small windows', 'no compression'].entries()) {
  test(`messages arrive through a listener with ${listener}`, async (t) => {
    const name = `room:${index}`;
    const address = server.addresses[index];
    const perMessageDeflate = { threshold: 0 };
    const clients = [
      await speak(t, server, { address, perMessageDeflate }),
      await speak(t, server, { address, perMessageDeflate }),
      await speak(t, server, { address, perMessageDeflate: false }),
    ];
    t.deepEqual(
      clients.map(({ ws }) => /permessage-deflate/.test(ws.extensions)),
      [index < 3, index < 3, false],
    );
    for (const client of clients) await client.subscribe(name);
    const [publisher, other] = clients;
    for (const payload of PAYLOADS) publisher.send({ t: 'pub', c: name }, payload);
    for (const client of clients) {
      for (const payload of PAYLOADS) t.deepEqual(await client.next(), [{ c: name }, payload]);
    }
    const id = Number(other.hi.s);
    for (const payload of PAYLOADS) await server.call('send', id, payload);
    for (const payload of PAYLOADS) t.deepEqual(await other.next(), [{}, payload]);
  });
}

test('the header is compressed with the payload, and only where the terms allow it', async (t) => {
  const address = server.addresses[0];
  const client = await speak(t, server, { address, perMessageDeflate: true });
  const received = () => client.ws._socket.bytesRead;
  const payload = words(1000);
  const sizes = [];
  for (const name of ['room:small', 'room:plain:large']) {
    await client.subscribe(name);
    const before = received();
    await server.call('send', name, payload);
    t.deepEqual(await client.next(), [{ c: name }, payload]);
    sizes.push(received() - before);
  }
  t.true(sizes[0] < payload.length / 4, `${sizes[0]} of ${payload.length} bytes`);
  t.true(sizes[1] > payload.length);
});
