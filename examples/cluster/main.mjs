// @ts-check
/**
 * The chat on two nodes: `node examples/cluster/main.mjs`, then open both addresses that it prints. Messages from one
 * page appear on the other, although their servers are two processes that are connected only by a Redis server.
 *
 * --port 3001       of the first node; the second has the next one. 0 picks free ones
 * --nodes 2         how many, at most 16
 * --backplane URL   a running Redis, Valkey or NATS server; without it, a redis-server is started
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '3001' },
    nodes: { type: 'string', default: '2' },
    backplane: { type: 'string' },
  },
});
const [port, nodes] = [Number(values.port), Math.min(16, Number(values.nodes))];

/** @type {import('node:child_process').ChildProcess[]} */
const children = [];
let stopping = false;

const backplane = values.backplane ?? (await startRedis());
console.log(`The nodes meet at ${backplane.replace(/\/\/.*@/, '//')}`);
const chat = fileURLToPath(new URL('../chat/server.mjs', import.meta.url));
for (let node = 0; node < nodes; node++) {
  const where = ['--port', String(port === 0 ? 0 : port + node), '--backplane', backplane];
  run(process.execPath, [...process.execArgv, chat, ...where], 'inherit');
}

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => stop(0));

/** A Redis server without persistence, on a free port of this machine. */
async function startRedis() {
  const listener = net.createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = /** @type {net.AddressInfo} */ (listener.address());
  listener.close();
  await once(listener, 'close');
  run(
    'redis-server',
    ['--port', String(address.port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
    'ignore',
  );
  return `redis://127.0.0.1:${address.port}`;
}

/**
 * A part of the example: if one part ends, all end.
 * @param {string} program
 * @param {string[]} args
 * @param {'inherit' | 'ignore'} stdout
 */
function run(program, args, stdout) {
  // the redis-server does not get Ctrl-C: it must end after the nodes
  const detached = stdout === 'ignore';
  const child = spawn(program, args, { detached, stdio: ['ignore', stdout, 'inherit'] });
  children.push(child);
  child.once('error', ({ message }) => {
    console.error(`Cluster example: ${program}: ${message} (install it, or give --backplane redis://…)`);
    stop(1);
  });
  child.once('exit', (code) => stop(code ?? 1));
}

/** @param {number} code */
async function stop(code) {
  if (stopping) return;
  stopping = true;
  // the nodes first: they announce their end through Redis
  const running = children.filter((child) => child.exitCode === null && child.pid !== undefined);
  const ended = running.map((child) => once(child, 'exit'));
  const [server, ...others] = values.backplane === undefined ? running : [undefined, ...running];
  for (const child of others) child.kill();
  await Promise.all(server === undefined ? ended : ended.slice(1));
  server?.kill();
  process.exit(code);
}
