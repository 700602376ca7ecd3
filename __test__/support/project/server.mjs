// A small server that echoes, prints its address, and stops when its standard input ends.
import { start } from 'millrace';

const server = await start({
  bind: '127.0.0.1:0',
  threads: 2,
  workerPath: new URL('./worker.mjs', import.meta.url),
});
console.log(server.addresses[0]);
process.stdin.on('end', () => server.stop()).resume();
