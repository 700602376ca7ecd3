// A node of the scenario `histories`: channels with history and without, which its worker subscribes sockets to.
//   --backplane=URL
import { start } from 'millrace';

const backplane = process.argv.find((word) => word.startsWith('--backplane='))?.slice('--backplane='.length);
const server = await start({
  bind: '127.0.0.1:0',
  workerPath: new URL('./histories-worker.mjs', import.meta.url),
  threads: 1,
  ioThreads: 1,
  channels: { history: { history: { messages: 100, ageMs: 600_000 } } },
  backplane: { url: backplane, waitMs: 20_000 },
});
process.stdout.write(`ready ${server.addresses[0].split(':').at(-1)} ${process.pid}\n`);
