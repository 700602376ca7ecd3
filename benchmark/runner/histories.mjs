// Runs the scenario `histories`: two nodes on one Redis, with subscribers on both and a publisher on the first. The same
// messages go through a channel without terms and through one whose history the nodes share; both take turns.
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { toolPath, whatIsMissing } from '../../scripts/optional-tools.mjs';
import { peersFolder } from './build.mjs';
import { CountingSocket } from './counting-socket.mjs';
import { start, startServer } from './processes.mjs';
import { each, median, takeTurns } from './turns.mjs';

/** Publications in flight: the next one goes out when a subscriber of the other node has one. */
export const flights = [1, 16, 256];
const kinds = ['plain', 'history'];
/** Subscribers of each node. */
export const SUBSCRIBERS = 50;

/** `{ results, note }`: the rows of each kind of channel by their publications in flight, and the first failure. */
export async function runRows(_scenario, _peers, _connections, binaries, options) {
  const missing = whatIsMissing(['redis-server']);
  if (missing) {
    console.log(`  not run: ${missing}`);
    return { results: {}, note: `not run: ${missing}` };
  }
  const results = Object.fromEntries(kinds.map((kind) => [kind, { rows: {} }]));
  const redis = await startRedis();
  const nodes = [];
  try {
    for (let count = 0; count < 2; count++) nodes.push(await startNode(redis, binaries, options));
    for (const flight of flights) await oneRow(flight, nodes, redis, options, results);
  } finally {
    for (const node of nodes) await node.stop();
    await redis.stop();
  }
  return { results, note: `${options.windows} windows of ${options.windowMs} ms` };
}

async function oneRow(flight, nodes, redis, options, results) {
  const runs = kinds.map((kind) => ({ kind, windows: [] }));
  try {
    await each(runs, async (run) => {
      run.load = await Load.open(run.kind, flight, nodes, redis, options);
    });
    // the first round only warms up
    await takeTurns(runs, options.windows + 1, (run, window, round) => {
      if (round > 0) run.windows.push(window);
    });
  } finally {
    for (const { load } of runs) load?.end();
  }
  for (const { kind, windows, error } of runs) {
    results[kind].rows[flight] = { figures: median(windows, 'delivery_us'), windows, error };
    if (error) results[kind].error ??= `${flight} in flight: ${error}`;
    say(flight, kind, results[kind].rows[flight]);
  }
}

/** A publisher and subscribers of one channel. */
class Load {
  #flight;
  #processes;
  #windowMs;
  #publisher;
  #subscribers = [];
  #sent = 0;
  #heard = 0;
  /** When each message in flight was sent. */
  #times = new Map();
  #latencies = [];
  #isOpen = false;
  #failure;
  #window;
  #idle;

