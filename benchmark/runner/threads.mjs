// Runs the scenario `threads`: what a message costs with 1, 2 and 4 I/O threads and as many workers. callgrind counts
// instructions and simulated cache misses where it is installed; the process table has the context switches.
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { toolPath, whatIsMissing } from '../../scripts/optional-tools.mjs';
import { peersFolder } from './build.mjs';
import { startLoad, startServer } from './processes.mjs';
import { each, guarded, median, oneWindow, takeTurns } from './turns.mjs';

const run = promisify(execFile);

/** The numbers of I/O threads, and of workers. */
const counts = [1, 2, 4];

/** Messages per second of the open loop are fixed, so that runs can be compared. */
export const loads = [
  load('echo', 'echo 64 B, 100 connections', 20_000, ['--connections=100', '--size=64']),
  load('headline', '200 connections in groups of ten', 2_000, ['--connections=200']),
];

function load(name, title, rate, args) {
  return { name, title: `${title}, ${rate.toLocaleString('en')} messages/s`, args: [name, ...args], rate };
}

/** The caches that are simulated, the same on every machine: 32 KiB each of the first level, 2 MiB of the second. */
const CACHES = ['--cache-sim=yes', '--I1=32768,8,64', '--D1=32768,8,64', '--LL=2097152,16,64'];

/** Windows in which callgrind counts; see {@link fewest}. */
const COUNTED_WINDOWS = 4;

/** `{ results, note }`: the figures for each number of threads, named `<load>_<figure>`. */
export async function runRows(_scenario, _peers, _connections, binaries, options) {
  const missing = whatIsMissing(['valgrind']);
  if (missing) console.log(`  instructions and cache misses are left out: ${missing}`);
  const results = {};
  for (const count of counts) results[nameOf(count)] = { figures: {} };
  for (const load of loads) {
    const keep = (count, figures, error) => {
      const result = results[nameOf(count)];
      for (const [field, value] of Object.entries(figures ?? {})) result.figures[`${load.name}_${field}`] = value;
      if (error !== undefined) result.error ??= `${load.name}: ${error}`;
    };
    await switches(load, binaries, options, keep);
    for (const count of missing ? [] : counts) {
      const one = {};
      await guarded(one, async () => {
        one.figures = await instructions(load, count, binaries, options);
      });
      keep(count, one.figures, one.error);
    }
    for (const count of counts) say(load, nameOf(count), results[nameOf(count)]);
  }
  return { results, note: missing ? `without instructions and cache misses: ${missing}` : undefined };
}

function nameOf(count) {
  return count === 1 ? '1 thread' : `${count} threads`;
}

function server(load, count, before = [], after = []) {
  const file = join(peersFolder, 'millrace/server.mjs');
  const threads = [`--threads=${count}`, `--io-threads=${count}`];
  return [...before, process.execPath, file, `--handler=${load.name}`, ...threads, ...after];
}

function cores({ serverCore, secondCore }) {
  return [...new Set([serverCore, secondCore])];
}

/** Context switches, CPU and p99 of real servers that take turns. */
async function switches(load, binaries, options, keep) {
  const runs = counts.map((count) => ({ count, windows: [] }));
  const args = [...load.args, `--rate=${load.rate}`, '--step', `--window-ms=${options.windowMs}`];
  const seconds = Math.ceil(60 + counts.length * (options.windows + 1) * (options.windowMs / 1000 + 5));
  try {
    await each(runs, async (run) => {
      const peer = { command: () => server(load, run.count) };
      run.server = await startServer(peer, load.name, cores(options), binaries, options);
      run.load = startLoad([...args, `--warmup-ms=${options.warmUpMs}`], run.server, seconds, binaries, options);
      await run.load.next();
    });
    await takeTurns(runs, options.windows + 1, (run, window, round) => {
      if (round > 0) run.windows.push(window);
    });
  } finally {
    for (const run of runs) {
      await run.load?.end();
      await run.server?.stop();
      const { switches_per_unit, cpu_us, p99_us } = median(run.windows, 'cpu_us') ?? {};
      keep(run.count, { switches: switches_per_unit, cpu_us, p99_us }, run.error);
    }
  }
}

