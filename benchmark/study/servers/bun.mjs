// The study's server on Bun's built-in server. Run with Bun.
import { createHandler, exitOnSignals, handlerOptions, httpAnswer, LARGEST_MESSAGE, ready } from './answer.mjs';

const handle = createHandler(handlerOptions(), process.pid, () => process.kill(process.pid, 'SIGKILL'));
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
let connections = 0;
let messages = 0;

function report() {
  return {
    activeConnections: connections,
    perWorker: { [process.pid]: connections },
    messages,
    errors: 0,
    rss: process.memoryUsage().rss,
  };
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request, server) {
    if (server.upgrade(request)) return undefined;
    const { status, body } = await httpAnswer(request.method, new URL(request.url).pathname, report);
    return new Response(body, { status, headers: { 'content-type': 'application/json' } });
  },
  websocket: {
    idleTimeout: 0,
    perMessageDeflate: false,
    maxPayloadLength: LARGEST_MESSAGE,
    open() {
      connections++;
    },
    message(socket, data) {
      messages++;
      const reply = handle(typeof data === 'string' ? data : decoder.decode(data));
      if (reply) socket.send(reply);
    },
    close() {
      connections--;
    },
  },
});
exitOnSignals(() => server.stop(true));
ready(server.port);
