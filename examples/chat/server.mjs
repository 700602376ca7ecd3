// @ts-check
/**
 * The chat example: `node examples/chat/server.mjs`, then open the address it prints.
 *
 * --port 3000       where the page is served (or PORT); 0 picks a free one
 * --host localhost  (or HOST) 0.0.0.0 lets other machines in, a phone for instance
 * --threads 4       worker threads
 * --sockety-port 7000   where console.mjs connects (or SOCKETY_PORT); 0 picks a free one. Default: none
 * --line-port 7001   where `nc localhost 7001` connects (or LINE_PORT); 0 picks a free one. Default: none
 * --cert, --key     PEM files: https: and wss:, over HTTP/2; consoles speak TLS then, too
 * --backplane URL   one of several nodes that work together, see ../cluster
 */
import { parseArgs } from 'node:util';
import { start } from 'millrace';
import { REQUEST_BYTES } from './protocol.mjs';

const DAY = 24 * 60 * 60 * 1000;
const HEADERS = {
  'content-security-policy': "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
};

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: process.env.PORT ?? '3000' },
    host: { type: 'string', default: process.env.HOST ?? 'localhost' },
    threads: { type: 'string', default: '4' },
    'sockety-port': { type: 'string' },
    'line-port': { type: 'string' },
    cert: { type: 'string' },
    key: { type: 'string' },
    backplane: { type: 'string' },
  },
});
const { backplane, cert, host, key, 'sockety-port': socketyPort = process.env.SOCKETY_PORT } = values;
const tls = cert !== undefined && key !== undefined ? { cert, key } : undefined;
const { 'line-port': linePort = process.env.LINE_PORT } = values;
/** @type {import('millrace').Listener[]} */
const others = [];
if (socketyPort !== undefined) {
  // 'raw': publications arrive as in browsers, as the text alone.
  others.push({ address: `${host}:${socketyPort}`, protocol: 'sockety', publishForm: 'raw' });
}
if (linePort !== undefined) others.push({ address: `${host}:${linePort}`, protocol: 'tcp', framing: 'line' });

const chat = await start({
  bind: [`${host}:${values.port}`, ...others],
  workerPath: new URL('./worker.mjs', import.meta.url),
  threads: Number(values.threads),
  // A room keeps its last messages, for pages that come back, and knows its members. The worker's handlers decide who
  // may subscribe and publish.
  channels: {
    'room:*': {
      history: { messages: 500, ageMs: DAY },
      presence: true,
      clients: { subscribe: true, publish: { from: true } },
    },
  },
  ...(backplane !== undefined && { backplane }),
  // The page and its WebSocket have the same host and port, so 'same-host' is sufficient protection.
  static: { directory: new URL('./public/', import.meta.url), headers: HEADERS },
  origins: 'same-host',
  ...(tls && { tls }),
  limits: { messageBytes: REQUEST_BYTES, messagesPerSecond: 20 },
  // Ctrl-C or SIGTERM: the server closes its connections with 1001. The pages try again until it is back.
  stopOnSignals: true,
  onError: (error) => console.error(error),
}).catch((error) => {
  console.error(`Chat example: ${error.message} (another port: --port 3001)`);
  process.exit(1);
});

const [port, ...otherPorts] = chat.addresses.map((address) => address.split(':').at(-1));
if (socketyPort !== undefined) {
  console.log(`For consoles: node examples/chat/console.mjs lobby Anna ${otherPorts.shift()}`);
}
if (linePort !== undefined) console.log(`For terminals: nc ${host} ${otherPorts.shift()}`);
console.log(`Chat example: ${tls ? 'https' : 'http'}://${host === '0.0.0.0' ? 'localhost' : host}:${port}`);
