// Starts and ends servers and generators. Ends only processes that it has started, by pid.
import { spawn } from 'node:child_process';
import { readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const children = new Set();

/** Ends all started processes that are still running. */
export function endAll() {
  for (const child of children) child.kill('SIGKILL');
}

/** Starts a program, which is ended with the others if the runner is interrupted. */
export function start(command, stdin) {
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

/** The command pinned to its own cores, if requested. */
function pinned(command, cores, binaries, options) {
  return options.pin ? [binaries.load, 'pin', '--core', cores.join(','), '--', ...command] : command;
}

/**
 * Starts a server on some cores and waits for its line `ready <port>`, optionally followed by another pid to measure.
 * A peer may take longer to start than others: `startSeconds`.
 */
export async function startServer(peer, handler, cores, binaries, options) {
  const command = pinned(peer.command(handler), cores, binaries, options);
  const { child, ended, lines, complaint } = start(command, 'ignore');
  const ready = new Promise((resolve) => {
    lines.on('line', (line) => {
      const [word, port, pid = child.pid] = line.split(' ');
      if (word === 'ready') resolve({ port: Number(port), pid: Number(pid) });
    });
  });
  const up = await Promise.race([ready, ended.then(() => undefined), pause((peer.startSeconds ?? 30) * 1000)]);
  if (up === undefined) {
    child.kill('SIGKILL');
    throw new Error(`the server did not start: ${complaint()}`);
  }
  const before = ringsOf(up.pid);
  return {
    ...up,
    cores,
    complaint,
    /** Whether it has made a ring of `io_uring` since it was ready: those that a runtime makes for itself are older. */
    usesIoUring: () => ringsOf(up.pid) > before,
    async stop() {
      child.kill('SIGTERM');
      if ((await Promise.race([ended, pause(3_000)])) === undefined) child.kill('SIGKILL');
      await ended;
    },
  };
}

/** The number of rings of `io_uring` that a process has open. */
export function ringsOf(pid) {
  const folder = `/proc/${pid}/fd`;
  const target = (name) => {
    try {
      return readlinkSync(join(folder, name));
    } catch {
      return ''; // it was closed meanwhile
    }
  };
  try {
    return readdirSync(folder).filter((name) => target(name) === 'anon_inode:[io_uring]').length;
  } catch {
    return 0; // the process has ended
  }
}

/** Starts a generator against a server. `next` gives its reports one by one. */
export function startLoad(args, server, seconds, binaries, options) {
  const core = options.pin ? [`--core=${options.loadCore}`, `--server-cores=${server.cores.length}`] : [];
  const target = [`--port=${server.port}`, `--pid=${server.pid}`, `--deadline-s=${seconds}`];
  const { child, ended, lines, complaint } = start([binaries.load, ...args, ...target, ...core, '--json'], 'pipe');
  child.stdin.on('error', () => {}); // it may end before it reads
  const reports = lines[Symbol.asyncIterator]();
  const limit = (seconds + 5) * 1000;
  return {
    /** The next report; throws if there is none. */
    async next() {
      const result = await Promise.race([reports.next(), pause(limit)]);
      if (result?.value) return JSON.parse(result.value);
      if (!result) child.kill('SIGKILL');
      const status = await ended;
      throw new Error(complaint() || server.complaint() || `the generator ended with ${status}`);
    },
    /** Asks for one more window. */
    step: () => child.stdin.write('\n'),
    /** Waits for its end and returns its exit status. */
    async end() {
      child.stdin.end();
      const status = await Promise.race([ended, pause(10_000)]);
      if (status === undefined) child.kill('SIGKILL');
      return status;
    },
    complaint,
  };
}

/** The one line of JSON that a program prints within a number of seconds. */
export async function reportOf(command, seconds) {
  const { child, ended, lines, complaint } = start(command, 'ignore');
  const line = new Promise((resolve) => lines.once('line', resolve));
  const over = ended.then((status) => ({ status }));
  const first = await Promise.race([line, over, pause(seconds * 1000)]);
  child.kill('SIGKILL');
  if (typeof first === 'string') return JSON.parse(first);
  throw new Error(complaint() || (first ? `the client ended with ${first.status}` : `nothing after ${seconds} s`));
}

/** Resolves to undefined after a time in milliseconds, without keeping the process alive. */
function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds).unref());
}
