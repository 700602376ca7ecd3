// Servers of millrace/tcp: callbacks, reading and writing, and ends.
import { once } from 'node:events';
import net from 'node:net';
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { createServer, TCPConnection, TCPServer } from '../support/millrace-tcp.mjs';
import { posixTests } from '../support/platforms.mjs';
import { drained, echo, serve, stalled, writer } from '../support/tcp-own.mjs';

test('a server answers, and reports its address and its connections', async (t) => {
  const seen = [];
  const { server, join } = await serve(t, {
    ...echo,
    onConnection(connection) {
      seen.push(['connection', this, connection]);
    },
    onClose(connection) {
      seen.push(['close', this, connection]);
    },
  });
  t.true(server instanceof TCPServer && server.listening && server.port > 0);
  t.deepEqual(server.address(), { address: '127.0.0.1', family: 'IPv4', port: server.port });
  const client = await join();
  client.write('grüße');
  t.is((await client.bytes(7)).toString(), 'grüße');
  const [[, self, connection]] = seen;
  t.is(self, server);
  t.true(connection instanceof TCPConnection);
  t.is(connection.remoteAddr, '127.0.0.1');
  t.is(connection.remotePort, client.port);
  t.true(Number.isSafeInteger(connection.fd));
  t.deepEqual([...server.connections], [[connection.fd, connection]]);
  t.false(connection.closed);
  client.end();
  await until(() => seen.length === 2, 'its end');
  t.deepEqual(seen[1], ['close', server, connection]);
  t.is(server.connections.size, 0);
  t.true(connection.closed);
  t.is(connection.write('x'), -1);
  t.false(connection.close());
  t.is(connection.read(), null);
});

test('characters split between packets arrive whole, and invalid bytes are replaced', async (t) => {
  const texts = [];
  const { join } = await serve(t, {
    onData(connection) {
      texts.push(connection.buffer);
      connection.write('.');
    },
    onEnd(connection) {
      texts.push(connection.buffer);
    },
  });
  const client = await join();
  const bytes = Buffer.concat([Buffer.from('aé€😀\ufeff'), Buffer.of(0xff, 0xe2, 0x82)]);
  for (const byte of bytes) {
    client.write(Buffer.of(byte));
    t.is(String(await client.bytes(1)), '.');
  }
  const grown = ['a', 'a', 'aé', 'aé', 'aé', 'aé€', 'aé€', 'aé€', 'aé€', 'aé€😀', 'aé€😀', 'aé€😀', 'aé€😀\ufeff'];
  const last = 'aé€😀\ufeff\ufffd';
  t.deepEqual(texts, [...grown, last, last, last]);
  client.end();
  await client.rest();
  t.is(texts.at(-1), `${last}\ufffd`, 'what is left of a character at the end is none');
});

test('text and bytes are taken from one stream', async (t) => {
  const { server, join } = await serve(t, {});
  const client = await join();
  await until(() => server.connections.size === 1, 'the connection');
  const [connection] = server.connections.values();
  t.deepEqual([connection.buffer, connection.read(), connection.readBytes()], ['', null, null]);
  client.write('ab😀cd');
  await until(() => connection.bytes.length === 8, 'all of it');
  t.is(connection.readBytes(1).toString(), 'a');
  t.is(connection.read(2), 'b😀', 'no half of a character');
  t.is(connection.bytes.length, 0, 'it was made text');
  t.is(connection.read(), 'cd');
  t.is(connection.read(), null);
  client.write(Buffer.of(1, 2, 0xff));
  await until(() => connection.bytes.length === 3, 'three bytes');
  connection.bytes = connection.bytes.subarray(1);
  t.deepEqual([...connection.readBytes(5)], [2, 0xff]);
  client.write('dropped');
  await until(() => connection.bytes.length === 7, 'the next');
  connection.buffer = 'instead';
  t.is(connection.buffer, 'instead');
  client.write('!');
  await until(() => connection.bytes.length === 1, 'the last');
  t.is(connection.buffer, 'instead!');
  connection.bytes = new Uint8Array([0x21]);
  t.is(connection.buffer, 'instead!!');
});

