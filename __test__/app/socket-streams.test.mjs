// Large messages to WebSockets of an app: read while they arrive, or whole where a path has no handler for that.
import test from 'ava';

import { TEXT } from '../support/frames.mjs';
import { open, sharedServer, worker } from '../support/server.mjs';

const KIB = 1024;
const limits = { streamMessagesAbove: 100 * KIB };
const server = sharedServer(test, { workerPath: worker('app'), threads: 1, limits });

test('a path with messageStream reads large messages while they arrive', async (t) => {
  const client = await open(t, server, { path: '/streams' });
  client.send('x'.repeat(100 * KIB));
  t.is(await client.text(), `whole ${100 * KIB}`);
  client.send('x'.repeat(3000 * KIB));
  t.is(await client.text(), `text ${3000 * KIB} in pieces`);
  client.send(new Uint8Array(3000 * KIB));
  t.is(await client.text(), `bytes ${3000 * KIB} in pieces`);
});

test('a path without it gets them whole, in order', async (t) => {
  const client = await open(t, server, { path: '/whole' });
  client.send(`${'x'.repeat(3000 * KIB)}\u{1f980}`);
  client.send('short');
  client.send(Buffer.alloc(3000 * KIB, 7));
  client.send('end');
  t.is(await client.text(), `text ${3000 * KIB + 2} \u{1f980}`);
  t.is(await client.text(), 'text 5 rt');
  t.is(await client.text(), `bytes ${3000 * KIB} 7`);
  t.is(await client.text(), 'text 3 nd');
});

test('a message that breaks off on such a path is no failure of the app', async (t) => {
  const client = await open(t, server, { path: '/whole' });
  client.frame({ opcode: TEXT, payload: Buffer.alloc(200 * KIB, 'x'), fin: false });
  client.end();
  await client.closed();
  const other = await open(t, server, { path: '/whole' });
  other.send('alive');
  t.is(await other.text(), 'text 5 ve');
});
