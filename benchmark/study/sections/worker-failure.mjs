// Measures which requests fail, and for how long, when one worker ends or hangs half-way through the medium scenario.
import { setTimeout as sleep } from 'node:timers/promises';
import { failures, loadArgs } from '../measure.mjs';
import { startLoad, startServer } from '../processes.mjs';
import { show, table } from '../tables.mjs';
import { withWorkers, ws, wsCluster } from '../variants.mjs';

const LOAD = { connections: 100, requests: 10_000, limit: 6 };

export const name = 'worker-failure';
export const title = 'Worker failure';

export async function run(context) {
  const data = [];
  const problems = [];
  for (const fault of ['exit', 'hang']) {
    for (const variant of [...withWorkers, ws, wsCluster]) {
      // nothing detects a hanging `ws` process, so this takes the whole timeout
      if (context.options.quick && (variant.threads === 1 || (fault === 'hang' && !variant.ours))) continue;
      const label = `${fault}: ${variant.title}`;
      context.say(label);
      const found = await context.attempt(label, () => once(context, variant, fault));
      if (!found) continue;
      data.push({ ...variant, fault, ...found });
      if (variant.ours) problems.push(...judged(label, variant, found));
    }
  }
  const rows = data.map(({ title, fault, report, after }) => [
    `${title}: ${fault}`,
    report.success_percent.toFixed(2),
    `${report.victim_connections_failed} of ${report.victim_connections}`,
    `${report.other_connections_failed} of ${report.other_connections}`,
    show(report.served_ms),
    show(report.replaced_ms),
    [
      report.probes - report.probes_closed - report.probes_unanswered,
      report.probes_closed,
      report.probes_unanswered,
    ].join(' / '),
    show(report.longest_wait_ms),
    after ? after.activeConnections : 'no answer',
  ]);
  return {
    lines: [
      `${LOAD.connections} connections, ${LOAD.requests.toLocaleString('en')} requests, one in flight. After the half ` +
        'of them one worker is told to exit or to run an endless loop; from then on a new connection is made every 20 ms ' +
        'until a worker answers that was not there before, for at most 8 s.',
      '',
      ...table(
        [
          'server: fault',
          'success %',
          'its connections with failures',
          'connections of other workers with failures',
          'first new connection served after ms',
          'by a replacement after ms',
          'new connections answered / refused or closed / left waiting',
          'longest wait of those answered ms',
          'open at the end by /stats',
        ],
        rows,
      ),
      'Failures by class:',
      '',
      ...data.map(({ title, fault, report }) => {
        const ended = report.endings ? `; connections: ${report.endings}` : '';
        return `- ${title}, ${fault}: ${failures(report) || 'none'}${ended}`;
      }),
      '',
    ],
    data,
    problems,
  };
}

async function once(context, variant, fault) {
  const server = await startServer([...variant.command, '--control'], undefined, context.binaries);
  try {
    const args = [...loadArgs(LOAD), `--fault=${fault}`];
    const generator = startLoad(args, server, undefined, 60, context.binaries);
    const report = await generator.next();
    await generator.end();
    return { report, after: await settled(server) };
  } finally {
    await server.stop('SIGINT');
  }
}

/** The answer of /stats when no connection is left, or after two seconds. Undefined if there is no answer. */
async function settled(server) {
  let last;
  for (const end = Date.now() + 2_000; Date.now() < end; await sleep(50)) {
    try {
      last = (await server.get('/stats')).body;
      if (last.activeConnections === 0) return last;
    } catch {
      return undefined;
    }
  }
  return last;
}

/** Effects that a worker's failure must not have in Millrace. */
function judged(label, variant, { report, after }) {
  const problems = [];
  const complain = (wrong, what) => {
    if (wrong) problems.push(`${label}: ${what}`);
  };
  const lost = report.timeout + report.wrong_reply + report.connect_failed + report.surplus;
  complain(lost > 0, `failures of other classes than a closed connection: ${failures(report)}`);
  complain(report.other_connections_failed > 0, 'connections of other workers had failures');
  complain(!Number.isFinite(report.replaced_ms), 'no replacement served a new connection');
  complain(after?.activeConnections !== 0, `/stats said ${JSON.stringify(after)} after all had closed`);
  complain(Object.keys(after?.perWorker ?? {}).length !== variant.threads, 'there are not as many workers as before');
  return problems;
}
