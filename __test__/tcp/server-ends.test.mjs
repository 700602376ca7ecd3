// How connections to servers of millrace/tcp end: by the client, by failing callbacks, by the server; and how servers
// end.
import test from 'ava';

import { until, within } from '../support/deadline.mjs';
import { TCPConnection } from '../support/millrace-tcp.mjs';
import { freePort } from '../support/ports.mjs';
import { TcpClient } from '../support/tcp.mjs';
import { drained, echo, serve, stalled, writer } from '../support/tcp-own.mjs';

test('onEnd is called once, after the last data and before onClose', async (t) => {
  const seen = [];
  const { join } = await serve(t, {
    onData(connection) {
      seen.push(['data', connection.read()]);
    },
    onEnd(connection) {
      seen.push(['end', connection.buffer]);
      connection.write('goodbye');
    },
    onClose(connection) {
      seen.push(['close', connection.buffer]);
    },
  });
  const client = await join();
  client.end('the last');
  t.is(await client.rest(), 'goodbye');
  await until(() => seen.at(-1)[0] === 'close', 'the end');
  t.is(
    seen
      .filter(([what]) => what === 'data')
      .map(([, text]) => text)
      .join(''),
    'the last',
  );
  t.deepEqual(seen.slice(-2), [
    ['end', ''],
    ['close', ''],
  ]);
  t.is(seen.filter(([what]) => what === 'end').length, 1);
});

test('a short write at the end is finished by onDrain before the connection is closed', async (t) => {
  const bytes = Buffer.alloc(9_000_000, 'abc');
  const write = writer(bytes);
  const { server } = await serve(t, {
    onEnd: (connection) => void write(connection),
    onDrain: (connection) => void write(connection),
  });
  const socket = await stalled(t, server);
  socket.end('go');
  t.true((await drained(socket)).equals(bytes));
});

test('without onEnd the answer of onData arrives, also a late one', async (t) => {
  const { join, errors } = await serve(t, {
    async onData(connection) {
      const text = connection.read();
      await new Promise((resolve) => setTimeout(resolve, 30));
      connection.write(`late ${text}`);
    },
  });
  const client = await join();
  client.end('question');
  t.is(await client.rest(), 'late question');
  t.deepEqual(errors, []);
});

test('a promise that does not settle delays the close of an ended connection for a bounded time', async (t) => {
  const { join, errors } = await serve(t, { onData: () => new Promise(() => {}) }, { endTimeoutMs: 50 });
  const client = await join();
  client.end('x');
  t.is(await client.rest(), '');
  t.is(errors[0].error.code, 'ERR_MILLRACE_HANDLER_TIMEOUT');
});

test('a reset ends a connection without onEnd', async (t) => {
  const seen = [];
  const tell = (what) => () => seen.push(what);
  const { server, join, errors } = await serve(t, {
    onData: (connection) => void seen.push(connection.read()),
    onEnd: tell('end'),
    onClose: tell('close'),
  });
  const client = await join();
  client.write('a');
  await until(() => seen.length === 1, 'data');
  client.reset();
  await until(() => seen.length === 2, 'the end');
  t.deepEqual(seen, ['a', 'close']);
  t.deepEqual([errors, server.connections.size], [[], 0]);
});

for (const name of ['onConnection', 'onData', 'onEnd', 'onDrain', 'onClose']) {
  for (const [how, fails] of [
    [
      'throws',
      (error) => () => {
        throw error;
      },
    ],
    [
      'rejects',
      (error) => async () => {
        throw error;
      },
    ],
  ]) {
    test(`what ${name} ${how} goes to onError, closes that connection, and harms no other`, async (t) => {
      const thrown = new Error(`of ${name}`);
      const fail = fails(thrown);
      const bytes = Buffer.alloc(9_000_000);
      let closes = 0;
      const { server, errors, join } = await serve(t, {
        ...echo,
        onClose: () => closes++,
      });
      const other = await join();
      other.write('before');
      t.is(String(await other.bytes(6)), 'before');
      const { onClose, onData } = server;
      server[name] = (connection) => {
        if (name === 'onClose') onClose();
        return fail(connection);
      };
      if (name === 'onDrain') server.onData = (connection) => void connection.write(bytes);
      const socket = await stalled(t, server);
      if (name === 'onEnd') socket.end();
      else socket.write('x');
      const ended = drained(socket);
      if (name === 'onClose') socket.end();
      await ended;
      await until(() => errors.length === 1 && closes === 1, 'the error and the end');
      t.is(errors[0].error, thrown);
      t.true(errors[0].connection instanceof TCPConnection);
      t.is(server.connections.size, 1);
      server[name] = null;
      Object.assign(server, { onClose, onData });
      other.write('after');
      t.is(String(await other.bytes(5)), 'after');
    });
  }
}

test('a thrown value that is not an Error becomes one', async (t) => {
  const { errors, join } = await serve(t, {
    onData() {
      throw 'a text';
    },
  });
  (await join()).write('x');
  await until(() => errors.length === 1, 'the error');
  t.is(errors[0].error.message, 'a text');
  t.is(errors[0].error.cause, 'a text');
});

test('close ends a connection after writing everything, and ignores later data', async (t) => {
  const seen = [];
  const { server, join } = await serve(t, {
    onData(connection) {
      seen.push(connection.read());
      connection.write('x'.repeat(200_000));
      seen.push(server.closeConnection(connection), connection.closed, connection.close(), connection.write('y'));
    },
    onClose: () => seen.push('close'),
  });
  const client = await join();
  client.write('go');
  client.write('more');
  t.is((await client.rest()).length, 200_000);
  await until(() => seen.at(-1) === 'close', 'the end');
  t.deepEqual(seen.slice(1), [true, true, false, -1, 'close']);
});

test('a server that is closed closes all its connections, and can listen again', async (t) => {
  let closes = 0;
  const callbacks = {
    onData: (connection) => void connection.write(connection.read()),
    onClose: () => closes++,
  };
  const { server, address, join } = await serve(t, callbacks, undefined, await freePort());
  const clients = [];
  for (let count = 0; count < 20; count += 1) clients.push(await join());
  await until(() => server.connections.size === 20, 'all of them');
  for (const connection of server.connections.values()) connection.write('the last word');
  const closing = server.close();
  t.is(server.close(), closing);
  t.false(server.listening);
  await t.throwsAsync(server.listen(0), { code: 'ERR_MILLRACE_LISTENING' });
  await closing;
  t.is(closes, 20);
  t.deepEqual([server.port, server.address(), server.connections.size], [0, null, 0]);
  for (const client of clients) t.is(await client.rest(), 'the last word');
  await t.throwsAsync(TcpClient.connect(t, address), { any: true, code: 'ECONNREFUSED' });
  await server.listen(0, '127.0.0.1');
  const again = await TcpClient.connect(t, `127.0.0.1:${server.port}`);
  again.write('again');
  t.is(String(await again.bytes(5)), 'again');
});

test('a peer that does not read does not delay the close of its server for long', async (t) => {
  const { server } = await serve(t, {
    onConnection(connection) {
      while (connection.write(Buffer.alloc(65_536)) > 0);
    },
    onDrain(connection) {
      while (connection.write(Buffer.alloc(65_536)) > 0);
    },
  });
  await stalled(t, server);
  await until(() => server.connections.size === 1, 'the connection');
  await within(server.close(), 'the close', 20_000);
  t.is(server.connections.size, 0);
});
