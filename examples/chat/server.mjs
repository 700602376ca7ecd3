// @ts-check
/**
 * The chat example: `node examples/chat/server.mjs`, then open the address it prints.
 *
 * --port 3000       where the page is served (or PORT); 0 picks a free one
 * --host localhost  (or HOST) 0.0.0.0 lets other machines in, a phone for instance
 * --threads 4       worker threads
 * --cert, --key     PEM files: https: and wss:, over HTTP/2
 * --backplane URL   with --node 1 --nodes 2: one of several that work together, see ../cluster
 */
import { parseArgs } from 'node:util';
import { start } from 'millrace';

const HEADERS = {
  'content-security-policy': "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
};

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: process.env.PORT ?? '3000' },
    host: { type: 'string', default: process.env.HOST ?? 'localhost' },
    threads: { type: 'string', default: '4' },
    cert: { type: 'string' },
    key: { type: 'string' },
    backplane: { type: 'string' },
    node: { type: 'string', default: '0' },
    nodes: { type: 'string', default: '1' },
  },
});
const { backplane, cert, key } = values;
const tls = cert !== undefined && key !== undefined ? { cert, key } : undefined;

const chat = await start({
  bind: `${values.host}:${values.port}`,
  workerPath: new URL('./worker.mjs', import.meta.url),
  threads: Number(values.threads),
  workerArg: { node: Number(values.node), nodes: Number(values.nodes) },
  ...(backplane !== undefined && { backplane }),
  // The page: browser, page and WebSocket see one host and one port, so 'same-host' is all the protection needed.
  static: { directory: new URL('./public/', import.meta.url), headers: HEADERS },
  origins: 'same-host',
  ...(tls && { tls }),
  // The page's longest message fits in, with room for JSON's escapes.
  limits: { messageBytes: 16 * 1024, messagesPerSecond: 20 },
  onError: (error) => console.error(error),
}).catch((error) => {
  console.error(`Chat example: ${error.message} (another port: --port 3001)`);
  process.exit(1);
});

const port = chat.addresses[0]?.split(':').at(-1);
console.log(
  `Chat example: ${tls ? 'https' : 'http'}://${values.host === '0.0.0.0' ? 'localhost' : values.host}:${port}`,
);

let stopping = false;
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, async () => {
    if (stopping) return;
    stopping = true;
    // The last word: the server goes (1001). The pages try again until it is back.
    await chat.stop();
    process.exit(0);
  });
}
