import { once } from 'node:events';
import net from 'node:net';
import test from 'ava';

import { until } from '../support/deadline.mjs';
import { createServer, Draft } from '../support/millrace-sockety.mjs';
import { answering, serve } from '../support/sockety-own.mjs';

const ping = Draft.for('ping');

test('a server greets each client', async (t) => {
  const { server, to } = await serve(t, (connection) => connection.pass(Draft.for('hello')()));
  const client = to();
  const [message] = await once(client, 'message');
  t.is(message.action, 'hello');
  const busy = await to().ready();
  await until(() => server.clients.length === 2, 'both');
  server.clients[1].send(Draft.for('open').stream()());
  server.clients[1].close();
  const greeted = once(client, 'message');
  await t.throwsAsync(server.broadcast(Draft.for('again')()), { code: 'ERR_SOCKETY_CLOSED' });
  t.is((await greeted)[0].action, 'again', 'one that is being closed holds up nobody');
  await busy.close(true);
});

test('a signal that was aborted before harms no other server', async (t) => {
  const { to } = await serve(
    t,
    answering((message) => message.accept()),
  );
  const other = createServer();
  await t.throwsAsync(other.listen({ port: 0, signal: AbortSignal.abort() }), { any: true, name: 'AbortError' });
  t.is(await (await to().ready()).send(ping()).response(), 0);
  const during = new AbortController();
  const listening = other.listen({ port: 0, signal: during.signal });
  during.abort();
  await listening;
  await until(() => !other.listening && other.address() === null, 'its end');
  const spent = new AbortController();
  await other.listen({ port: 0, signal: spent.signal });
  await other.close();
  await other.listen(0);
  spent.abort();
  t.true(other.listening, 'the signal was for the first time');
  await other.close();
});

test('listeners that throw or are removed leave nothing behind', async (t) => {
  const { server, port } = await serve(t, (connection) => {
    connection.removeAllListeners();
    connection.on('error', () => {
      throw new Error('a listener of a test throws');
    });
  });
  const socket = net.connect(port, '127.0.0.1');
  socket.on('error', () => undefined).resume();
  socket.write(Buffer.from('e3ff', 'hex'));
  await once(socket, 'close');
  await until(async () => (await server.getConnections()) === 0, 'its end');
  await server.close();
  t.false(server.listening);
});

test('connections beyond maxConnections cause no event', async (t) => {
  let told = 0;
  const { server, port } = await serve(t, () => told++);
  server.maxConnections = 1;
  const sockets = Array.from({ length: 20 }, () => net.connect(port, '127.0.0.1'));
  for (const socket of sockets) {
    t.teardown(() => socket.destroy());
    socket.on('error', () => undefined).resume();
    socket.write(Buffer.of(0xe3));
  }
  await until(() => sockets.filter(({ closed }) => closed).length === 19, 'the end of the others');
  await until(() => told > 0, 'the header of the one that stays');
  t.is(told, 1);
  t.is(await server.getConnections(), 1);
});
