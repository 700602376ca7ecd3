// @ts-check
/**
 * The Redis publisher example: `node examples/redis-publisher/server.mjs`, then open the address it prints. A Python
 * program with a standard Redis client publishes the figures that the page shows.
 *
 * --port 3013           where the page is served (or PORT); 0 picks a free one
 * --redis-port 6380     where Redis clients connect; 0 picks a free one
 * --no-publisher        do not start publish.py: publish yourself
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { start } from 'millrace';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: process.env.PORT ?? '3013' },
    'redis-port': { type: 'string', default: '6380' },
    'no-publisher': { type: 'boolean', default: false },
  },
});

const server = await start({
  bind: [
    {
      address: `127.0.0.1:${values.port}`,
      origins: 'same-host',
      static: fileURLToPath(new URL('public', import.meta.url)),
    },
    {
      address: `127.0.0.1:${values['redis-port']}`,
      protocol: 'resp',
      users: [{ name: 'sensors', password: 'water', channels: ['sensor:*'], commands: ['publish', 'ping', 'client'] }],
    },
  ],
  workerPath: new URL('./worker.mjs', import.meta.url),
  threads: 1,
  stopOnSignals: true,
  onError: (error) => console.error(error),
});

const redisPort = server.addresses[1]?.split(':')[1];
console.log(`For Redis clients: redis://sensors:water@127.0.0.1:${redisPort}`);
console.log(`Redis publisher example: http://localhost:${server.addresses[0]?.split(':')[1]}`);

const script = fileURLToPath(new URL('publish.py', import.meta.url));
const publisher = values['no-publisher']
  ? undefined
  : spawn('python3', [script, String(redisPort)], { stdio: ['ignore', 'inherit', 'inherit'] });
publisher?.on('error', () => console.log('There is no python3: publish with redis-cli, as the README shows.'));

server.stopped.then(() => publisher?.kill());
