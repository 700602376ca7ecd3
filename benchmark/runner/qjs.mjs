// Runs the scenario `qjs`: all servers run from the first row to the last and take turns. Memory is measured at the end
// of a window, after all rows before it.
import { startLoad, startServer } from './processes.mjs';
import { figuresOf, loadArgs, programs, rows } from './qjs-rows.mjs';
import { each, median, takeTurns } from './turns.mjs';

/** `{ results, note }`: each program's rows by name, and the first failure. */
export async function runRows(_scenario, peers, _connections, binaries, options) {
  const servers = programs(peers).map((program) => ({ ...program, rows: {} }));
  try {
    await each(servers, async (each) => {
      each.server = await startServer(each.peer, each.handler, cores(each.peer.name, options), binaries, options);
    });
    // the first row runs twice: the first time only warms up
    await oneRow(rows[0], servers, binaries, options);
    for (const row of rows) {
      await oneRow(row, servers, binaries, options);
      for (const server of servers) say(row, server.name, server.rows[row.name]);
    }
  } finally {
    for (const { server } of servers) await server?.stop();
  }
  const results = servers.map(({ name, rows: found, error }) => [name, { rows: found, error }]);
  return { results: Object.fromEntries(results), note: `${options.windows} windows of ${options.windowMs} ms` };
}

async function oneRow(row, servers, binaries, options) {
  const seconds = 60 + Math.ceil((servers.length * options.windows * options.windowMs) / 1000) * 2;
  const times = [`--window-ms=${options.windowMs}`, `--warmup-ms=${options.warmUpMs}`];
  // a server that failed once is not measured again
  const runs = servers.map((server) => ({ server, error: server.error, windows: [] }));
  try {
    await each(runs, async (run) => {
      run.load = startLoad([...loadArgs(row), '--step', ...times], run.server.server, seconds, binaries, options);
      await run.load.next();
    });
    await takeTurns(runs, options.windows, (run, window) => run.windows.push(figuresOf(window)));
  } finally {
    for (const { load } of runs) await load?.end();
  }
  for (const { server, windows, error: failure } of runs) {
    const error = failure && [failure, server.server?.complaint()].filter(Boolean).join('; ');
    server.rows[row.name] = { figures: median(windows, 'per_second_per_mib'), windows, error };
    if (error) server.error ??= `${row.name}: ${error}`;
  }
}

/** One core, and two where there are two I/O threads and workers. */
function cores(name, { serverCore, secondCore }) {
  return name === 'millrace-2' ? [serverCore, secondCore] : [serverCore];
}

function say(row, name, { figures, error }) {
  const words = figures
    ? `${Math.round(figures.per_second).toLocaleString('en').padStart(8)} requests/s, ` +
      `${figures.resident_mib.toFixed(0).padStart(4)} MiB, ${figures.per_second_per_mib.toFixed(0).padStart(6)} per MiB`
    : '';
  console.log(`  ${row.name.padEnd(18)} ${name.padEnd(16)} ${words}${error ? ` FAILED: ${error}` : ''}`);
}
