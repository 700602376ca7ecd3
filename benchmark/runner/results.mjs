// Writes the results: results.json with every window, results.md with tables and plots.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { benchmarkFolder, rootFolder, run } from './build.mjs';
import { drawCharts } from './charts.mjs';
import { descriptorLimit } from './limits.mjs';
import { markdown } from './tables.mjs';
import { outcomeOfStudy, readGoals, verdictLines } from './verdict.mjs';

/** Machine, versions, commit and date. */
export async function environment(peers, absent, options) {
  const git = (...args) => run('git', args, rootFolder).then((text) => text.trim());
  const commit = await git('rev-parse', '--short=10', 'HEAD').catch(() => 'unknown');
  // new results do not change the measured code
  const changes = await git('status', '--porcelain', '--', ':!benchmark/results').catch(() => '');
  return {
    date: new Date().toISOString(),
    commit: changes ? `${commit} with changes` : commit,
    machine: {
      cpu: cpus()[0].model.trim(),
      cores: availableParallelism(),
      memoryGiB: Math.round(totalmem() / 2 ** 30),
      // a distribution's suffix of the version is not useful here
      kernel: release().replace(/-.*/, ''),
      descriptorLimit: descriptorLimit(),
    },
    versions: {
      node: process.version,
      rustc: await run('rustc', ['--version'], rootFolder).then((text) => text.split(' ')[1]),
      ...Object.fromEntries(peers.map(({ name, version }) => [name, version])),
    },
    notes: peers.flatMap(({ name, note }) => (note ? [{ name, note }] : [])),
    absent,
    command: ['npm run bench --', ...process.argv.slice(2)].join(' '),
    options,
  };
}

/** The folder of this run, empty of an earlier run's results. */
export function prepare(options, about) {
  const stamp = `${options.quick ? 'quick-' : ''}${about.date.slice(0, 16).replace(/[:T]/g, '-')}-${about.commit.split(' ')[0]}`;
  const folder = options.out ? resolve(options.out) : join(benchmarkFolder, 'results', stamp);
  mkdirSync(folder, { recursive: true });
  for (const name of ['results.json', 'results.md', 'plots'])
    rmSync(join(folder, name), { recursive: true, force: true });
  return folder;
}

/** Writes all files; what the study found comes last. Returns the lines about the goals. */
export function write(folder, about, outcomes, study) {
  const charts = drawCharts(folder, outcomes);
  const scenarios = outcomes.map(({ name, title, connections, note, skipped, without, peers }) => {
    return { name, title, connections, note, skipped, without, peers };
  });
  const everything = { ...about, scenarios, ...(study ? { study: study.json } : {}) };
  const verdict = verdictLines(readGoals(), [...outcomes, ...outcomeOfStudy(study?.json)]);
  const tables = markdown(about, outcomes, charts, verdict) + (study ? `\n${study.markdown}\n` : '');
  writeFileSync(join(folder, 'results.json'), withoutRoot(`${compact(everything)}\n`));
  writeFileSync(join(folder, 'results.md'), withoutRoot(tables));
  return verdict;
}

/** Results are committed, so paths are relative to the root of the clone. */
export function withoutRoot(text) {
  return text.replaceAll(join(rootFolder, '/'), '');
}

/** JSON in which an object or list that holds no other stands on one line. */
function compact(value, indent = '') {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  const flat = entries.every(([, inner]) => inner === null || typeof inner !== 'object');
  const deeper = flat ? '' : `${indent}  `;
  const parts = entries.map(([key, inner]) => {
    const name = Array.isArray(value) ? '' : `${JSON.stringify(key)}: `;
    return `${deeper}${name}${compact(inner, deeper)}`;
  });
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return flat ? `${open}${parts.join(', ')}${close}` : `${open}\n${parts.join(',\n')}\n${indent}${close}`;
}
