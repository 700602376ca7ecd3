// The study's server on the `ws` package: one process, or one worker of a cluster.
import { createServer } from 'node:http';
import { WebSocketServer } from 'ws';
import { createHandler, handlerOptions, httpListener, LARGEST_MESSAGE } from './answer.mjs';

/** Listens. `stats` returns the answer of /stats, by default the numbers of this process. */
export function listen({ port, worker, exit, stats, listening }) {
  const handle = createHandler(handlerOptions(), worker, exit);
  const http = createServer(httpListener(stats ?? (() => total([numbers()]))));
  const server = new WebSocketServer({ server: http, perMessageDeflate: false, maxPayload: LARGEST_MESSAGE });
  let messages = 0;
  let errors = 0;
  server.on('connection', (socket) => {
    socket.on('message', (data) => {
      messages++;
      const reply = handle(data.toString());
      if (reply) socket.send(reply);
    });
    socket.on('error', () => {
      errors++;
    });
  });
  http.listen({ port, host: '127.0.0.1', backlog: 4096 }, () => listening?.(http.address().port));

  function numbers() {
    return { worker, connections: server.clients.size, messages, errors, rss: process.memoryUsage().rss };
  }

  /** Sends a Close frame to all connections. */
  async function close() {
    for (const socket of server.clients) socket.close(1001);
    http.close();
    await new Promise((resolve) => setTimeout(resolve, server.clients.size > 0 ? 200 : 0));
  }

  return { numbers, close };
}

/** The answer of /stats from the numbers of all workers. */
export function total(all) {
  const sum = (name) => all.reduce((sum, numbers) => sum + numbers[name], 0);
  return {
    activeConnections: sum('connections'),
    perWorker: Object.fromEntries(all.map(({ worker, connections }) => [worker, connections])),
    messages: sum('messages'),
    errors: sum('errors'),
    rss: sum('rss'),
  };
}
