// Runs one row of `sockety` against a running server, and prints the result as one line of JSON.
//   --client=sockety|http1|http2   --module=NAME of a client of Sockety   --row=NAME   --port=N   --pid=N of the server
//   --warm-up-ms=N   --ms=N   --file=PATH of the row's size
import { readdirSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { rowNamed, THREADS, total, verdict } from './rows.mjs';

const names = ['client', 'module', 'row', 'port', 'pid', 'warm-up-ms', 'ms', 'file'];
const { values } = parseArgs({ options: Object.fromEntries(names.map((name) => [name, { type: 'string' }])) });
const row = rowNamed(values.row);

const workerData = { row, client: values.client, module: values.module, port: Number(values.port), file: values.file };
const threads = Array.from({ length: THREADS }, () => {
  const thread = new Worker(new URL('./load-thread.mjs', import.meta.url), { workerData });
  thread.once('error', (error) => {
    console.error(error.message);
    process.exit(1);
  });
  return thread;
});

/** Sends a command to each thread, and resolves with the next message of each. */
function all(order) {
  const answers = threads.map((thread) => new Promise((resolve) => thread.once('message', resolve)));
  if (order) for (const thread of threads) thread.postMessage(order);
  return Promise.all(answers);
}

const count = async () => total((await all({ what: 'count' })).flat());

/** µs of CPU that the server's threads have used. */
function serverCpu() {
  const folder = `/proc/${values.pid}/task`;
  const nanoseconds = readdirSync(folder).map((id) =>
    Number(readFileSync(`${folder}/${id}/schedstat`, 'utf8').split(' ')[0]),
  );
  return nanoseconds.reduce((sum, each) => sum + each, 0) / 1000;
}

function clientCpu() {
  const { user, system } = process.cpuUsage();
  return user + system;
}

const [{ counted }] = await all();
await all({ what: 'run', ms: Number(values['warm-up-ms']) });
const first = await count();
const before = await count();
const [server, client] = [serverCpu(), clientCpu()];
const runs = await all({ what: 'run', ms: Number(values.ms) });
// the answers come after everything that was sent before, so the server's work for it is measured, too
const after = await count();
const tasks = runs.reduce((sum, { done }) => sum + done, 0);
const figures = {
  per_second: runs.reduce((sum, { done, ms }) => sum + (done * 1000) / ms, 0),
  client_cpu_us: (clientCpu() - client) / tasks,
  server_cpu_us: (serverCpu() - server) / tasks,
  tasks,
  handled: after.handled - before.handled,
  // the requests for counts have bytes, too, always the same number
  bytes: after.bytes === null ? null : after.bytes - before.bytes - (before.bytes - first.bytes),
};
console.log(JSON.stringify({ ...figures, wrong: verdict(row, { ...figures, counted }) }));
await all({ what: 'close' });
process.exit(0);
