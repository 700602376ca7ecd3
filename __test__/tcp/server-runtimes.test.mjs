// Servers of millrace/tcp in each runtime, on the main thread and in worker threads.
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { linuxTests } from '../support/platforms.mjs';
import { inEach } from '../support/runtimes.mjs';
import { ownServer } from '../support/server.mjs';
import { TcpClient } from '../support/tcp.mjs';

const SCRIPT = 'tcp-servers';

/** Checks that apply to every server, wherever it runs; returns the remaining connection. */
async function checked(t, port) {
  const join = () => TcpClient.connect(t, `127.0.0.1:${port}`);
  const client = await join();
  const text = Buffer.from('\ufeffé😀\0\ufffd');
  for (const byte of text) client.write(Buffer.of(byte));
  t.deepEqual(await client.bytes(text.length), text);
  client.write(Buffer.of(0xe2, 0x28));
  t.is(String(await client.bytes(4)), '\ufffd(');
  client.end('the last');
  t.is(await client.rest(), 'the last and the end');
  const much = await join();
  much.end('much');
  const received = await much.rest();
  t.is(received.length, 3_000_000);
  t.is(received, '€'.repeat(3_000_000), 'a short write is finished');
  (await join()).reset();
  const bad = await join();
  bad.write('throw');
  t.is(await bad.rest(), '');
  const after = await join();
  after.write('x');
  t.is(String(await after.bytes(9)), 'x after 1');
  return after;
}

inEach(test, 'a TCP server on the main thread', async (t, { launch }) => {
  const process = await launch();
  const left = await checked(t, await process.run(SCRIPT, 'open'));
  await process.run(SCRIPT, 'close');
  t.is(await left.rest(), '');
  // the port can be used again
  await checked(t, await process.run(SCRIPT, 'open'));
  await process.run(SCRIPT, 'close');
  await process.end();
});

inEach(test, 'a TCP server in a worker thread', async (t, { launch }) => {
  const process = await launch();
  const left = await checked(t, await process.run(SCRIPT, 'open in a thread'));
  await process.run(SCRIPT, 'close');
  t.is(await left.rest(), '');
  await process.end();
});

inEach(test, 'a worker thread that ends with an open TCP server leaves nothing behind', async (t, { launch }) => {
  const process = await launch();
  const left = await checked(t, await process.run(SCRIPT, 'open in a thread'));
  await process.run(SCRIPT, 'end the thread');
  t.is(await left.rest(), '');
  await process.end();
});

inEach(linuxTests(test), 'TCP servers of several threads share one gateway', async (t, { launch }) => {
  const process = await launch();
  // the thread starts it, and ends first
  const ofThread = await checked(t, await process.run(SCRIPT, 'open in a thread'));
  const port = await process.run(SCRIPT, 'open');
  const ofMain = await checked(t, port);
  const names = await process.run('io-threads');
  t.deepEqual([...new Set(names)], names, 'another gateway would have threads of the same names');
  t.true(names.length > 0);
  await process.run(SCRIPT, 'end the thread');
  t.is(await ofThread.rest(), '');
  ofMain.write('y');
  t.is(String(await ofMain.bytes(9)), 'y after 1');
  const another = await TcpClient.connect(t, `127.0.0.1:${port}`);
  another.write('z');
  t.is(String(await another.bytes(9)), 'z after 1');
  await process.run(SCRIPT, 'close');
  await until(async () => (await process.run('io-threads')).length === 0, 'the end of the I/O threads');
  await process.end();
});

test('errors without a handler are printed, and the server continues', async (t) => {
  const process = await ownServer(t);
  const port = await process.run(SCRIPT, 'open');
  const fail = async () => {
    const client = await TcpClient.connect(t, `127.0.0.1:${port}`);
    client.write('throw');
    t.is(await client.rest(), '');
  };
  await process.run(SCRIPT, 'forget onError');
  await fail();
  await until(
    () => /^millrace: a callback failed: as asked \(ERR_MILLRACE_HANDLER_FAILED\)$/m.test(process.output),
    'the line',
  );
  await process.run(SCRIPT, 'throw in onError');
  await fail();
  await until(() => /^millrace: onError failed: of onError/m.test(process.output), 'the lines');
  t.is(process.output.match(/a callback failed: as asked/g).length, 2);
  await process.run(SCRIPT, 'close');
});
