// The text of results.md: machine, overview, one section per scenario.
import { show, table } from './cells.mjs';
import { rowsDetails as histories } from './histories-table.mjs';
import { rowsDetails as qjs } from './qjs-table.mjs';
import { rowsDetails as sockety } from './sockety-table.mjs';
import { rowsDetails as splice } from './splice-table.mjs';
import { rowsDetails as threads } from './threads-table.mjs';

/** The lines of a scenario of rows, below its title. */
const rowsDetails = { sockety, splice, qjs, threads, histories };

/** The whole page; `verdict` has the lines about the goals. */
export function markdown(about, outcomes, charts, verdict = []) {
  const { machine, options } = about;
  const { versions, notes } = ofTaking(about, outcomes);
  const lines = [
    '# Benchmark results',
    '',
    `${about.date}, commit ${about.commit}: \`${about.command}\``,
    '',
    `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, Linux ${machine.kernel}, ` +
      `${machine.descriptorLimit} descriptors per process. ` +
      Object.entries(versions)
        .map(([name, version]) => `${name} ${version}`)
        .join(', '),
    '',
    options.pin
      ? `Server on core ${options.serverCore}, generator on core ${options.loadCore}; ` +
        `where the server has two cores, the other is core ${options.secondCore}` +
        `${options.secondCore === options.loadCore ? ', which it shares with the generator' : ''}.`
      : 'Server and generator not pinned.',
    '',
    ...notes.map(({ name, note }) => `- \`${name}\`: ${note}.`),
    ...about.absent.map(({ name, reason }) => `- \`${name}\`: left out, ${reason}.`),
    '',
  ];
  lines.push(...ioUring(outcomes));
  if (options.quick) lines.push('A quick run: a check that everything works, not a measurement.', '');
  lines.push(...overview(outcomes));
  if (verdict.length > 0) lines.push('## Goals', '', ...verdict);
  for (const outcome of outcomes) lines.push(...details(outcome, charts[outcome.name] ?? []));
  return `${lines.join('\n').replace(/\n{3,}/g, '\n\n')}\n`;
}

/** The versions and notes without those of peers that were chosen and took part in nothing. */
function ofTaking({ versions, notes }, outcomes) {
  const taking = new Set(TOOLS);
  for (const { peers = {}, taking: names = [], skipped } of outcomes) {
    if (skipped === undefined) for (const name of [...Object.keys(peers), ...names]) taking.add(name);
  }
  return {
    versions: Object.fromEntries(Object.entries(versions).filter(([name]) => taking.has(name))),
    notes: notes.filter(({ name }) => taking.has(name)),
  };
}

/** What else has a version. */
const TOOLS = ['node', 'rustc'];

/** In which scenarios Millrace's servers had a ring. They make one when several connections have something to write. */
function ioUring(outcomes) {
  const used = {};
  for (const { name, peers } of outcomes) {
    for (const [peer, { ioUring }] of Object.entries(peers)) {
      if (ioUring === undefined) continue;
      used[peer] ??= { yes: [], no: [] };
      used[peer][ioUring ? 'yes' : 'no'].push(name);
    }
  }
  const lines = Object.entries(used).map(([peer, { yes, no }]) => {
    if (yes.length === 0) return `- \`${peer}\` did not use io_uring.`;
    return `- \`${peer}\` used io_uring${no.length > 0 ? ` except in ${no.join(', ')}` : ''}.`;
  });
  return lines.length > 0 ? [...lines, ''] : [];
}

/** One line per figure: each peer's value, and Millrace's ratio to Bun and to the bare epoll loop. */
function overview(outcomes) {
  const shown = outcomes.filter(({ skipped, kind }) => skipped === undefined && kind !== 'rows');
  const peers = [...new Set(shown.flatMap((outcome) => Object.keys(outcome.peers)))];
  const rows = shown.flatMap(({ title, columns, figures, half, peers: results }) => {
    const counting = half ? [columns[0]] : (figures ?? [columns[0]]);
    return counting.map(([field, unit]) => {
      const figure = (peer) => (results[peer]?.error ? undefined : results[peer]?.figures?.[field]);
      const ratio = (other) => figure('millrace') / figure(other);
      return [
        `${title}: ${unit}`,
        ...peers.map((peer) => (results[peer]?.error ? 'failed' : show(figure(peer)))),
        show(ratio('bun')),
        show(ratio('epoll')),
      ];
    });
  });
  return rows.length ? table(['scenario', ...peers, 'millrace / bun', 'millrace / epoll'], rows) : [];
}

function details(outcome, charts) {
  const { name, title, columns, peers, skipped, without, note } = outcome;
  const lines = [`## ${name}`, '', `${title}${note ? `: ${note}` : ''}.`, ''];
  if (skipped) return [...lines, `Not run: ${skipped}.`, ''];
  if (outcome.kind === 'rows') return [...lines, ...rowsDetails[name](outcome)];
  const results = Object.entries(peers);
  const failures = results.some(([, { error }]) => error);
  const rows = results.map(([peer, { figures, error }]) => [
    peer + (figures?.generator_is_the_limit ? ' *' : ''),
    ...columns.map(([field]) => show(figures?.[field])),
    ...(figures?.spread_percent === undefined ? [''] : [`${show(figures.spread_percent)} %`]),
    ...(failures ? [error?.replaceAll('\n', ' ').replaceAll('|', '\\|') ?? ''] : []),
  ]);
  const head = ['peer', ...columns.map(([, heading]) => heading), 'spread', ...(failures ? ['failure'] : [])];
  lines.push(...charts.map((path) => `![${title}](${path})`), '', ...table(head, rows));
  lines.push(...scaling(outcome));
  if (results.some(([, { figures }]) => figures?.generator_is_the_limit)) {
    lines.push('\\* The generator was the limit.', '');
  }
  if (peers['ws-cluster']?.figures?.other_orders > 0) {
    const count = peers['ws-cluster'].figures.other_orders;
    lines.push(
      `\`ws-cluster\`: ${count} members saw their group's messages in another order than the group's first.`,
      '',
    );
  }
  lines.push(...without.map(({ name, reason }) => `\`${name}\` is left out: ${reason}.`), '');
  return lines;
}

/** The figures with two cores in relation to those with one. */
function scaling({ compare, peers }) {
  const lines = [];
  for (const [two, one] of Object.entries(compare ?? {})) {
    const [a, b] = [peers[two]?.figures, peers[one]?.figures];
    if (!a || !b) continue;
    const times = (field) => show(a[field] / b[field]);
    lines.push(
      `- \`${two}\` on two cores against \`${one}\` on one: ${times('cpu_us')} times the CPU per unit, ` +
        `${times('per_second')} times the throughput.`,
    );
  }
  return lines.length ? [...lines, ''] : lines;
}
