// Peer: Millrace over HTTP: a directory.
//   --handler=http-file   --threads=N (1)   --io-threads=N (1)
import { start } from 'millrace';
import { publicFolder } from '../http/content.mjs';
import { option, ready } from '../peer.mjs';

const server = await start({
  bind: '127.0.0.1:0',
  workerPath: new URL('./worker.mjs', import.meta.url),
  workerArg: { handler: 'echo' },
  static: publicFolder,
  threads: Number(option('threads', '1')),
  ioThreads: Number(option('io-threads', '1')),
  // a connection waits for its turn, and is never closed for its age
  limits: { keepAliveTimeoutMs: 3_600_000, keepAliveRequests: 1_000_000_000 },
});
ready(server.addresses[0].split(':').at(-1));
