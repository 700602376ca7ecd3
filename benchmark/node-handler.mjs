// Measures the CPU time of the process for a request to a JSON route of Express, on `node:http` and through
// `nodeHandler` in turns.
//
//   node benchmark/node-handler.mjs [connections, 32] [requests a window, 20000] [windows, 5]
//
// Both servers are children of this process and up all the time; the requests of a window are asked one at a time on each
// connection. Prints the median of the windows, all of them, and the ratio.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import net from 'node:net';
import { fileURLToPath } from 'node:url';

const KINDS = ['node:http', 'nodeHandler', 'nodeHandler, 1 worker'];
const REQUEST = 'GET /json HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\nUser-Agent: bench\r\n\r\n';
/** Connections are closed before the gateway would close them. */
const REQUESTS_PER_CONNECTION = 990;

if (process.env.MILLRACE_BENCH_KIND !== undefined) await serve(process.env.MILLRACE_BENCH_KIND);
else await measure(...process.argv.slice(2).map(Number));

async function serve(kind) {
  const { default: express } = await import('express');
  // biome-ignore lint/correctness/useImportExtensions: the built file, not its types
  const { start } = await import('../js/dist/index.mjs');
  // biome-ignore lint/correctness/useImportExtensions: the built file, not its types
  const { nodeHandler } = await import('../js/dist/node.mjs');
  const app = express();
  app.get('/json', (_req, res) => res.json({ hello: 'world', n: 1 }));
  let port;
  if (kind === 'node:http') {
    const server = createServer(app).listen(0, '127.0.0.1');
    await once(server, 'listening');
    port = server.address().port;
  } else {
    const inWorker = { workerPath: new URL('./node-handler-worker.mjs', import.meta.url), threads: 1 };
    const server = await start({
      bind: '127.0.0.1:0',
      ...(kind.includes('worker') ? inWorker : { handlers: nodeHandler(app) }),
    });
    port = Number(server.addresses[0].split(':')[1]);
  }
  process.on('message', () => process.send({ cpu: process.cpuUsage() }));
  process.send({ port });
}

async function measure(connections = 32, requests = 20_000, windows = 5) {
  const servers = [];
  for (const kind of KINDS) {
    const env = { ...process.env, NODE_ENV: 'production', MILLRACE_BENCH_KIND: kind };
    const child = fork(fileURLToPath(import.meta.url), { env });
    const [{ port }] = await once(child, 'message');
    servers.push({ kind, child, port, micros: [] });
  }
  try {
    for (const { port } of servers) await load(port, connections, requests);
    for (let window = 0; window < windows; window += 1) {
      for (const server of servers) {
        const before = await cpuOf(server.child);
        await load(server.port, connections, requests);
        server.micros.push(((await cpuOf(server.child)) - before) / requests);
      }
    }
  } finally {
    for (const { child } of servers) child.kill();
  }
  const [base] = servers.map(({ micros }) => median(micros));
  for (const { kind, micros } of servers) {
    const all = micros.map((one) => one.toFixed(1)).join(' ');
    const middle = median(micros);
    console.log(`${kind}: ${middle.toFixed(1)} µs (${all}), ${(middle / base).toFixed(2)} of node:http`);
  }
}

async function cpuOf(child) {
  const answer = once(child, 'message');
  child.send('cpu');
  const [{ cpu }] = await answer;
  return cpu.user + cpu.system;
}

/** Sends a number of requests in total. */
async function load(port, connections, requests) {
  let left = requests;
  const connection = async () => {
    while (left > 0) {
      const most = Math.min(left, REQUESTS_PER_CONNECTION);
      const socket = net.connect(port, '127.0.0.1').setNoDelay(true);
      let text = '';
      let served = 0;
      left -= 1;
      socket.write(REQUEST);
      socket.on('data', (piece) => {
        text += piece.latin1Slice();
        const end = text.indexOf('\r\n\r\n');
        const length = /content-length: (\d+)/i.exec(text);
        if (end < 0 || length === null || text.length < end + 4 + Number(length[1])) return;
        text = '';
        served += 1;
        if (served >= most || left <= 0) return socket.destroy();
        left -= 1;
        socket.write(REQUEST);
      });
      await once(socket, 'close');
    }
  };
  await Promise.all(Array.from({ length: connections }, connection));
}

function median(list) {
  return [...list].sort((one, other) => one - other)[list.length >> 1];
}
