// @ts-check
/**
 * The Hono example: `node examples/hono/server.mjs`, then open the address it prints in two windows.
 *
 * PORT        where it listens, 3014 if it is not set; 0 picks a free one
 */
import { start } from 'millrace';

const { PORT = '3014' } = process.env;

const server = await start({
  bind: `localhost:${PORT}`,
  workerPath: new URL('./worker.mjs', import.meta.url),
  threads: 2,
  origins: 'same-host',
  static: { directory: new URL('./public/', import.meta.url) },
  stopOnSignals: true,
  onError: (error) => console.error(error),
});
console.log(`Hono example: http://localhost:${server.addresses[0]?.split(':').at(-1)}`);
