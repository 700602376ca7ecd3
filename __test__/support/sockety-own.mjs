// Servers and clients of millrace/sockety for tests.
import { connect, createServer } from './millrace-sockety.mjs';

/** A server on a free port, which is closed with the test, and a function that connects to it. */
export async function serve(t, onConnection, options) {
  const server = createServer(options, onConnection);
  await server.listen(0, '127.0.0.1');
  t.teardown(() => stop(server));
  const { port } = server.address();
  const to = (more) => {
    const connection = connect({ port, host: '127.0.0.1', ...more });
    t.teardown(() => connection.close(true));
    return connection;
  };
  return { server, port, to };
}

/** Connections do not end by themselves. */
export async function stop(server) {
  const closing = server.close().catch(() => undefined);
  for (const client of server.clients) client.close(true);
  await closing;
}

/** A connection handler that calls `handler` for each message. */
export const answering = (handler) => (connection) => connection.on('message', handler);
