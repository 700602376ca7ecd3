// permessage-deflate (RFC 7692) with `ws` as the client, in every combination of its options.
import { once } from 'node:events';

import test from 'ava';
import WebSocket from 'ws';

import { within } from '../support/deadline.mjs';
import { sharedServer, worker } from '../support/server.mjs';

const server = sharedServer(test, {
  workerPath: worker('echo'),
  threads: 1,
  bind: [
    { address: '127.0.0.1:0', compression: true },
    { address: '127.0.0.1:0', compression: { serverContextTakeover: true, clientContextTakeover: true, threshold: 0 } },
    {
      address: '127.0.0.1:0',
      compression: { clientContextTakeover: false, clientMaxWindowBits: 9, serverMaxWindowBits: 9 },
    },
    '127.0.0.1:0',
  ],
});

const LISTENERS = ['the defaults', 'context takeover both ways', 'small windows without context takeover'];

const CLIENTS = {
  'the defaults of ws': { threshold: 0 },
  'no context takeover of the server': { threshold: 0, serverNoContextTakeover: true },
  'no context takeover of the client': { threshold: 0, clientNoContextTakeover: true },
  'small windows': { threshold: 0, serverMaxWindowBits: 9, clientMaxWindowBits: 9 },
  'a fixed window of the client': { threshold: 0, clientMaxWindowBits: 15 },
  'messages above a threshold': { threshold: 1000 },
};

async function open(t, index, perMessageDeflate) {
  const ws = new WebSocket(`ws://${server.addresses[index]}`, { perMessageDeflate });
  t.teardown(() => ws.terminate());
  await within(once(ws, 'open'), 'the handshake');
  return ws;
}

async function next(ws) {
  const over = new AbortController();
  const closed = once(ws, 'close', over).then(([code, reason]) =>
    Promise.reject(new Error(`closed: ${code} ${reason}`)),
  );
  closed.catch(() => {});
  const [data, isBinary] = await within(Promise.race([once(ws, 'message', over), closed]), 'an echo');
  over.abort();
  return isBinary ? data : data.toString();
}

const words = (count) =>
  Array.from({ length: count }, (_, index) => ({ id: index % 97, name: `member ${index % 31}` }));
const MESSAGES = [
  '',
  'a',
  'Hello',
  JSON.stringify(words(20)),
  JSON.stringify(words(20)),
  '\u{1f980} crabs and \u00e9'.repeat(100),
  JSON.stringify(words(3000)),
  Buffer.alloc(0),
  Buffer.from(JSON.stringify(words(20))),
  Buffer.alloc(300_000, 'abcdefg'),
  Buffer.from(Array.from({ length: 5000 }, (_, index) => (index * index * 7919) >> 5)),
];

for (const [index, listener] of LISTENERS.entries()) {
  for (const [client, options] of Object.entries(CLIENTS)) {
    test(`${client}, and a listener with ${listener}`, async (t) => {
      const ws = await open(t, index, options);
      t.regex(ws.extensions, /^permessage-deflate/);
      for (const message of [...MESSAGES, ...MESSAGES]) {
        ws.send(message);
        t.deepEqual(await next(ws), message);
      }
    });
  }
}

test('a listener without compression ignores the offer, and a client without it is served by one with', async (t) => {
  const plain = await open(t, 3, true);
  t.is(plain.extensions, '');
  const other = await open(t, 0, false);
  t.is(other.extensions, '');
  for (const ws of [plain, other]) {
    ws.send(MESSAGES[3]);
    t.is(await next(ws), MESSAGES[3]);
  }
});
