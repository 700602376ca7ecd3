// Starts and ends the study's servers and generators. Ends only processes that it has started, by pid.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const children = new Set();

/** Ends all started processes that are still running. */
export function endAll() {
  for (const child of children) child.kill('SIGKILL');
}

process.once('exit', endAll);

function start(command, stdin) {
  const child = spawn(command[0], command.slice(1), {
    stdio: [stdin, 'pipe', 'pipe'],
    env: { ...process.env, NODE_ENV: 'production' },
  });
  children.add(child);
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    complaint = (complaint + text).slice(-2000);
  });
  const ended = new Promise((resolve) => {
    const over = (how) => {
      children.delete(child);
      resolve(how);
    };
    child.once('error', (error) => over(error.message));
    child.once('close', (code, signal) => over(code ?? signal));
  });
  const lines = createInterface({ input: child.stdout });
  return { child, ended, lines, complaint: () => complaint.trim() };
}

/**
 * Starts a server and waits for its `ready <port> <stats port>`. With a core, it runs only on this core. Without one, it
 * shares all cores with the generator, which has a higher priority (the server has a nice value).
 */
export async function startServer(command, core, binaries) {
  const prefix = core === undefined ? ['nice', '-n', '5'] : [binaries.load, 'pin', '--core', String(core), '--'];
  const { child, ended, lines, complaint } = start([...prefix, ...command], 'ignore');
  const ready = new Promise((resolve) => {
    lines.on('line', (line) => {
      const [word, ...ports] = line.split(' ');
      if (word === 'ready') resolve(ports.map(Number));
    });
  });
  const ports = await Promise.race([ready, ended.then(() => undefined), pause(20_000)]);
  if (ports === undefined) {
    child.kill('SIGKILL');
    throw new Error(`the server did not start: ${complaint()}`);
  }
  const [port, statsPort] = ports;
  return {
    port,
    statsPort,
    pid: child.pid,
    complaint,
    /** Status and JSON of a path on the port of /stats. */
    async get(path) {
      const answer = await fetch(`http://127.0.0.1:${statsPort}${path}`, {
        signal: AbortSignal.timeout(5_000),
        headers: { connection: 'close' },
      });
      return { status: answer.status, body: await answer.json() };
    },
    /** Sends a signal and returns the exit status, or the signal that ended it. */
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      const status = await Promise.race([ended, pause(4_000)]);
      if (status === undefined) child.kill('SIGKILL');
      return status ?? ended;
    },
  };
}

/** Starts the generator's study against a server. `next` gives its reports one by one. */
export function startLoad(args, server, core, seconds, binaries) {
  const pin = core === undefined ? [] : [binaries.load, 'pin', '--core', String(core), '--'];
  const target = [`--port=${server.port}`, `--pid=${server.pid}`, `--deadline-s=${seconds}`, '--json'];
  const { child, ended, lines, complaint } = start([...pin, binaries.load, 'study', ...args, ...target], 'pipe');
  child.stdin.on('error', () => {}); // it may end before it reads
  const reports = lines[Symbol.asyncIterator]();
  return {
    /** The next report; throws if there is none. */
    async next() {
      const result = await Promise.race([reports.next(), pause((seconds + 5) * 1000)]);
      if (result?.value) return JSON.parse(result.value);
      if (!result) child.kill('SIGKILL');
      const status = await ended;
      throw new Error(complaint() || server.complaint() || `the generator ended with ${status}`);
    },
    /** Starts the next step. */
    step: () => child.stdin.write('\n'),
    /** Ends its input, waits for its end, and returns its exit status. */
    async end() {
      child.stdin.end();
      const status = await Promise.race([ended, pause(10_000)]);
      if (status === undefined) child.kill('SIGKILL');
      return status;
    },
  };
}

/** Resolves to undefined after a time in milliseconds, without keeping the process alive. */
function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds).unref());
}
