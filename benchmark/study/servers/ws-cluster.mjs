// The study's server on the `ws` package under node:cluster: --threads=N processes that share a port. A worker that
// ends is replaced, which the original promised but did not do. A worker that hangs is not detected.
import cluster from 'node:cluster';
import { createServer } from 'node:net';
import { exitOnSignals, option, ready } from './answer.mjs';
import { listen, total } from './ws-listener.mjs';

if (cluster.isPrimary) await primary();
else work();

async function primary() {
  const threads = Number(option('threads', '2'));
  // fixed: without it, a replacement would get another port if all other workers had ended
  const port = await freePort();
  const asked = new Map();
  let lastQuestion = 0;
  let listening = 0;
  let stopping = false;
  const workers = () => Object.values(cluster.workers);
  const fork = () => cluster.fork({ STUDY_PORT: String(port) });

  cluster.on('listening', () => {
    if (++listening === threads) ready(port);
  });
  cluster.on('exit', () => {
    if (!stopping) fork();
  });
  cluster.on('message', (worker, message) => {
    if (message.ask !== undefined) ask(worker, message.ask);
    else asked.get(message.question)?.(message.numbers);
  });
  for (let number = 0; number < threads; number++) fork();

  /** Asks every worker for its numbers, and sends the sum to the worker that requested it. One that hangs is left out. */
  async function ask(asker, id) {
    const question = ++lastQuestion;
    const all = [];
    const asking = workers();
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, 1000);
      asked.set(question, (numbers) => {
        all.push(numbers);
        if (all.length < asking.length) return;
        clearTimeout(timer);
        resolve();
      });
      for (const worker of asking) worker.send({ question });
    });
    asked.delete(question);
    if (asker.isConnected()) asker.send({ answer: id, stats: total(all) });
  }

  exitOnSignals(async (signal) => {
    stopping = true;
    const ended = workers().map((worker) => {
      worker.process.kill(signal);
      const timer = setTimeout(() => worker.process.kill('SIGKILL'), 1500);
      return new Promise((resolve) => worker.once('exit', () => resolve(clearTimeout(timer))));
    });
    await Promise.all(ended);
  });
}

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

function work() {
  const waiting = new Map();
  let last = 0;
  const { numbers, close } = listen({
    port: Number(process.env.STUDY_PORT),
    worker: process.pid,
    exit: () => process.kill(process.pid, 'SIGKILL'),
    stats: () =>
      new Promise((resolve) => {
        waiting.set(++last, resolve);
        process.send({ ask: last });
      }),
  });
  process.on('message', (message) => {
    if (message.question !== undefined) {
      process.send({ question: message.question, numbers: numbers() });
    } else {
      waiting.get(message.answer)?.(message.stats);
      waiting.delete(message.answer);
    }
  });
  exitOnSignals(close);
}
