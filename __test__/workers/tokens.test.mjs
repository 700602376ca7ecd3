// Tokens may be any values that can be cloned. They are deserialized once per connection and worker, and never confused
// with bytes.
import { createRequire } from 'node:module';
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { handshake } from '../support/http.mjs';
import { inEach } from '../support/runtimes.mjs';
import { open, sharedServer, worker } from '../support/server.mjs';

const { storedToken } = createRequire(import.meta.url)('../../js/dist/worker/token.js');

const options = { workerPath: worker('token-values'), threads: 2 };
const server = sharedServer(test, options);
const SESSION = { kind: 'object', roles: ['user'], since: 5 };

async function told(client, command = {}) {
  client.send(JSON.stringify(command));
  return client.json();
}

inEach(test, 'a value from handleOpen and from setToken, in messages and in handleClose', async (t, { launch }) => {
  const own = await launch(options);
  const watcher = await open(t, own, { path: '/?ends' });
  const client = await open(t, own, { path: '/?token=session&arg=Ann' });
  const first = await told(client);
  t.like(first, { ...SESSION, value: { name: 'Ann' }, objects: 1 });
  client.send(Buffer.from('binary'));
  t.like(await client.json(), { ...SESSION, objects: 1 });
  // the handler's changes stay until a token is set
  t.like(await told(client, { mutate: 'changed' }), { value: { name: 'changed' }, objects: 1 });
  t.like(await told(client), { value: { name: 'changed' }, objects: 1 });
  t.like(await told(client, { set: 'session', arg: 'Ann' }), { value: { name: 'changed' } });
  t.like(await told(client), { ...SESSION, value: { name: 'Ann' }, objects: 2 });
  client.close(1000);
  t.like(await watcher.json(), { ...SESSION, socketId: first.socketId, value: { name: 'Ann' }, objects: 2 });
});

inEach(test, 'a worker that inherits a connection gets the value of its token', async (t, { launch }) => {
  const own = await launch(options);
  const dying = await open(t, own, { path: '/?token=session&arg=Bob' });
  const { socketId, threadId } = await told(dying);
  // one on another thread, which continues
  let watcher;
  do {
    watcher = await open(t, own, { path: '/?ends' });
  } while ((await told(watcher)).threadId === threadId);
  dying.send(JSON.stringify({ die: true }));
  let end;
  do {
    end = await watcher.json();
  } while (end.socketId !== socketId);
  t.like(end, { ...SESSION, value: { name: 'Bob' }, objects: 1 });
  t.not(end.threadId, threadId);
});

test('null and numbers are values, too', async (t) => {
  t.like(await told(await open(t, server, { path: '/?token=null' })), { kind: 'null', value: null });
  t.like(await told(await open(t, server, { path: '/?token=number' })), { kind: 'number', value: 5 });
  t.like(await told(await open(t, server, {})), { kind: 'none' });
});

test('bytes are never read as a value', async (t) => {
  const forged = storedToken({ name: 'forged' }, 'token').data.toString('hex');
  const client = await open(t, server, { path: `/?token=bytes&arg=${forged}` });
  t.like(await told(client), { kind: 'bytes', hex: forged });
  t.like(await told(client, { set: 'session', arg: 'Ann' }), { kind: 'bytes' });
  t.like(await told(client, { set: 'bytes', arg: forged }), { kind: 'object' });
  t.like(await told(client), { kind: 'bytes', hex: forged });
});

test('a value that cannot be cloned, or is too large, is a TypeError that names the token', async (t) => {
  const client = await open(t, server, { path: '/?token=number' });
  const { error } = await told(client, { set: 'function' });
  t.regex(error, /^TypeError: argument 'token' must be bytes, or a value that can be cloned: /);
  const { error: large } = await told(client, { set: 'big' });
  t.regex(large, /^TypeError: argument 'token' must be at most 1048576 bytes when it is serialised, not \d+$/);
  t.like(await told(client), { kind: 'number' }, 'the token is unchanged');
});

test('if handleOpen returns such a token, the answer is 500 and the error is reported', async (t) => {
  for (const kind of ['function', 'big']) {
    const before = (await server.errors()).length;
    t.is((await handshake(server.addresses[0], { path: `/?token=${kind}` })).status, 500);
    const errors = await until(async () => {
      const all = await server.errors();
      return all.length > before ? all : undefined;
    }, 'the report');
    t.is(errors.at(-1).code, 'ERR_MILLRACE_HANDLER_FAILED');
    t.regex(errors.at(-1).message, /^handleOpen failed for socket \d+: .*'token' must be/);
  }
});
