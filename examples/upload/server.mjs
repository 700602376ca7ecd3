// @ts-check
/**
 * The upload example: `node examples/upload/server.mjs`, then send files with upload.mjs.
 *
 * --port 7001         where it listens (or PORT); 0 picks a free one
 * --host 127.0.0.1    (or HOST)
 * --folder uploads    where files are stored; created if it does not exist
 * --max-mib 1024      the most that one message's files may have together
 */
import { mkdir } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { createServer, FastReply, MessageHandler, ResponseDraft } from 'millrace/sockety';
import { printable } from './printable.mjs';
import { storeAll } from './store.mjs';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: process.env.PORT ?? '7001' },
    host: { type: 'string', default: process.env.HOST ?? '127.0.0.1' },
    folder: { type: 'string', default: 'uploads' },
    'max-mib': { type: 'string', default: '1024' },
  },
});
const maxBytes = Number(values['max-mib']) * 1024 * 1024;
await mkdir(values.folder, { recursive: true });

const stored = new ResponseDraft().msgpack();
const handler = new MessageHandler()
  .action('store', async (message) => {
    if (message.filesCount === 0 || message.totalFilesSize > maxBytes) return FastReply.BadRequest;
    const files = await storeAll(message.files, values.folder);
    for (const { name, size } of files) console.log(`${printable(name)}: ${size} bytes`);
    message.respond(stored({ data: files }));
    return undefined;
  })
  .error((message, error) => {
    // A client that disconnects in the middle is not an error of the server.
    if (!message.connection.closed) console.error(`Not stored: ${printable(String(error))}`);
    return FastReply.InternalError;
  })
  .use(() => FastReply.NotImplemented);

// When a signal stops the server, uploads in progress are cancelled, and their files removed.
const server = createServer({ maxFiles: 100, stopOnSignals: true }, (connection) => connection.on('message', handler));
await server.listen(Number(values.port), values.host).catch((error) => {
  console.error(`Upload example: ${error.message} (another port: --port 7002)`);
  process.exit(1);
});
const address = /** @type {import('node:net').AddressInfo} */ (server.address());
console.log(`Upload example: ${address.address}:${address.port}, into ${values.folder}`);