test('invalid arguments are TypeErrors that name them', async (t) => {
  const typeError = (message) => ({ instanceOf: TypeError, message });
  t.throws(() => createServer(7), typeError(/options/));
  t.throws(() => createServer({ bufferLimit: 0 }), typeError(/options\.bufferLimit/));
  t.throws(() => createServer({ writeLimit: 1, endTimeoutMs: '1' }), typeError(/writeLimit.*endTimeoutMs/));
  t.throws(() => createServer({ backlog: 1 }), typeError(/unknown option options\.backlog/));
  const idle = createServer();
  for (const port of [undefined, -1, 65_536, 1.5, '80', null]) {
    t.throws(() => idle.listen(port), typeError(/argument 'port'/), String(port));
  }
  for (const host of ['', 7, null, 'a\0b']) t.throws(() => idle.listen(0, host), typeError(/argument 'host'/));
  idle.onData = 7;
  t.throws(() => idle.listen(0), typeError(/property 'onData' must be a function or null, not 7/));
  t.throws(() => idle.closeConnection({}), typeError(/argument 'connection'/));
  t.false(idle.listening);
  const { server, join } = await serve(t, {});
  await join();
  await until(() => server.connections.size === 1, 'the connection');
  const [connection] = server.connections.values();
  for (const data of [undefined, null, 7, {}, ['a'], Symbol.iterator]) {
    t.throws(() => connection.write(data), typeError(/argument 'data'/));
  }
  for (const max of [0, -1, 1.5, '1', Number.NaN, null]) {
    t.throws(() => connection.read(max), typeError(/argument 'max'/));
    t.throws(() => connection.readBytes(max), typeError(/argument 'max'/));
  }
  t.throws(() => Object.assign(connection, { buffer: 7 }), typeError(/property 'buffer'/));
  t.throws(() => Object.assign(connection, { bytes: 'text' }), typeError(/property 'bytes'/));
  t.false(connection.closed);
});

test('all kinds of bytes can be written', async (t) => {
  const { server, join } = await serve(t, {});
  const client = await join();
  await until(() => server.connections.size === 1, 'the connection');
  const [connection] = server.connections.values();
  const { buffer } = new Uint8Array([48, 49, 50, 51, 52, 53, 54, 55]);
  const taken = [
    connection.write(buffer),
    connection.write(new Uint8Array(buffer, 2, 3)),
    connection.write(new DataView(buffer, 4)),
    connection.write(new Uint16Array(buffer, 2, 1)),
    connection.write(Buffer.from('é')),
    connection.write('\ud800'),
    connection.write(''),
    connection.write(new ArrayBuffer(0)),
  ];
  t.deepEqual(taken, [8, 3, 4, 2, 2, 3, 0, 0]);
  t.is((await client.bytes(22)).toString(), '01234567234456723é\ufffd');
});

test('a peer that does not read takes what fits, and onDrain reports room', async (t) => {
  // more than the system takes for a peer that does not read
  const bytes = Buffer.alloc(40_000_000, 'The quick brown fox. ');
  const write = writer(bytes);
  const taken = [];
  const push = (connection) => {
    do taken.push(write(connection));
    while (taken.at(-1) > 0);
  };
  let drains = 0;
  const { server } = await serve(
    t,
    {
      onConnection: push,
      onDrain(connection) {
        drains += 1;
        push(connection);
      },
    },
    { writeLimit: 100_000 },
  );
  const socket = await stalled(t, server);
  const sum = () => taken.reduce((one, other) => one + other, 0);
  await until(() => sum() > 500_000, 'what the system takes');
  t.deepEqual(taken.slice(0, 2), [100_000, 0]);
  t.true(taken.every((count) => count <= 100_000));
  t.true(sum() < bytes.length, `${sum()} bytes were taken`);
  const all = drained(socket);
  await until(() => sum() === bytes.length, 'the rest');
  for (const connection of server.connections.values()) connection.close();
  t.true((await all).equals(bytes));
  t.true(drains > 1);
});

test('only whole characters of a text are taken', async (t) => {
  const text = '€'.repeat(3_000_000);
  let rest = Buffer.from(text);
  const counts = [];
  const { server } = await serve(t, {
    onConnection(connection) {
      counts.push(connection.write(text));
      rest = rest.subarray(counts[0]);
    },
    onDrain(connection) {
      const taken = connection.write(rest.toString());
      counts.push(taken);
      rest = rest.subarray(taken);
      if (rest.length === 0) connection.close();
    },
  });
  const all = await drained(await stalled(t, server));
  t.true(counts.length > 1 && counts.every((count) => count % 3 === 0), counts.join());
  t.true(all.equals(Buffer.from(text)));
});

