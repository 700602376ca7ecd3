// One load against several servers, which take turns: a warm-up with a tenth of the requests each, then run after run, so
// that noise affects all equally. A server that is not being measured has no connections.
import { setTimeout as sleep } from 'node:timers/promises';
import { startLoad, startServer } from './processes.mjs';

/** The generator's options for a load. */
export function loadArgs({ connections, requests, inFlight = 1, limit = 60 }) {
  return [`--connections=${connections}`, `--requests=${requests}`, `--in-flight=${inFlight}`, `--limit-s=${limit}`];
}

/**
 * Measures variants under a load. Returns each variant that could be measured, with the reports of its `runs`, the
 * `median` and the `spread` (smallest and largest) of each field, connections per worker, and `problems`: the
 * requirements that it did not meet. `cores` are those of the server and of the generator, if each has its own; with
 * `during`, /stats is read in each run.
 */
export async function measure(context, label, variants, load, options = {}) {
  const { serverArgs = [], runs = context.runs, during = false, cores = [] } = options;
  const peers = variants.map((variant) => ({ variant, runs: [], problems: [] }));
  try {
    for (const peer of peers) {
      await context.attempt(`${label}: start ${peer.variant.title}`, async () => {
        peer.server = await startServer([...peer.variant.command, ...serverArgs], cores[0], context.binaries);
        peer.load = startLoad([...loadArgs(load), '--step'], peer.server, cores[1], 600, context.binaries);
        await peer.load.next();
        peer.check = checker(peer);
        await peer.check('before the connections', 0);
        peer.works = true;
      });
    }
    for (let run = 0; run <= runs; run++) {
      context.say(`${label}: ${run === 0 ? 'warm-up' : `run ${run} of ${runs}`}`);
      for (const peer of peers.filter(({ works }) => works)) {
        const done = await context.attempt(`${label}: ${peer.variant.title}, run ${run}`, () =>
          oneRun(peer, load, { measured: run > 0, during }),
        );
        peer.works = done !== undefined;
      }
    }
    for (const peer of peers.filter(({ works }) => works)) {
      await context.attempt(`${label}: ${peer.variant.title}, end`, async () => {
        await peer.load.end();
        await peer.check('after the connections', 0);
      });
    }
  } finally {
    await Promise.all(peers.map(({ server }) => server?.stop('SIGINT')));
  }
  return peers
    .filter((peer) => peer.runs.length > 0)
    .map(({ variant, runs, problems, perWorker }) => ({ ...variant, runs, problems, perWorker, ...summary(runs) }));
}

async function oneRun(peer, { connections }, { measured, during }) {
  peer.load.step();
  await peer.load.next();
  const stats = await peer.check('with all connections open', connections);
  peer.load.step();
  if (during && measured) await peer.check('during the run', connections);
  const report = await peer.load.next();
  if (measured) {
    peer.runs.push(report);
    peer.perWorker ??= extremes(Object.values(stats.perWorker));
  }
}

/** Compares /stats with the connections that must be open. The server has two seconds to handle closes. */
function checker({ server, problems }) {
  return async (moment, expected) => {
    const deadline = Date.now() + 2_000;
    for (;;) {
      const { status, body } = await server.get('/stats');
      const shown = Object.values(body.perWorker ?? {}).reduce((sum, count) => sum + count, 0);
      if (status === 200 && body.activeConnections === expected && shown === expected) return body;
      if (Date.now() > deadline) {
        problems.push(`/stats ${moment} said ${JSON.stringify(body)}, not ${expected} connections`);
        return body;
      }
      await sleep(20);
    }
  };
}

/** The medians and the extremes of all numbers. */
function summary(runs) {
  const median = {};
  const spread = {};
  for (const [name, first] of Object.entries(runs[0] ?? {})) {
    const column = runs.map((run) => run[name]);
    if (typeof first === 'boolean') median[name] = column.some(Boolean);
    else if (typeof first === 'string') median[name] = [...new Set(column)].join('; ');
    else {
      const sorted = column.filter((value) => typeof value === 'number').sort((a, b) => a - b);
      median[name] = sorted[sorted.length >> 1];
      spread[name] = extremes(sorted);
    }
  }
  return { median, spread };
}

function extremes(values) {
  return [Math.min(...values), Math.max(...values)];
}

/** The classes of failure: their names in reports, and in words. */
const CLASSES = {
  connect_failed: 'connect failed',
  connection_lost: 'connection lost',
  timeout: 'timeout',
  wrong_reply: 'wrong reply',
  never_sent: 'never sent',
};

/** The failures of a run in words; empty if there were none. */
export function failures(run) {
  const classes = Object.entries(CLASSES).filter(([name]) => run[name] > 0);
  const words = classes.map(([name, words]) => `${run[name]} ${words}`);
  if (run.surplus > 0) words.push(`${run.surplus} replies to nothing`);
  return words.join(', ');
}

/** The failures and problems of the variants that must not fail, in all their runs. */
export function complaints(label, results) {
  return results
    .filter(({ ours }) => ours)
    .flatMap(({ title, runs, problems }) =>
      [...runs.map(failures).filter(Boolean), ...problems].map((what) => `${label}: ${title}: ${what}`),
    );
}
