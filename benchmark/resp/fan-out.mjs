// Measures the cost of a delivery to a Redis client, by a real redis-server and by Millrace in turn. One publisher pipelines
// 16 messages of 64 bytes at a time to many subscribers. Every delivery is counted. CPU time is that of the server's whole
// process, from the scheduler's clock, which includes the kernel's work for sending.
//   node benchmark/resp/fan-out.mjs [--subscribers 1000] [--rounds 1000] [--windows 5]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import net from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { toolPath, whatIsMissing } from '../../scripts/optional-tools.mjs';

const { values } = parseArgs({
  options: {
    subscribers: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '1000' },
    windows: { type: 'string', default: '5' },
  },
});
const subscribers = whole(values.subscribers, 1, 20_000);
const rounds = whole(values.rounds, 10, 1_000_000);
const windows = whole(values.windows, 1, 100);

const PIPELINED = 16;
const PAYLOAD = 'x'.repeat(64);
const MESSAGE_BYTES = `*3\r\n$7\r\nmessage\r\n$4\r\nroom\r\n$64\r\n${PAYLOAD}\r\n`.length;
const BATCH = Buffer.from(`*3\r\n$7\r\nPUBLISH\r\n$4\r\nroom\r\n$64\r\n${PAYLOAD}\r\n`.repeat(PIPELINED));
const REPLY_BYTES = `:${subscribers}\r\n`.length;
/** The most batches in flight: a subscriber that falls behind must not fill an outbox. */
const MOST_AHEAD = 32;
/** A redis-server on loopback that saves nothing. */
const EPHEMERAL = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];

const missing = whatIsMissing(['redis-server', 'taskset']);
if (missing !== undefined) {
  console.error(missing);
  process.exit(1);
}
const port = await freePort();
const servers = [
  {
    name: 'redis-server',
    child: launch(toolPath('redis-server'), [...EPHEMERAL, '--port', port]),
    port,
  },
  { name: 'Millrace', child: launch(process.execPath, [fileURLToPath(new URL('server.mjs', import.meta.url))]) },
];
for (const server of servers) {
  const [, printed] = await lineOf(server.child, /^ready (\d+)$|Ready to accept connections/);
  server.port ??= Number(printed);
  server.clients = await connectAll(server.port);
  server.costs = [];
}
for (let window = 0; window <= windows; window++) {
  for (const server of servers) {
    const before = cpuOf(server.child.pid);
    const started = performance.now();
    await publish(server.clients);
    const cost = (cpuOf(server.child.pid) - before) / (rounds * PIPELINED * subscribers);
    // the first window only warms up
    if (window > 0) server.costs.push({ cost, seconds: (performance.now() - started) / 1000 });
  }
}
const deliveries = rounds * PIPELINED * subscribers;
console.log(`${subscribers} subscribers, ${deliveries} deliveries in each of ${windows} windows; medians`);
for (const { name, costs } of servers) {
  const sorted = costs.map(({ cost }) => cost).sort((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)];
  const seconds = costs.map((one) => one.seconds).sort((a, b) => a - b)[Math.floor(costs.length / 2)];
  const spread = `${sorted[0].toFixed(3)} to ${sorted.at(-1).toFixed(3)}`;
  const rate = Math.round(deliveries / seconds / 1000);
  console.log(`${name.padEnd(14)} ${median.toFixed(3)} µs of CPU per delivery (${spread}), ${rate},000 deliveries/s`);
}
for (const { child, clients } of servers) {
  for (const socket of clients.sockets) socket.destroy();
  child.kill();
}

/** Publishes the batches of one window, and waits until every subscriber has them. */
async function publish({ publisher, state }) {
  const target = state.delivered + rounds * PIPELINED * subscribers * MESSAGE_BYTES;
  const first = state.delivered;
  for (let round = 1; round <= rounds; round++) {
    const replies = state.replied + PIPELINED * REPLY_BYTES;
    publisher.write(BATCH);
    const behind = first + (round - MOST_AHEAD) * PIPELINED * subscribers * MESSAGE_BYTES;
    await until(state, () => state.replied >= replies && state.delivered >= behind);
  }
  await until(state, () => state.delivered >= target);
  if (state.delivered > target) throw new Error('more was delivered than published');
}

function until(state, condition) {
  if (condition()) return undefined;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('nothing arrives any more')), 60_000);
    state.look = () => {
      if (!condition()) return;
      clearTimeout(timer);
      state.look = undefined;
      resolve();
    };
  });
}

async function connectAll(port) {
  const state = { delivered: 0, replied: 0, look: undefined };
  const buffer = Buffer.alloc(64 * 1024);
  const sockets = [];
  const confirmation = Buffer.from('*3\r\n$9\r\nsubscribe\r\n$4\r\nroom\r\n:1\r\n').length;
  for (let index = 0; index < subscribers; index++) {
    let confirmed = 0;
    const socket = await connect(port, buffer, (count) => {
      const rest = Math.min(confirmation - confirmed, count);
      confirmed += rest;
      state.delivered += count - rest;
      state.look?.();
    });
    socket.write('*2\r\n$9\r\nSUBSCRIBE\r\n$4\r\nroom\r\n');
    sockets.push(socket);
  }
  const publisher = await connect(port, buffer, (count) => {
    state.replied += count;
    state.look?.();
  });
  sockets.push(publisher);
  await subscribed(port);
  return { publisher, sockets, state };
}

/** Waits until the server has subscribed all of them. */
async function subscribed(port) {
  const socket = net.connect(port, '127.0.0.1');
  let text = '';
  while (!text.endsWith(`:${subscribers}\r\n`)) {
    socket.write('PUBSUB NUMSUB room\r\n');
    [text] = await once(socket.setEncoding('latin1'), 'data');
  }
  socket.destroy();
}

async function connect(port, buffer, callback) {
  const taken = (count) => {
    callback(count);
    return true;
  };
  const socket = net.connect({ port, host: '127.0.0.1', noDelay: true, onread: { buffer, callback: taken } });
  await once(socket, 'connect');
  return socket;
}

/** On core 0, if there is another for this process. */
function launch(program, args) {
  const pinned = ['-c', '0', program, ...args.map(String)];
  const child = spawn(toolPath('taskset'), pinned, { stdio: ['pipe', 'pipe', 'inherit'] });
  process.on('exit', () => child.kill());
  return child;
}

async function lineOf(child, pattern) {
  for await (const line of createInterface({ input: child.stdout })) {
    const found = pattern.exec(line);
    if (found) return found;
  }
  throw new Error('the server did not start');
}

async function freePort() {
  const listener = net.createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address();
  listener.close();
  return port;
}

/** CPU time of a process with all its threads, in µs. */
function cpuOf(pid) {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const nanoseconds = tasks.map((task) =>
    Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]),
  );
  return nanoseconds.reduce((sum, one) => sum + one, 0) / 1000;
}

function whole(text, least, most) {
  const number = Number(text);
  if (Number.isInteger(number) && number >= least && number <= most) return number;
  throw new TypeError(`expected a whole number from ${least} to ${most}, not ${text}`);
}