test('a connection whose buffer is not consumed is not read', async (t) => {
  let most = 0;
  let total = 0;
  let consume = false;
  const { server } = await serve(
    t,
    {
      onData(connection) {
        most = Math.max(most, connection.bytes.length);
        if (!consume) return;
        total += connection.bytes.length;
        connection.bytes = new Uint8Array();
      },
    },
    { bufferLimit: 100_000 },
  );
  const socket = await stalled(t, server);
  const sent = 16_000_000;
  socket.end(Buffer.alloc(sent, 'x'));
  await until(() => most >= 100_000, 'the limit');
  const [connection] = server.connections.values();
  // what the kernel takes of it is taken by now: nothing moves any more
  let before = -1;
  await until(async () => {
    const same = before === socket.bytesWritten - socket.writableLength + most;
    before = socket.bytesWritten - socket.writableLength + most;
    await new Promise((resolve) => setTimeout(resolve, 50));
    return same;
  }, 'a standstill');
  t.true(most <= 100_000 + 384 * 1024, `${most} bytes`);
  consume = true;
  total += connection.readBytes(sent).length;
  await drained(socket);
  t.is(total, sent);
});

test('listening on an unavailable address rejects, and the server can listen afterwards', async (t) => {
  const { server } = await serve(t, {});
  const other = createServer();
  t.teardown(() => other.close());
  await t.throwsAsync(other.listen(server.port, '127.0.0.1'), { code: 'ERR_MILLRACE_ADDRESS_IN_USE' });
  await t.throwsAsync(other.listen(0, 'no-such-name.invalid'), { any: true });
  await t.throwsAsync(server.listen(0), { code: 'ERR_MILLRACE_LISTENING' });
  t.is(await other.listen(0, 'localhost'), other);
  t.true(other.port > 0);
  await other.close();
  await other.close();
  const listening = other.listen(0, '127.0.0.1');
  const closings = [other.close(), other.close()];
  t.is(await listening, other);
  await Promise.all(closings);
  t.deepEqual([other.listening, other.port], [false, 0], 'closed as soon as it listened');
  const failing = other.listen(server.port, '127.0.0.1');
  const closing = other.close();
  await t.throwsAsync(failing, { code: 'ERR_MILLRACE_ADDRESS_IN_USE' });
  await closing;
});

test('two servers of one thread are independent', async (t) => {
  const [one, two] = [await serve(t, echo), await serve(t, { onConnection: (connection) => connection.write('two') })];
  const [first, second] = [await one.join(), await two.join()];
  first.write('one');
  t.is(String(await first.bytes(3)), 'one');
  t.is(String(await second.bytes(3)), 'two');
  t.deepEqual([one.server.connections.size, two.server.connections.size], [1, 1]);
  const fds = [one, two].map(({ server }) => [...server.connections.keys()][0]);
  t.not(fds[0], fds[1]);
  await one.server.close();
  t.is(await first.rest(), '');
  second.write('x');
  await until(() => [...two.server.connections.values()][0].buffer === 'x', 'its byte');
});

posixTests(test)('processes that ask for it share a port', async (t) => {
  const { server } = await serve(t, {}, { reusePort: true });
  const other = createServer({ reusePort: true });
  await other.listen(server.port, '127.0.0.1');
  t.is(other.port, server.port);
  await other.close();
});

test('a thousand connections', async (t) => {
  const { server } = await serve(t, echo);
  const sockets = await Promise.all(
    Array.from({ length: 1000 }, async () => {
      const socket = net.connect(server.port, '127.0.0.1');
      t.teardown(() => socket.destroy());
      await once(socket, 'connect');
      return socket;
    }),
  );
  const answers = sockets.map(async (socket, index) => {
    const text = `number ${index} `.repeat(20);
    socket.end(text);
    return [text, (await drained(socket)).toString()];
  });
  for (const [sent, received] of await Promise.all(answers)) t.is(received, sent);
  await until(() => server.connections.size === 0, 'the end of all');
});
