// Peer: Millrace itself, through its public API.
//   --handler=echo|headline|fanout   --threads=N (1)   --io-threads=N (1)
import { start } from 'millrace';
import { handlerName, ready } from '../peer.mjs';

function number(name, fallback) {
  const word = process.argv.find((argument) => argument.startsWith(`--${name}=`));
  return word ? Number(word.slice(name.length + 3)) : fallback;
}

const server = await start({
  bind: '127.0.0.1:0',
  workerPath: new URL('./worker.mjs', import.meta.url),
  workerArg: { handler: handlerName },
  threads: number('threads', 1),
  ioThreads: number('io-threads', 1),
});
ready(server.addresses[0].split(':').at(-1));
