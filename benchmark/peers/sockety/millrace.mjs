// Peer: Millrace with a listener that speaks Sockety.   --handler=sockety   --threads=N (1)   --io-threads=N (1)
import { start } from 'millrace';
import { option, ready } from '../peer.mjs';

const server = await start({
  bind: { address: '127.0.0.1:0', protocol: 'sockety' },
  workerPath: new URL('./millrace-worker.mjs', import.meta.url),
  threads: Number(option('threads', '1')),
  ioThreads: Number(option('io-threads', '1')),
  // reading a payload takes longer while many others arrive
  limits: { handlerTimeoutMs: 60_000 },
});
ready(server.addresses[0].split(':').at(-1));
