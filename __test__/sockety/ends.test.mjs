import { once } from 'node:events';
import net from 'node:net';
import path from 'node:path';
import test from 'ava';

import { Authority } from '../support/certificates.mjs';
import { until } from '../support/deadline.mjs';
import { folderFor } from '../support/files.mjs';
import {
  connect,
  createSecureServer,
  createServer,
  Draft,
  heartbeat,
  ResponseDraft,
  secureConnect,
  series,
} from '../support/millrace-sockety.mjs';
import { needing } from '../support/needing.mjs';
import { freePort, refusing } from '../support/ports.mjs';
import { answering, serve, stop } from '../support/sockety-own.mjs';

let identity;
let shown;
const authority = Authority.of(test, async (made) => {
  identity = await made.issue();
  shown = await made.issue({ client: true, subject: '/CN=client' });
});

const ping = Draft.for('ping');

test('nothing can be sent before the header has come, nor after the end', async (t) => {
  const { to } = await serve(t);
  const client = to();
  t.throws(() => client.send(ping()), {
    code: 'ERR_SOCKETY_NOT_READY',
    message: 'The connection is not established yet.',
  });
  await once(client, 'connect');
  t.is(await client.ready(), client);
  const waits = client.send(ping()).response();
  await client.close();
  t.true(client.closed);
  await t.throwsAsync(waits, { code: 'ERR_SOCKETY_CLOSED' });
  t.throws(() => client.send(ping()), { code: 'ERR_SOCKETY_CLOSED', message: 'The connection is closed.' });
  await t.throwsAsync(client.ready(), { message: 'The connection is already closed' });
  await client.close();
});

test('close writes everything first, and tells the other side', async (t) => {
  const bytes = [];
  let away = 0;
  const { to } = await serve(t, (connection) => {
    connection.on('message', async (message) => bytes.push((await message.dataBuffer()).length));
    connection.on('goAway', () => away++);
  });
  const client = await to().ready();
  client.pass(Draft.for('big').data(Buffer.alloc(8_000_000))());
  await client.close();
  await until(() => bytes.length === 1, 'all of it');
  t.deepEqual([bytes, away], [[8_000_000], 1]);
});

test('close with force ends at once', async (t) => {
  const { server, to } = await serve(t, (connection) => connection.on('message', () => undefined));
  const client = await to().ready();
  await until(() => server.clients.length === 1, 'a client');
  const [other] = server.clients;
  const closed = once(other, 'close');
  const sent = client.pass(Draft.for('never').stream()());
  await client.close(true);
  await closed;
  await sent.catch(() => undefined);
  t.true(other.closed);
});

test('without a server: error, then close', async (t) => {
  const port = await freePort();
  const client = connect(port, '127.0.0.1');
  const events = [];
  client.on('close', () => events.push('close'));
  const ready = client.ready();
  const [error] = await once(client, 'error');
  t.deepEqual([error.code, error.syscall, error.port], ['ECONNREFUSED', 'connect', port]);
  await t.throwsAsync(ready, { code: 'ECONNREFUSED' });
  await until(() => events.length === 1, 'close');
  t.true(client.closed);
});

test('a name without an address is an error', async (t) => {
  const client = connect({ port: 1, host: 'nowhere.invalid' });
  const [error] = await once(client, 'error');
  t.true(['ENOTFOUND', 'EAI_AGAIN'].includes(error.code), error.code);
});

test('connecting to a silent server fails after connectTimeout', async (t) => {
  const silent = net.createServer(() => undefined);
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.teardown(() => silent.close());
  const client = connect({ port: silent.address().port, host: '127.0.0.1', connectTimeout: 200 });
  const [error] = await once(client, 'error');
  t.is(error.code, 'ERR_SOCKETY_TIMEOUT');
  t.true(client.closed);
});

test('a peer with another protocol is a protocol error, and does no harm', async (t) => {
  const { server, port, to } = await serve(
    t,
    answering((message) => message.accept()),
  );
  const client = await to().ready();
  const stranger = net.connect(port, '127.0.0.1');
  stranger.resume().write('GET / HTTP/1.1\r\n\r\n');
  await once(stranger, 'close');
  t.is(await client.send(ping()).response(), 0);
  t.is(server.clients.length, 1);

  const wrong = net.createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  wrong.listen(0, '127.0.0.1');
  await once(wrong, 'listening');
  t.teardown(() => wrong.close());
  const mistaken = connect(wrong.address().port, '127.0.0.1');
  const [error] = await once(mistaken, 'error');
  t.is(error.code, 'ERR_SOCKETY_PROTOCOL');
});

test('without listeners an error ends nothing but the connection', async (t) => {
  const { server, port } = await serve(t);
  await server.close();
  const client = connect(port, '127.0.0.1');
  await until(() => client.closed, 'its end');
  await t.throwsAsync(client.ready(), { code: 'ERR_SOCKETY_CLOSED' });
});

