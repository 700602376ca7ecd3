// One server, one load: a warm-up with a tenth of the requests, then the measured runs, each with its own connections.
import { setTimeout as sleep } from 'node:timers/promises';
import { startLoad, startServer } from './processes.mjs';

/** The generator's options for a load. */
export function loadArgs({ connections, requests, inFlight = 1, limit = 60 }) {
  return [`--connections=${connections}`, `--requests=${requests}`, `--in-flight=${inFlight}`, `--limit-s=${limit}`];
}

/**
 * Measures a variant under a load. `{ runs, median, spread, perWorker, problems }`: every run as reported, field by
 * field the median and the smallest and largest, connections per worker, and what was not as it must be.
 */
export async function measure(context, variant, load, { serverArgs = [], runs = context.runs, during = false } = {}) {
  const server = await startServer([...variant.command, ...serverArgs], undefined, context.binaries);
  try {
    const found = { runs: [], problems: [] };
    const check = checker(server, found);
    await check('before the connections', 0);
    const generator = startLoad([...loadArgs(load), '--step'], server, undefined, 300, context.binaries);
    await generator.next();
    for (let run = 0; run <= runs; run++) {
      generator.step();
      await generator.next();
      const stats = await check('with all connections open', load.connections);
      generator.step();
      if (during && run > 0) await check('during the run', load.connections);
      const report = await generator.next();
      if (run === 0) continue;
      found.runs.push(report);
      found.perWorker ??= extremes(Object.values(stats.perWorker));
    }
    await generator.end();
    await check('after the connections', 0);
    return { ...found, ...summary(found.runs) };
  } finally {
    await server.stop('SIGINT');
  }
}

/** Compares /stats with the connections that must be open. A close takes the server a moment: up to two seconds. */
function checker(server, found) {
  return async (moment, expected) => {
    const patience = Date.now() + 2_000;
    for (;;) {
      const { status, body } = await server.get('/stats');
      const shown = Object.values(body.perWorker ?? {}).reduce((sum, count) => sum + count, 0);
      if (status === 200 && body.activeConnections === expected && shown === expected) return body;
      if (Date.now() > patience) {
        found.problems.push(`/stats ${moment} said ${JSON.stringify(body)}, not ${expected} connections`);
        return body;
      }
      await sleep(20);
    }
  };
}

/** The medians and the extremes of all numbers. */
export function summary(runs) {
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

/** The classes of failure, as the generator names them, and in words. */
const CLASSES = {
  connect_failed: 'connect failed',
  connection_lost: 'connection lost',
  timeout: 'timeout',
  wrong_reply: 'wrong reply',
  never_sent: 'never sent',
};

/** The failures of a run in words; empty when there were none. */
export function failures(run) {
  const classes = Object.entries(CLASSES).filter(([name]) => run[name] > 0);
  const words = classes.map(([name, words]) => `${run[name]} ${words}`);
  if (run.surplus > 0) words.push(`${run.surplus} replies to nothing`);
  return words.join(', ');
}

/** What a variant that must not fail did wrong, over all its runs. */
export function complaints(label, { runs, problems }) {
  const failed = runs.map(failures).filter(Boolean);
  return [...failed, ...problems].map((what) => `${label}: ${what}`);
}
