// Runs one scenario against all peers and keeps what the generator reported, failures included.
import { startLoad, startServer } from './processes.mjs';

/** `{ name, title, columns, peers: { <peer>: { figures, windows, error } }, failed }` */
export async function runScenario(scenario, all, binaries, options) {
  const peers = all.filter(({ name }) => !scenario.without?.includes(name));
  const run = scenario.kind === 'windows' ? interleaved : oneByOne;
  const results = await run(scenario, peers, binaries, options);
  const failed = Object.values(results).some(({ error }) => error !== undefined);
  const { name, title, columns } = scenario;
  return { name, title, columns, peers: results, failed };
}

/** All servers are up; the peers take turns, one window each, so that noise meets all alike. */
async function interleaved(scenario, peers, binaries, options) {
  const args = [...(options.quick ? scenario.quick : scenario.args), '--step', `--window-ms=${options.windowMs}`];
  const seconds = 60 + (options.windows + 1) * peers.length * (options.windowMs / 1000 + 13);
  const results = {};
  const runs = [];
  for (const peer of peers) {
    const run = { name: peer.name, windows: [] };
    await guarded(run, async () => {
      run.server = await startServer(peer, scenario.handler, binaries, options);
      run.load = startLoad(args, run.server, Math.ceil(seconds), binaries, options);
      await run.load.next();
    });
    runs.push(run);
  }
  // the first round only warms up
  for (let round = 0; round <= options.windows; round++) {
    for (const run of runs.filter(({ error }) => error === undefined)) {
      await guarded(run, async () => {
        run.load.step();
        const window = await run.load.next();
        if (round > 0) run.windows.push(window);
      });
    }
    process.stdout.write(round === 0 ? '  warm' : ` ${round}`);
  }
  process.stdout.write('\n');
  for (const run of runs) {
    await run.load?.end();
    await run.server?.stop();
    results[run.name] = { figures: median(run.windows), windows: run.windows, error: run.error };
    say(scenario, run.name, results[run.name]);
  }
  return results;
}

/** One peer after the other, each with a server of its own. */
async function oneByOne(scenario, peers, binaries, options) {
  const results = {};
  for (const peer of peers) {
    const run = {};
    await guarded(run, async () => {
      const args = [...(options.quick ? scenario.quick : scenario.args)];
      if (scenario.tolerates?.includes(peer.name)) args.push('--tolerant');
      run.server = await startServer(peer, scenario.handler, binaries, options);
      run.load = startLoad(args, run.server, 300, binaries, options);
      run.figures = await run.load.next();
      const status = await run.load.end();
      if (status !== 0) throw new Error(run.load.complaint());
    });
    await run.load?.end();
    await run.server?.stop();
    results[peer.name] = { figures: run.figures, error: run.error };
    say(scenario, peer.name, results[peer.name]);
  }
  return results;
}

async function guarded(run, action) {
  try {
    await action();
  } catch (error) {
    run.error = error.message;
  }
}

/** Field by field over all windows; true if it was ever true. */
function median(windows) {
  if (windows.length === 0) return undefined;
  const summary = { ...windows[0], kind: 'median' };
  for (const [name, first] of Object.entries(summary)) {
    const column = windows.map((window) => window[name]);
    if (typeof first === 'number') summary[name] = column.sort((a, b) => a - b)[column.length >> 1];
    if (typeof first === 'boolean') summary[name] = column.some(Boolean);
  }
  return summary;
}

function say(scenario, peer, { figures, error }) {
  const [field, unit] = scenario.columns[0];
  const figure = figures ? `${figures[field].toFixed(3)} ${unit}` : '';
  const limited = figures?.generator_is_the_limit ? ' (the generator was the limit)' : '';
  console.log(`  ${peer.padEnd(10)} ${figure}${limited}${error ? ` FAILED: ${error}` : ''}`);
}
