// `app.listen`: does not block, reports when it listens or why it cannot, and closes.
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'ava';

import { request } from '../support/app-client.mjs';
import { until, within } from '../support/deadline.mjs';
import { connectOptions } from '../support/http.mjs';
import { createApp } from '../support/http-app.mjs';
import { send } from '../support/millrace.mjs';
import { posixTests } from '../support/platforms.mjs';
import { connect } from '../support/ws-client.mjs';

const hello = () => createApp().get('/hello', (_req, res) => res.json({ hello: 'there' }));

/** An app that listens, closed with the test. */
async function listening(t, app, ...given) {
  const server = app.listen(...given);
  t.teardown(() => server.close());
  return server.ready;
}

// first: only the first app of a process has the default gateway
test.serial('the first app has the sockets that the module functions mean, a second one its own', async (t) => {
  const app = createApp().ws('/', { open: (socket) => void socket.subscribe('room') });
  const first = await listening(t, app, 0, '127.0.0.1');
  const client = await connect(t, first.address);
  t.is(send('room', 'to all'), 1);
  t.is(await client.text(), 'to all');
  const second = await listening(
    t,
    createApp().ws('/', { text: (socket, text) => void socket.send(text) }),
    0,
    '127.0.0.1',
  );
  const other = await connect(t, second.address);
  other.send('echo');
  t.is(await other.text(), 'echo');
  t.is(send('room', 'again'), 1);
  t.is(second.stats().connections, 1);
  t.not(first.gateway, second.gateway);
});

test('it returns at once, and the callback tells when it listens', async (t) => {
  const app = hello();
  let isListening = false;
  const called = new Promise((resolve) => {
    const server = app.listen(0, '127.0.0.1', (error) => {
      isListening = true;
      resolve({ error, server });
    });
    t.false(isListening);
    t.deepEqual(server.addresses, []);
    t.is(server.address, undefined);
    t.teardown(() => server.close());
  });
  const { error, server } = await called;
  t.is(error, undefined);
  t.regex(server.address, /^127\.0\.0\.1:\d+$/);
  t.deepEqual(server.addresses, [server.address]);
  const answer = await fetch(`http://${server.address}/hello`);
  t.deepEqual(await answer.json(), { hello: 'there' });
});

test('without a host it is every IPv4 interface; options are those of start', async (t) => {
  const everywhere = await listening(t, hello(), 0);
  t.regex(everywhere.address, /^0\.0\.0\.0:\d+$/);
  t.is((await request(everywhere.address.replace('0.0.0.0', '127.0.0.1'), 'GET /hello')).status, 200);
  const limited = await listening(t, hello(), { bind: ['127.0.0.1:0', '127.0.0.1:0'] });
  t.is(limited.addresses.length, 2);
  for (const address of limited.addresses) t.is((await request(address, 'GET /hello')).status, 200);
});

test('if it cannot listen, the callback gets the error, or ready rejects', async (t) => {
  const taken = net.createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.teardown(() => taken.close());
  const { port } = taken.address();
  const error = await new Promise((resolve) => hello().listen(port, '127.0.0.1', resolve));
  t.is(error.code, 'ERR_MILLRACE_ADDRESS_IN_USE');
  await t.throwsAsync(hello().listen(port, '127.0.0.1').ready, { code: 'ERR_MILLRACE_ADDRESS_IN_USE' });
  await t.throwsAsync(hello().listen({ bind: '127.0.0.1:0', nothing: 1 }).ready, { instanceOf: TypeError });
});

test('an app listens twice, and close ends both', async (t) => {
  const app = hello();
  const [one, two] = [await listening(t, app, 0, '127.0.0.1'), await listening(t, app, 0, '127.0.0.1')];
  for (const { address } of [one, two]) t.is((await request(address, 'GET /hello')).status, 200);
  await app.close();
  for (const { address } of [one, two]) await t.throwsAsync(fetch(`http://${address}/hello`));
  // and may listen again
  const again = await listening(t, app, 0, '127.0.0.1');
  t.is((await request(again.address, 'GET /hello')).status, 200);
});

test('close ends idle connections and sockets', async (t) => {
  const app = hello().ws('/', {});
  const { address } = await listening(t, app, 0, '127.0.0.1');
  const client = await connect(t, address);
  const idle = net.connect(connectOptions(address));
  t.teardown(() => idle.destroy());
  idle.write('GET /hello HTTP/1.1\r\nHost: a\r\n\r\n');
  await once(idle, 'data');
  const ended = once(idle, 'end');
  await app.close();
  await within(ended, 'the end of the idle connection');
  await until(() => client.closeFrame, 'a close frame');
  t.is(client.closeFrame.code, 1001);
});

posixTests(test)('two apps may share a port', async (t) => {
  const one = await listening(t, hello(), { bind: '127.0.0.1:0', reusePort: true });
  const two = await listening(t, hello(), { bind: one.address, reusePort: true });
  t.is(two.address, one.address);
  await t.throwsAsync(hello().listen({ bind: one.address }).ready, { code: 'ERR_MILLRACE_ADDRESS_IN_USE' });
  t.is((await request(one.address, 'GET /hello')).status, 200);
});

test('routes that are added while it listens are there', async (t) => {
  const app = hello();
  const { address } = await listening(t, app, 0, '127.0.0.1');
  t.is((await request(address, 'GET /late')).status, 404);
  app.get('/late', (_req, res) => res.send('late'));
  t.is((await request(address, 'GET /late')).text, 'late');
});

test('files come before routes, which answer all other requests', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'millrace-app-'));
  t.teardown(() => rm(folder, { recursive: true }));
  await writeFile(path.join(folder, 'page.txt'), 'from a file');
  const app = createApp().all('*', (req, res) => res.send(`from a route: ${req.path}`));
  const { address } = await listening(t, app, { bind: '127.0.0.1:0', static: folder });
  t.is((await request(address, 'GET /page.txt')).text, 'from a file');
  t.is((await request(address, 'GET /other.txt')).text, 'from a route: /other.txt');
  t.is((await request(address, 'POST /page.txt', { body: '' })).text, 'from a route: /page.txt');
});
