import { start } from 'millrace';
import type { Chat } from './worker.js';

const { PORT = '3015' } = process.env;

// `start<Chat>` requires the `workerArg` that the workers expect.
const server = await start<Chat>({
  bind: `localhost:${PORT}`,
  workerPath: new URL('./worker.js', import.meta.url),
  workerArg: { rooms: ['lobby', 'kitchen'] },
  origins: 'same-host',
  stopOnSignals: true,
  onError: (error) => console.error(error),
});
console.log(`TypeScript example: http://localhost:${server.addresses[0]?.split(':').at(-1)}`);