  static async open(kind, flight, nodes, redis, { windowMs }) {
    const load = new Load();
    load.#flight = flight;
    load.#windowMs = windowMs;
    load.#processes = { node_us: nodes.map(({ pid }) => pid), redis_us: [redis.pid] };
    const [here, there] = nodes;
    const path = `/?channel=${kind}`;
    const lead = await CountingSocket.open(there.port, path, (numbers) => load.#arrived(numbers));
    load.#subscribers.push(lead);
    for (let count = 0; count < SUBSCRIBERS; count++) {
      load.#subscribers.push(await CountingSocket.open(here.port, path));
      if (count > 0) load.#subscribers.push(await CountingSocket.open(there.port, path));
    }
    load.#publisher = await CountingSocket.open(here.port, `${path}&publish=yes`);
    await load.#connected();
    return load;
  }

  /** Runs one window; its report comes by `next`. */
  step() {
    this.#window = this.#measure();
    this.#window.catch(() => {});
  }

  next() {
    return this.#window;
  }

  end() {
    for (const socket of [this.#publisher, ...this.#subscribers]) socket?.end();
  }

  /** Publishes one message after the other until the other node has subscribed. */
  async #connected() {
    const deadline = performance.now() + 20_000;
    while (this.#heard === 0) {
      if (performance.now() > deadline) throw new Error('the nodes do not hear each other');
      this.#publish(1);
      await pause(50);
    }
    await this.#settled();
    // what came before the subscriptions stood is not counted
    for (const subscriber of this.#subscribers) subscriber.count = 0;
  }

  async #measure() {
    this.#latencies = [];
    const before = [this.#heard, this.#cpu(), performance.now()];
    const counts = this.#subscribers.map(({ count }) => count);
    this.#isOpen = true;
    this.#publish(this.#flight);
    await pause(this.#windowMs);
    this.#isOpen = false;
    await this.#settled();
    const seconds = (performance.now() - before[2]) / 1000;
    const publications = this.#heard - before[0];
    const cpu = this.#cpu();
    this.#check(counts, publications);
    const deliveries = publications * this.#subscribers.length;
    const sorted = this.#latencies.sort((one, other) => one - other);
    return {
      per_second: publications / seconds,
      deliveries_per_second: deliveries / seconds,
      delivery_us: (cpu.node_us - before[1].node_us) / deliveries,
      publication_us: (cpu.node_us - before[1].node_us) / publications,
      redis_us: (cpu.redis_us - before[1].redis_us) / publications,
      p50_us: sorted[Math.floor(sorted.length / 2)],
      p99_us: sorted[Math.floor(sorted.length * 0.99)],
    };
  }

  #publish(count) {
    const now = performance.now();
    for (let index = 0; index < count; index++) this.#times.set(this.#sent + index, now);
    this.#publisher.send(this.#sent, count);
    this.#sent += count;
  }

  #arrived(numbers) {
    const now = performance.now();
    for (const number of numbers) {
      const since = this.#times.get(number);
      if (since === undefined) this.#failure ??= `message ${number} came twice, or was never sent`;
      // a Map is in the order of sending; before the nodes have met, messages may be lost
      for (const [earlier] of this.#times) {
        if (earlier >= number) break;
        if (this.#isOpen) this.#failure ??= `message ${earlier} is missing`;
        this.#times.delete(earlier);
      }
      this.#times.delete(number);
      this.#latencies.push((now - since) * 1000);
    }
    this.#heard += numbers.length;
    if (this.#isOpen) this.#publish(numbers.length);
    else if (this.#times.size === 0) this.#idle?.();
  }

  /** Waits until nothing is in flight, and until all subscribers have what the lead has. */
  async #settled() {
    if (this.#times.size > 0) {
      const idle = new Promise((resolve) => {
        this.#idle = resolve;
      });
      await Promise.race([idle, pause(10_000)]);
    }
    if (this.#times.size > 0) this.#failure ??= `${this.#times.size} messages did not arrive`;
    let before = -1;
    for (let sum = 0; sum !== before; ) {
      before = sum;
      await pause(20);
      sum = this.#subscribers.reduce((all, { count }) => all + count, 0);
    }
  }

  #check(counts, publications) {
    const wrong = this.#subscribers.findIndex(({ count }, index) => count - counts[index] !== publications);
    if (wrong !== -1) this.#failure ??= `subscriber ${wrong} has not got all of ${publications} messages`;
    if (this.#failure) throw new Error(this.#failure);
  }

  #cpu() {
    return Object.fromEntries(
      Object.entries(this.#processes).map(([name, pids]) => [name, pids.reduce((sum, pid) => sum + cpuOf(pid), 0)]),
    );
  }
}

/** CPU µs of all threads of a process, by the scheduler's clock. */
function cpuOf(pid) {
  const tasks = readdirSync(`/proc/${pid}/task`);
  return tasks.reduce((sum, task) => {
    try {
      return sum + Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]) / 1000;
    } catch {
      return sum; // the thread has ended
    }
  }, 0);
}

/** A Redis that keeps nothing on disk. */
async function startRedis() {
  const port = await freePort();
  const only = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const { child, ended, lines, complaint } = start([toolPath('redis-server'), '--port', port, ...only], 'ignore');
  const ready = new Promise((resolve) => {
    lines.on('line', (line) => {
      if (line.includes('Ready to accept connections')) resolve(true);
    });
  });
  const stop = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  if (!(await Promise.race([ready, ended.then(() => false), pause(20_000)]))) {
    await stop();
    throw new Error(`redis-server did not start: ${complaint()}`);
  }
  return { port, pid: child.pid, stop };
}

function startNode({ port }, binaries, options) {
  const file = join(peersFolder, 'millrace/histories.mjs');
  const peer = { command: () => [process.execPath, file, `--backplane=redis://127.0.0.1:${port}`] };
  return startServer(peer, 'histories', [], binaries, { ...options, pin: false });
}

function freePort() {
  return new Promise((resolve, reject) => {
    const listener = createServer().once('error', reject);
    listener.listen(0, '127.0.0.1', () => {
      const { port } = listener.address();
      listener.close(() => resolve(String(port)));
    });
  });
}

function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function say(flight, kind, { figures, error }) {
  const words = figures
    ? `${Math.round(figures.per_second).toLocaleString('en').padStart(8)} publications/s, ` +
      `${figures.delivery_us.toFixed(2)} µs/delivery, p99 ${figures.p99_us.toFixed(0)} µs`
    : '';
  console.log(`  ${`${flight} in flight`.padEnd(14)} ${kind.padEnd(8)} ${words}${error ? ` FAILED: ${error}` : ''}`);
}
