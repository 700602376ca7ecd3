// Checks that connections leave nothing behind. Runs rounds of 100,000 connects and closes against Millrace; after
// each, the deadlines of the closed connections pass, both JavaScript heaps are collected, and resident memory and
// descriptors are read. The first rounds warm up; the last is compared with the one before it.
//   node benchmark/leak.mjs [--rounds N] [--count N]
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { buildLoad, installPeers } from './runner/build.mjs';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '4' }, count: { type: 'string', default: '100000' } },
});
const rounds = Math.min(Math.max(Number(values.rounds) || 4, 2), 20);
const count = Math.min(Math.max(Number(values.count) || 100_000, 1000), 1_000_000);
/** The longest that the gateway remembers a closed connection's next deadline: a ping interval and one tick. */
const FORGOTTEN_MS = 27_000;
const PERCENT = 1;

const { load } = await buildLoad();
await installPeers();
const program = fileURLToPath(new URL('./peers/millrace/leak-server.mjs', import.meta.url));
const server = spawn(process.execPath, ['--expose-gc', program], { stdio: ['pipe', 'pipe', 'inherit'] });
const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
process.on('exit', () => server.kill('SIGKILL'));
const port = (await lines.next()).value.split(' ')[1];

const atRest = readdirSync(`/proc/${server.pid}/fd`).length;
const seen = [];
for (let round = 1; round <= rounds; round++) {
  await churn();
  await new Promise((resolve) => setTimeout(resolve, FORGOTTEN_MS));
  server.stdin.write('collect\n');
  await lines.next();
  const kib = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))[1]);
  const descriptors = await settledDescriptors();
  seen.push({ kib, descriptors });
  console.log(`round ${round}: ${count} cycles, ${(kib / 1024).toFixed(1)} MiB resident, ${descriptors} descriptors`);
}
const [before, after] = seen.slice(-2);
const growth = ((after.kib - before.kib) / before.kib) * 100;
console.log(`last round: ${growth.toFixed(2)} % resident, ${after.descriptors - atRest} descriptors`);
if (growth > PERCENT || after.descriptors > atRest) process.exitCode = 3;
server.stdin.end();

/** Descriptors after the connection that requested the collection has closed, or after 10 s. */
async function settledDescriptors() {
  const deadline = Date.now() + 10_000;
  for (;;) {
    const descriptors = readdirSync(`/proc/${server.pid}/fd`).length;
    if (descriptors <= atRest || Date.now() > deadline) return descriptors;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function churn() {
  const args = ['churn', `--port=${port}`, `--pid=${server.pid}`, `--count=${count}`, '--connections=100'];
  return new Promise((resolve, reject) => {
    const child = spawn(load, args, { stdio: ['ignore', 'ignore', 'inherit'] });
    child.once('error', reject);
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`the generator ended with ${code}`))));
  });
}
