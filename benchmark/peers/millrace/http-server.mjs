// Peer: Millrace over HTTP: a directory, or a worker that answers.
//   --handler=http-file|http-fetch|http-app|qjs|qjs-fetch   --threads=N (1)   --io-threads=N (1)   --io-uring=no
import { start } from 'millrace';
import { publicFolder } from '../http/content.mjs';
import { handlerName, option, ready } from '../peer.mjs';

const workers = {
  'http-file': './worker.mjs',
  'http-fetch': './fetch-worker.mjs',
  'http-app': './app-worker.mjs',
  qjs: '../qjs/millrace-app-worker.mjs',
  'qjs-fetch': '../qjs/millrace-fetch-worker.mjs',
};
const server = await start({
  bind: '127.0.0.1:0',
  workerPath: new URL(workers[handlerName], import.meta.url),
  workerArg: { handler: 'echo' },
  ...(handlerName === 'http-file' ? { static: publicFolder } : {}),
  threads: Number(option('threads', '1')),
  ioThreads: Number(option('io-threads', '1')),
  ioUring: option('io-uring', 'yes') !== 'no',
  // a connection waits for its turn, with its first request too, and is never closed for its age
  limits: {
    handshakeTimeoutMs: 3_600_000,
    firstRequestTimeoutMs: 3_600_000,
    keepAliveTimeoutMs: 3_600_000,
    keepAliveRequests: 1_000_000_000,
  },
});
ready(server.addresses[0].split(':').at(-1));
