// @ts-check
/**
 * The chat example: `node examples/chat/server.mjs`, then open the address it prints.
 *
 * --port 3000       where the page is served (or PORT); 0 picks a free one
 * --host localhost  (or HOST) 0.0.0.0 lets other machines in, a phone for instance
 * --threads 4       worker threads
 */
import { parseArgs } from 'node:util';
import { start } from 'millrace';
import { createPageServer } from './page.mjs';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: process.env.PORT ?? '3000' },
    host: { type: 'string', default: process.env.HOST ?? 'localhost' },
    threads: { type: 'string', default: '4' },
  },
});

const chat = await start({
  bind: '127.0.0.1:0',
  workerPath: new URL('./worker.mjs', import.meta.url),
  threads: Number(values.threads),
  origins: 'same-host',
  // The page's longest message fits in, with room for JSON's escapes.
  limits: { messageBytes: 16 * 1024, messagesPerSecond: 20 },
  onError: (error) => console.error(error),
});

const page = await createPageServer(new URL('./public/', import.meta.url), hostAndPort(chat.addresses[0]));
page.on('error', async (error) => {
  console.error(`Chat example: ${error.message} (another port: --port 3001)`);
  await chat.stop();
  process.exit(1);
});
page.listen({ host: values.host, port: Number(values.port) }, () => {
  const address = /** @type {import('node:net').AddressInfo} */ (page.address());
  console.log(`Chat example: http://${values.host === '0.0.0.0' ? 'localhost' : values.host}:${address.port}`);
});

let stopping = false;
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, async () => {
    if (stopping) return;
    stopping = true;
    // No new pages; and the process ends when the browsers have heard the last word.
    page.close(() => process.exit(0));
    setTimeout(() => process.exit(0), 5000).unref();
    // The last word: the server goes (1001). The pages try again until it is back.
    await chat.stop();
    page.closeAllConnections();
  });
}

/** @param {string | undefined} address "127.0.0.1:40123" */
function hostAndPort(address = '') {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) };
}
