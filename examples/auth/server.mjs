// @ts-check
/**
 * The authentication example: `node examples/auth/server.mjs`, then open the address it prints.
 *
 * --port 3011         where it listens (or PORT); 0 picks a free one
 * --session 3600      seconds that a session lasts
 * AUTH_SECRET         signs the sessions, 32 characters at least; without it a new one is made at each start
 */
import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { start } from 'millrace';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: process.env.PORT ?? '3011' },
    session: { type: 'string', default: '3600' },
  },
});
const secret = process.env.AUTH_SECRET ?? randomBytes(32).toString('hex');
if (secret.length < 32) throw new Error('AUTH_SECRET must have 32 characters at least');

const server = await start({
  bind: `localhost:${values.port}`,
  workerPath: new URL('./worker.mjs', import.meta.url),
  workerArg: { secret, seconds: Number(values.session) },
  websocketPath: '/socket',
  origins: 'same-host',
  static: {
    directory: new URL('./public/', import.meta.url),
    headers: { 'content-security-policy': "default-src 'self'; base-uri 'none'; frame-ancestors 'none'" },
  },
  limits: { messageBytes: 4096, messagesPerSecond: 20 },
  stopOnSignals: true,
  onError: (error) => console.error(error),
});
console.log(`Authentication example: http://localhost:${server.addresses[0]?.split(':').at(-1)}`);
