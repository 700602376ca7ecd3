// @ts-check
/**
 * The Express example: `node examples/express/server.mjs`, then open the address it prints.
 *
 * --port 3003        where it listens (or PORT); 0 picks a free one
 * --threads 2        worker threads
 */
import { parseArgs } from 'node:util';
import { start } from 'millrace';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: process.env.PORT ?? '3003' },
    threads: { type: 'string', default: '2' },
  },
});

const server = await start({
  bind: `127.0.0.1:${values.port}`,
  workerPath: new URL('./worker.mjs', import.meta.url),
  threads: Number(values.threads),
  stopOnSignals: true,
});
console.log(`The Express example: http://${server.addresses[0]}`);
