// `perMessageDeflate` of the hook `upgrade`, on a listener with compression.
import test from 'ava';

import { Compression } from '../support/deflate.mjs';
import { open as connect, sharedServer, worker } from '../support/server.mjs';

const server = sharedServer(test, { workerPath: worker('crossws'), threads: 0, compression: true });
const LONG = JSON.stringify({ text: 'again and '.repeat(200) });

/** A client, whose greeting is read. */
async function open(t, upgrade, more = '') {
  const compression = new Compression();
  const client = await connect(t, server, { path: `/room?open=quiet&upgrade=${upgrade}${more}`, compression });
  await client.text();
  return { client, compression };
}

// serial: every connection gets what is published
test.serial('false has messages to the connection sent as they are, and what it sends may be compressed', async (t) => {
  const { client, compression } = await open(t, 'plain');
  t.regex(client.headers['sec-websocket-extensions'], /permessage-deflate/);
  await client.raw(compression.frame(LONG));
  t.deepEqual(await client.json(), { json: JSON.parse(LONG) });
  const other = await open(t, 'deflate');
  const text = 'to all '.repeat(300);
  await fetch(`http://${server.addresses[0]}/publish?topic=chat&text=${encodeURIComponent(text)}`);
  t.is(await client.text(), text);
  t.is(await other.client.text(), text);
  t.is(client.compressedBytes, 0);
  t.true(other.client.compressedBytes > 0, 'other connections get compressed messages');
});

test.serial('without it, and with true or options, the listener decides', async (t) => {
  for (const upgrade of ['nothing', 'deflate']) {
    const { client, compression } = await open(t, upgrade);
    await client.raw(compression.frame(LONG));
    t.deepEqual(await client.json(), { json: JSON.parse(LONG) });
    t.true(client.compressedBytes > 0, upgrade);
  }
});