/** Instructions and cache misses per message of a server under callgrind, in the best of its windows. */
async function instructions(load, count, binaries, options) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-threads-'));
  const out = join(folder, 'out');
  const tool = ['--tool=callgrind', '--instr-atstart=no', '--fair-sched=try', `--callgrind-out-file=${out}`];
  const valgrind = [toolPath('valgrind'), ...tool, ...CACHES];
  const peer = { command: () => server(load, count, valgrind, ['--io-uring=no']), startSeconds: 120 };
  const args = [...load.args, '--pipeline=1', '--step', '--warmup-ms=0', `--window-ms=${options.quick ? 1000 : 3000}`];
  const measured = await startServer(peer, load.name, cores(options), binaries, options);
  const control = (...words) => run('callgrind_control', [...words, String(measured.pid)], { timeout: 60_000 });
  let generator;
  try {
    generator = startLoad(args, measured, 300, binaries, options);
    await generator.next();
    // the first messages compile the JavaScript of every worker, the next fill callgrind's tables and the caches
    await messages(generator, 20_000);
    await control('-i', 'on');
    await messages(generator, 5_000);
    const windows = [];
    for (let window = 1; window <= COUNTED_WINDOWS; window++) {
      await control('-z');
      const units = await messages(generator, 5_000);
      await control('-d');
      windows.push(perMessage(eventsIn(dumped(folder, window)), units));
    }
    return fewest(windows);
  } finally {
    await generator?.end();
    await measured.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Windows until there were so many messages, at most ten: a slow server would still compile its code in a few. */
async function messages(generator, least) {
  let sum = 0;
  for (let window = 0; window < 10 && sum < least; window++) sum += (await oneWindow({ load: generator })).units;
  return sum;
}

/** The window with the fewest instructions: what V8 compiles meanwhile only adds to a window. */
export function fewest(windows) {
  return windows.reduce((least, window) => (window.instructions < least.instructions ? window : least));
}

/** The profile that this dump wrote, counted from 1. */
function dumped(folder, dump) {
  const name = readdirSync(folder).find((name) => name.endsWith(`.${dump}`));
  if (name === undefined) throw new Error('callgrind wrote no profile');
  return readFileSync(join(folder, name), 'utf8');
}

/** The sums of a profile by event: `{ Ir, D1mr, … }`. */
export function eventsIn(profile) {
  const [, names] = /^events: (.+)$/m.exec(profile) ?? [];
  const [, sums] = /^totals: (.+)$/m.exec(profile) ?? [];
  if (names === undefined || sums === undefined) throw new Error('the profile has no sums');
  const numbers = sums.split(' ').map(Number);
  return Object.fromEntries(names.split(' ').map((name, index) => [name, numbers[index]]));
}

/** The figures of a message. */
export function perMessage({ Ir, D1mr, D1mw, ILmr, DLmr, DLmw }, messages) {
  return {
    instructions: Ir / messages,
    d1_misses: (D1mr + D1mw) / messages,
    l2_misses: (ILmr + DLmr + DLmw) / messages,
  };
}

function say(load, name, { figures, error }) {
  const of = (field) => figures[`${load.name}_${field}`];
  const shown = [
    ...(of('instructions') === undefined ? [] : [`${of('instructions').toFixed(0).padStart(8)} instructions`]),
    ...(of('d1_misses') === undefined ? [] : [`${of('d1_misses').toFixed(0).padStart(5)} first-level misses`]),
    ...(of('switches') === undefined ? [] : [`${of('switches').toFixed(3)} switches`]),
  ];
  console.log(`  ${load.name.padEnd(9)} ${name.padEnd(10)} ${shown.join(', ')}${error ? ` FAILED: ${error}` : ''}`);
}
