// @ts-check
/**
 * The strict HTTP example: `node examples/strict-http/server.mjs`, then open the address it prints.
 *
 * --port 8080        where it listens (or PORT); 0 picks a free one
 * --host 127.0.0.1   (or HOST) 0.0.0.0 lets other machines in
 * --folder FOLDER    the static files; the default is public/ beside this file
 * --log server.log   where lines about requests are added
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createServer } from 'millrace/tcp';
import { Log } from './log.mjs';
import { router } from './routes.mjs';
import { Session } from './session.mjs';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: process.env.PORT ?? '8080' },
    host: { type: 'string', default: process.env.HOST ?? '127.0.0.1' },
    folder: { type: 'string', default: fileURLToPath(new URL('./public', import.meta.url)) },
    log: { type: 'string', default: 'server.log' },
  },
});

const log = new Log(values.log);
/** @type {Map<number, Session>} */
const sessions = new Map();
let requests = 0;
const route = router(values.folder, () => ({ connections: sessions.size, requests }));
/** @param {import('./request.mjs').Request} request */
const answer = (request) => {
  requests += 1;
  return route(request);
};

const server = createServer({ stopOnSignals: true });
server.onConnection = (connection) => {
  sessions.set(connection.fd, new Session(connection, { answer, log }));
};
// The server waits for this promise when the client ends its sending side, so the client still gets its answers.
server.onData = (connection) => sessions.get(connection.fd)?.advance();
server.onDrain = (connection) => sessions.get(connection.fd)?.resume();
server.onClose = (connection) => {
  sessions.get(connection.fd)?.resume();
  sessions.delete(connection.fd);
};
server.onError = (error) => log.error(error);

await server.listen(Number(values.port), values.host).catch((error) => {
  console.error(`Strict HTTP example: ${error.message} (another port: --port 8081)`);
  process.exit(1);
});
console.log(`Strict HTTP example: http://${values.host === '0.0.0.0' ? 'localhost' : values.host}:${server.port}`);
log.info(`listening on port ${server.port}`);

const looking = setInterval(() => {
  for (const session of sessions.values()) session.look();
}, 1000);

server.stopped.then(() => {
  clearInterval(looking);
  log.info('stopped');
  return log.end();
});
