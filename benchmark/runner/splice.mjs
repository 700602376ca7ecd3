// Runs the scenario `splice`: row by row, the peers take turns, each with a new server and targets of its own. `epoll`
// stands for a direct connection to the same kind of target.
import { startLoad, startServer } from './processes.mjs';
import { compare, figuresOf, loadArgs, rows, targetHandler } from './splice-rows.mjs';
import { each, median, takeTurns } from './turns.mjs';

/** `{ results, note }`: each peer's rows by name, and the first failure. */
export async function runRows(_scenario, taking, _connections, binaries, options) {
  // the bare epoll loop, with which all are compared, comes first
  const peers = taking.toSorted((a, b) => Number(b.name === 'epoll') - Number(a.name === 'epoll'));
  const results = Object.fromEntries(peers.map(({ name }) => [name, { rows: {} }]));
  for (const row of rows) {
    const found = compare(await oneRow(row, peers, binaries, options));
    for (const [name, outcome] of Object.entries(found)) {
      results[name].rows[row.name] = outcome;
      if (outcome.error) results[name].error ??= `${row.name}: ${outcome.error}`;
      say(row, name, outcome);
    }
  }
  return { results, note: `${options.windows} windows of ${options.windowMs} ms` };
}

/** By peer: `{ figures, windows, error }`. */
async function oneRow(row, peers, binaries, options) {
  const runs = peers.map((peer) => ({ peer, direct: peer.name === 'epoll', windows: [] }));
  try {
    await each(runs, (run) => begin(row, run, binaries, options));
    await takeTurns(runs, options.windows, (run, window) => {
      run.windows.push(figuresOf(row, window, run.direct, options));
    });
  } finally {
    for (const { load, server, target } of runs) {
      await load?.end();
      await server?.stop();
      if (target !== server) await target?.stop();
    }
  }
  const outcome = ({ windows, error: failure, server }) => {
    const error = failure && [failure, server?.complaint()].filter(Boolean).join('; ');
    return { figures: median(windows, 'cpu_us'), windows, error };
  };
  return Object.fromEntries(runs.map((run) => [run.peer.name, outcome(run)]));
}

async function begin(row, run, binaries, options) {
  const target = { command: () => [binaries.epoll, `--handler=${targetHandler(row)}`] };
  run.target = await startServer(target, 'splice', [options.secondCore], binaries, options);
  run.server = run.direct
    ? run.target
    : await startServer(run.peer, 'splice', cores(run.peer.name, options), binaries, options);
  const args = [...loadArgs(row, run.direct, run.target), '--step'];
  const times = [`--window-ms=${options.windowMs}`, `--warmup-ms=${options.warmUpMs}`];
  // a window ends when all messages in flight have arrived
  const seconds = 60 + Math.ceil((options.windows * options.windowMs) / 1000) * 10;
  run.load = startLoad([...args, ...times], run.server, seconds, binaries, options);
  await run.load.next();
}

/** One core, and two where there are two I/O threads. */
function cores(name, { serverCore, secondCore }) {
  return name === 'millrace-2' ? [serverCore, secondCore] : [serverCore];
}

function say(row, peer, { figures, error }) {
  const digits = (value, count) => (value === undefined ? '' : value.toFixed(count));
  const words = figures && [
    `${Math.round(figures.per_second).toLocaleString('en').padStart(10)}/s`,
    `${digits(figures.payload_mibit, 1).padStart(8)} Mibit/s`,
    figures.relayed_us ? `${digits(figures.relayed_us, 2)} µs/relayed` : '',
    figures.p99_us ? `p99 ${digits(figures.p99_us, 0)} µs` : '',
    figures.p99_ratio ? `${digits(figures.p99_ratio, 2)} × direct` : '',
    figures.generator_is_the_limit ? '(clients or targets were the limit)' : '',
  ];
  console.log(
    `  ${row.name.padEnd(24)} ${peer.padEnd(10)} ${words?.join(' ') ?? ''}${error ? ` FAILED: ${error}` : ''}`,
  );
}
