// Writes what was found: results.json with every window, results.md with the tables.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { benchmarkFolder, rootFolder, run } from './build.mjs';

/** Machine, versions, commit and date. */
export async function environment(peers, options) {
  const git = (...args) => run('git', args, rootFolder).then((text) => text.trim());
  const commit = await git('rev-parse', '--short=10', 'HEAD').catch(() => 'unknown');
  const changes = await git('status', '--porcelain').catch(() => '');
  const limits = readFileSync('/proc/self/limits', 'utf8');
  return {
    date: new Date().toISOString(),
    commit: changes ? `${commit} with changes` : commit,
    machine: {
      cpu: cpus()[0].model.trim(),
      cores: availableParallelism(),
      memoryGiB: Math.round(totalmem() / 2 ** 30),
      kernel: release(),
      descriptorLimit: Number(/^Max open files\s+\d+\s+(\d+)/m.exec(limits)?.[1]),
    },
    versions: {
      node: process.version,
      rustc: await run('rustc', ['--version'], rootFolder).then((text) => text.trim()),
      ...Object.fromEntries(peers.map(({ name, version }) => [name, version])),
    },
    command: ['npm run bench --', ...process.argv.slice(2)].join(' '),
    options,
  };
}

/** Writes both files and returns their folder. */
export function write(options, about, outcomes) {
  const stamp = `${options.quick ? 'quick-' : ''}${about.date.slice(0, 16).replace(/[:T]/g, '-')}-${about.commit.split(' ')[0]}`;
  const folder = options.out ?? join(benchmarkFolder, 'results', stamp);
  mkdirSync(folder, { recursive: true });
  const scenarios = outcomes.map(({ name, title, peers }) => ({ name, title, peers }));
  writeFileSync(join(folder, 'results.json'), `${JSON.stringify({ ...about, scenarios }, undefined, 2)}\n`);
  writeFileSync(join(folder, 'results.md'), markdown(about, outcomes));
  return folder;
}

function markdown(about, outcomes) {
  const { machine, versions } = about;
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
    about.options.pin
      ? `Server on core ${about.options.serverCore}, generator on core ${about.options.loadCore}.`
      : 'Server and generator not pinned.',
    '',
  ];
  if (about.options.quick) lines.push('A quick run: a check that everything works, not a measurement.', '');
  lines.push(...overview(outcomes));
  for (const outcome of outcomes) lines.push(...details(outcome));
  return `${lines.join('\n')}\n`;
}

/** One line per scenario: each peer's figure and Millrace's ratio to Bun and to the floor. */
function overview(outcomes) {
  const peers = [...new Set(outcomes.flatMap((outcome) => Object.keys(outcome.peers)))];
  const rows = outcomes.map(({ title, columns, peers: results }) => {
    const [field, unit] = columns[0];
    const figure = (peer) => (results[peer]?.error ? undefined : results[peer]?.figures?.[field]);
    const ratio = (other) => figure('millrace') / figure(other);
    return [
      `${title}: ${unit}`,
      ...peers.map((peer) => (results[peer]?.error ? 'failed' : show(figure(peer)))),
      show(ratio('bun')),
      show(ratio('floor')),
    ];
  });
  return table(['scenario', ...peers, 'millrace / bun', 'millrace / floor'], rows);
}

function details({ name, title, columns, peers }) {
  const rows = Object.entries(peers).map(([peer, { figures, error }]) => [
    peer + (figures?.generator_is_the_limit ? ' *' : ''),
    ...columns.map(([field]) => (error && !figures ? '' : show(figures?.[field]))),
    error ?? '',
  ]);
  const limited = Object.values(peers).some(({ figures }) => figures?.generator_is_the_limit);
  return [
    `## ${name}`,
    '',
    `${title}.`,
    '',
    ...table(['peer', ...columns.map(([, heading]) => heading), 'failure'], rows),
    ...(limited ? ['\\* the generator was the limit', ''] : []),
  ];
}

function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(line), ''];
}

function show(value) {
  if (typeof value !== 'number' || !Number.isFinite(value)) return '';
  if (Number.isInteger(value)) return String(value);
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