test('a silent peer causes timeout, then close', async (t) => {
  const events = [];
  const { port } = await serve(
    t,
    (connection) => {
      connection.on('timeout', () => events.push('timeout'));
      connection.on('close', () => events.push('close'));
    },
    { timeout: 300 },
  );
  const socket = net.connect(port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.write(Buffer.of(0xe3));
  socket.resume();
  await until(() => events.length === 2, 'timeout and close');
  t.deepEqual(events, ['timeout', 'close']);
});

test('heartbeats keep a connection open, and are emitted as events', async (t) => {
  let heartbeats = 0;
  const { to } = await serve(t, (connection) => connection.on('heartbeat', () => heartbeats++), { timeout: 400 });
  const client = await to({ timeout: 400 }).ready();
  client.on('timeout', () => t.fail('timed out'));
  await client.pass(heartbeat);
  await client.pass(series(heartbeat, heartbeat));
  await until(() => heartbeats >= 4, 'its own, too');
  t.false(client.closed);
});

test('close of a server lets its connections go on, and resolves with the last', async (t) => {
  const { server, port, to } = await serve(
    t,
    answering((message) => message.accept()),
  );
  const client = await to().ready();
  let isClosed = false;
  server.once('close', () => {
    isClosed = true;
  });
  const closing = server.close();
  t.false(server.listening);
  t.is(await client.send(ping()).response(), 0);
  await refusing(port);
  t.false(isClosed);
  await client.close();
  t.is(await closing, server);
  t.true(isClosed);
  await t.throwsAsync(server.close(), { code: 'ERR_SOCKETY_NOT_LISTENING' });
  // and again
  await server.listen(port, '127.0.0.1');
  const again = await to().ready();
  t.is(await again.send(ping()).response(), 0);
});

test('a server listens on the given address, once', async (t) => {
  const folder = folderFor(t, {});
  const server = createServer();
  let called = 0;
  t.is(server.address(), null);
  const listening = server.listen({ port: 0, host: 'localhost', backlog: 5 }, () => called++);
  await t.throwsAsync(server.listen(0), { code: 'ERR_SOCKETY_LISTENING' });
  t.is(await listening, server);
  t.is(called, 1);
  t.true(server.listening);
  const { port, family, address } = server.address();
  t.true(port > 0 && net.isIP(address) > 0 && family.startsWith('IPv'));
  const other = createServer();
  const errors = [];
  other.on('error', (error) => errors.push(error.code));
  await t.throwsAsync(other.listen(port, address), { code: 'ERR_MILLRACE_ADDRESS_IN_USE' });
  t.deepEqual(errors, ['ERR_MILLRACE_ADDRESS_IN_USE']);
  const local = createServer(answering((message) => message.accept()));
  const file = path.join(folder, 'own.sock');
  await local.listen(file);
  t.is(local.address(), file);
  const client = await connect(file).ready();
  t.deepEqual([client.remoteAddress, client.remotePort, client.encrypted], [undefined, undefined, false]);
  t.is(await client.send(ping()).response(), 0);
  await client.close();
  await Promise.all([server.close(), local.close()]);
});

test('signals give up, and close', async (t) => {
  const { server, port, to } = await serve(t);
  const early = new AbortController();
  const client = connect({ port, host: '127.0.0.1', signal: early.signal });
  early.abort();
  const [error] = await once(client, 'error');
  t.is(error.name, 'AbortError');
  const late = new AbortController();
  const up = await to({ signal: late.signal }).ready();
  late.abort();
  await until(() => up.closed, 'its end');
  await server.close();
  const listening = new AbortController();
  const other = createServer();
  await other.listen({ port: 0, signal: listening.signal });
  const closed = once(other, 'close');
  listening.abort();
  await closed;
  t.false(other.listening);
});

test('maxConnections', async (t) => {
  const { server, to } = await serve(t);
  server.maxConnections = 1;
  await to().ready();
  const second = to();
  await once(second, 'close');
  t.is(await server.getConnections(), 1);
});

needing(test, 'openssl')('over TLS, with a certificate of the client', async (t) => {
  const { cert, key } = shown;
  const { ca } = authority;
  const server = createSecureServer(
    { cert: identity.cert, key: identity.key, ca, requestCert: true, ALPNProtocols: ['sockety'] },
    (connection) => connection.on('message', (message) => message.accept()),
  );
  await server.listen(0, '127.0.0.1');
  t.teardown(() => stop(server));
  const { port } = server.address();
  const options = { port, host: '127.0.0.1', servername: 'localhost' };
  const client = await secureConnect({ ...options, ca, cert, key, ALPNProtocols: ['sockety'] }).ready();
  t.true(client.encrypted);
  t.true(server.clients[0].encrypted);
  t.is(await client.send(ping()).response(), 0);
  await client.close();
  const failed = async (more) => (await once(secureConnect({ ...options, ...more }), 'error'))[0].code;
  t.is(await failed({ cert, key }), 'ERR_SOCKETY_TLS', 'nobody knows its authority');
  t.is(await failed({ ca, cert, key, servername: 'elsewhere.example' }), 'ERR_SOCKETY_TLS');
  t.is(await failed({ ca, cert, key, ALPNProtocols: ['other'] }), 'ERR_SOCKETY_TLS');
  const trusting = await secureConnect({ ...options, cert, key, rejectUnauthorized: false }).ready();
  t.is(await trusting.send(ping()).response(), 0);
  await trusting.close();
  // one without a certificate learns of it behind its own handshake
  const nobody = secureConnect({ ...options, ca });
  await once(nobody, 'close');
  t.true(nobody.closed);
});

test('arguments are checked', (t) => {
  const wrong = (call, ...names) => {
    const { message } = t.throws(call, { instanceOf: TypeError });
    for (const name of names) t.true(message.includes(name), message);
  };
  wrong(() => createServer({ pauseOnConnect: true }), 'options.pauseOnConnect');
  wrong(() => createServer({ timeout: -1, noDelay: 1 }), 'options.timeout', 'options.noDelay');
  wrong(() => createServer({}, 'x'), 'onConnection');
  wrong(() => createSecureServer({}), 'cert');
  wrong(() => connect({ host: 'localhost' }), 'options.port');
  wrong(() => connect(), 'connect');
  wrong(() => connect(70_000), 'options.port');
  wrong(() => connect({ port: 1, ca: 'x' }), 'options.ca');
  wrong(() => secureConnect({ port: 1, passphrase: 'x' }), 'options.passphrase');
  wrong(() => createServer().listen({ fd: 1 }), 'options.fd');
  wrong(() => createServer().listen(-1), 'options.port');
  // options behind others would do nothing
  wrong(() => connect({ port: 1 }, { timeout: 5 }), 'connect', 'an object');
  wrong(() => connect(1, { timeout: 5 }, { maxFiles: 1 }), 'connect', 'an object');
  wrong(() => connect('/nowhere', { timeout: 5 }, 7), 'connect', '7');
  wrong(() => connect(1, 'localhost', {}, 'x'), 'connect', '"x"');
  wrong(() => connect(1, null, { timeuot: 5 }), 'options.timeuot');
  wrong(() => createServer().listen({ port: 0 }, 5), 'listen', '5');
  wrong(() => createServer().listen(0, 5, 'localhost'), 'listen', '"localhost"');
  wrong(() => series(ping), 'Draft');
  t.throws(() => createServer({ maxReceivedChannels: 0 }), { message: 'Invalid number of channels' });
  t.throws(() => connect({ port: 1, maxWritableChannels: 4097 }), { message: 'Invalid number of channels' });
});

test('a receiver that stops reading pauses only the sender', async (t) => {
  const messages = [];
  const { to } = await serve(t, (connection) =>
    connection.on('message', (message) => {
      if (message.action === 'ping') message.accept();
      else messages.push(message);
    }),
  );
  const [stalled, other] = await Promise.all([to().ready(), to().ready()]);
  const request = stalled.send(Draft.for('stream').stream()());
  const piece = Buffer.alloc(256 * 1024);
  const total = 400;
  let written = 0;
  const writing = (async () => {
    for (; written < total; written++) {
      await new Promise((resolve, reject) =>
        request.stream.write(piece, (error) => (error ? reject(error) : resolve())),
      );
    }
    request.stream.end();
  })();
  await until(() => messages.length === 1, 'the message');
  // it is still when it takes nothing more for as long as several answers of the other one take
  let before = -1;
  await until(async () => {
    const now = written;
    for (let count = 0; count < 20; count++) await other.send(ping()).response();
    const isStill = now === before && written === now;
    before = written;
    return isStill;
  }, 'the sender to stop');
  t.true(written < 300, `${written} of ${total} pieces`);
  let received = 0;
  for await (const chunk of messages[0].stream) received += chunk.length;
  await writing;
  t.is(received, total * piece.length);
});

test('a peer that closes its half gets the answers to its requests', async (t) => {
  const { port } = await serve(
    t,
    answering((message) => message.accept()),
  );
  const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  t.teardown(() => socket.destroy());
  const id = Buffer.alloc(16, 7);
  socket.end(Buffer.concat([Buffer.from('e3211300', 'hex'), id, Buffer.from('0161', 'hex')]));
  const pieces = await socket.toArray();
  t.deepEqual(Buffer.concat(pieces), Buffer.concat([Buffer.from('e330', 'hex'), id]));
});

test('a reset fails pending reads and answers', async (t) => {
  const outcomes = [];
  const { port } = await serve(t, (connection) => {
    connection.on('message', async (message) => {
      const asked = message.respond(new ResponseDraft()()).response();
      const results = await Promise.allSettled([message.dataBuffer(), asked]);
      outcomes.push(...results.map(({ reason }) => reason?.code));
    });
    connection.on('close', () => outcomes.push('close'));
  });
  const socket = net.connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  const id = Buffer.alloc(16, 7);
  // a message with 16 bytes of data, of which one comes
  socket.write(Buffer.concat([Buffer.from('e3211440', 'hex'), id, Buffer.from('016110e01068', 'hex')]));
  let answer = 0;
  for (; answer < 30; ) answer += (await once(socket, 'data'))[0].length;
  socket.resetAndDestroy();
  await until(() => outcomes.length === 3, 'its end');
  t.deepEqual(outcomes.sort(), ['ERR_SOCKETY_CLOSED', 'ERR_SOCKETY_CLOSED', 'close']);
});
