// The study's server on Millrace: --threads=N (0: handlers on this thread), --io-threads=N (the default of Millrace),
// --io-uring=no. A separate HTTP server answers /stats on another port.
import { createServer } from 'node:http';
import { start, stats } from 'millrace';
import { exitOnSignals, handlerOptions, httpListener, LARGEST_MESSAGE, option, ready } from './answer.mjs';

let errors = 0;
const ioThreads = option('io-threads');
const server = await start({
  bind: '127.0.0.1:0',
  workerPath: new URL('./millrace-worker.mjs', import.meta.url),
  workerArg: handlerOptions(),
  threads: Number(option('threads', '1')),
  ...(ioThreads && { ioThreads: Number(ioThreads) }),
  ioUring: option('io-uring', 'yes') !== 'no',
  limits: { messageBytes: LARGEST_MESSAGE },
  onError() {
    errors++;
  },
});

function report() {
  const { sockets, workers, messagesIn, residentBytes } = stats();
  return {
    activeConnections: sockets,
    perWorker: Object.fromEntries(workers.map(({ id, connections }) => [id, connections])),
    messages: messagesIn,
    errors,
    rss: residentBytes,
  };
}

const http = createServer(httpListener(report));
http.listen(0, '127.0.0.1', () => ready(server.addresses[0].split(':').at(-1), http.address().port));
exitOnSignals(() => server.stop({ drain: 500 }));
