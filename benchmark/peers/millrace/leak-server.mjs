// The server of benchmark/leak.mjs: echoes, and collects both heaps when a line comes in. Ends with its input.
import { createInterface } from 'node:readline';
import { start } from 'millrace';

const server = await start({
  bind: '127.0.0.1:0',
  workerPath: new URL('./leak-worker.mjs', import.meta.url),
  threads: 1,
  ioThreads: 1,
});
console.log(`ready ${server.addresses[0].split(':').at(-1)}`);

const input = createInterface({ input: process.stdin });
input.on('line', async () => {
  const { default: WebSocket } = await import('ws');
  const client = new WebSocket(`ws://${server.addresses[0]}`);
  client.on('open', () => client.send('collect'));
  client.on('message', () => {
    client.close();
    globalThis.gc();
    globalThis.gc();
    console.log('collected');
  });
});
input.on('close', () => server.stop());
