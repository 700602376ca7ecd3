// Runs one scenario against its peers and keeps the generator's reports, including failures.
import { runRows as histories } from './histories.mjs';
import { mostConnections, obstacle } from './limits.mjs';
import { participants } from './peers.mjs';
import { startLoad, startServer } from './processes.mjs';
import { runRows as qjs } from './qjs.mjs';
import { connectionsOf, loadArgs } from './scenarios.mjs';
import { rowByRow } from './sockety.mjs';
import { runRows as splice } from './splice.mjs';
import { runRows as threads } from './threads.mjs';
import { each, guarded, median, oneWindow, takeTurns } from './turns.mjs';

/** How the rows of a scenario of that kind are measured. */
const rows = { sockety: rowByRow, splice, qjs, threads, histories };

/** The scenario with its results: `peers` by name, those `left` out with reasons, and whether any `failed`. */
export async function runScenario(scenario, all, binaries, options) {
  const { taking, without } = participants(scenario, all, options);
  const atOnce = scenario.kind === 'windows' ? taking.length : 1;
  const most = mostConnections(options, Math.max(1, atOnce));
  const connections = connectionsOf(scenario, most, options);
  const title = scenario.title.replace('{connections}', connections?.toLocaleString('en'));
  const names = taking.map(({ name }) => name);
  const outcome = { ...scenario, title, connections, taking: names, without, peers: {}, failed: false };
  console.log(`\n${scenario.name}: ${title}`);
  const reason =
    obstacle(scenario, options, most) ?? (taking.length ? undefined : 'none of the chosen peers takes part');
  if (reason) {
    console.log(`  not run: ${reason}`);
    return { ...outcome, skipped: reason };
  }
  for (const { name, reason } of without) console.log(`  ${name.padEnd(15)} left out: ${reason}`);
  const run = { windows: interleaved, once: oneByOne, rows: rows[scenario.name] }[scenario.kind];
  const { results, note } = await run(scenario, taking, connections, binaries, options);
  const failed = Object.values(results).some(({ error }) => error !== undefined);
  return { ...outcome, peers: results, note, failed };
}

/** Starts all servers; the peers take turns, one window each, so that noise affects all equally. */
async function interleaved(scenario, peers, connections, binaries, options) {
  const runs = peers.map((peer) => ({ peer, name: peer.name, windows: [] }));
  const seconds = 120 + (options.windows + 1) * peers.length * (options.windowMs / 1000 + 13);
  const begin = (run, args) => {
    const all = [...args, '--step', `--window-ms=${options.windowMs}`, `--warmup-ms=${options.warmUpMs}`];
    run.load = startLoad([...all, ...told(scenario, run.peer)], run.server, Math.ceil(seconds), binaries, options);
    return run.load.next();
  };
  const args = loadArgs(scenario, connections, options);
  await each(runs, async (run) => {
    run.server = await startServer(run.peer, scenario.handler, cores(scenario, run, options), binaries, options);
  });
  let note;
  if (scenario.half) {
    const rate = await halfLoad(scenario, runs, (run) => begin(run, [...args, ...scenario.closed]));
    args.push(`--rate=${rate}`);
    note = `${rate.toLocaleString('en')} messages/s`;
    console.log(`  ${note}`);
  }
  await each(runs, (run) => begin(run, args));
  // the first round only warms up
  await takeTurns(runs, options.windows + 1, (run, window, round) => {
    if (round > 0) run.windows.push(window);
    if (run === runs.at(-1)) process.stdout.write(round === 0 ? '  warm' : ` ${round}`);
  });
  process.stdout.write('\n');
  const results = {};
  for (const run of runs) {
    await run.load?.end();
    const ioUring = usesIoUring(run);
    await run.server?.stop();
    const figures = median(run.windows, scenario.columns[0][0]);
    results[run.name] = { figures, windows: run.windows, error: run.error, ioUring };
    say(scenario, run.name, results[run.name]);
  }
  return { results, note };
}

/** Messages per second: half the closed-loop rate of the slowest reference peer. */
async function halfLoad(scenario, runs, begin) {
  const counting = runs.filter(({ name }) => scenario.half.includes(name));
  const measured = counting.length > 0 ? counting : runs;
  let slowest = Number.POSITIVE_INFINITY;
  for (const run of measured) {
    await guarded(run, async () => {
      await begin(run);
      await oneWindow(run);
      slowest = Math.min(slowest, (await oneWindow(run)).per_second);
      await run.load.end();
    });
  }
  if (!Number.isFinite(slowest)) {
    for (const run of runs) run.error ??= 'no peer could be measured in a closed loop';
    return 0;
  }
  return Math.max(100, Math.round(slowest / 200) * 100);
}

/** Measures one peer after the other, each with its own server. */
async function oneByOne(scenario, peers, connections, binaries, options) {
  const results = {};
  for (const peer of peers) {
    const run = { name: peer.name };
    await guarded(run, async () => {
      const args = [...loadArgs(scenario, connections, options), ...told(scenario, peer)];
      run.server = await startServer(peer, scenario.handler, cores(scenario, run, options), binaries, options);
      run.load = startLoad(args, run.server, 300, binaries, options);
      run.figures = await run.load.next();
      const status = await run.load.end();
      if (status !== 0) throw new Error(run.load.complaint());
    });
    await run.load?.end();
    const ioUring = usesIoUring(run);
    await run.server?.stop();
    results[peer.name] = { figures: run.figures, error: run.error, ioUring };
    say(scenario, peer.name, results[peer.name]);
  }
  return { results };
}

/** Whether Millrace used `io_uring`, as its open rings show; undefined for other servers. */
function usesIoUring({ name, server }) {
  return name.startsWith('millrace') ? server?.usesIoUring() : undefined;
}

/** The generator's arguments for one peer. */
function told(scenario, peer) {
  const tolerated = scenario.tolerates?.includes(peer.name) && !peer.load.includes('--tolerant');
  return tolerated ? [...peer.load, '--tolerant'] : peer.load;
}

/** The cores of a server. */
function cores(scenario, { name }, options) {
  const two = scenario.cores?.includes(name);
  return two ? [options.serverCore, options.secondCore] : [options.serverCore];
}

function say(scenario, peer, { figures, error }) {
  const [field, unit] = scenario.columns[0];
  const figure = figures ? `${figures[field].toFixed(3)} ${unit}` : '';
  const limited = figures?.generator_is_the_limit ? ' (the generator was the limit)' : '';
  console.log(`  ${peer.padEnd(15)} ${figure}${limited}${error ? ` FAILED: ${error}` : ''}`);
}
