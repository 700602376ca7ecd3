// Peer: Millrace itself, through its public API.
//   --handler=…   --threads=N (1)   --io-threads=N (1)   --io-uring=no   --tls=FOLDER   --compression=yes
//   --history=yes
import { start } from 'millrace';
import { compression, handlerName, option, ready, tls } from '../peer.mjs';

const server = await start({
  bind: '127.0.0.1:0',
  workerPath: new URL('./worker.mjs', import.meta.url),
  workerArg: { handler: handlerName },
  threads: Number(option('threads', '1')),
  ioThreads: Number(option('io-threads', '1')),
  ioUring: option('io-uring', 'yes') !== 'no',
  ...(tls && { tls }),
  ...(compression && { compression: true }),
  ...(option('history', 'no') === 'yes' && { channels: { all: { history: { messages: 100, ageMs: 600_000 } } } }),
});
ready(server.addresses[0].split(':').at(-1));
