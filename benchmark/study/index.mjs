#!/usr/bin/env node
// The SHA-256 study: compares a WebSocket server in one process with a cluster of processes and with worker threads. Part
// of `npm run bench` (scenario `study`), and runnable alone: `node benchmark/study/index.mjs --help`.
import { mkdirSync, writeFileSync } from 'node:fs';
import { arch, cpus, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { benchmarkFolder, buildLoad, rootFolder, run } from '../runner/build.mjs';
import { endAll } from './processes.mjs';
import * as cpuBound from './sections/cpu-bound.mjs';
import * as debugLog from './sections/debug-log.mjs';
import * as oneCore from './sections/one-core.mjs';
import * as overload from './sections/overload.mjs';
import * as scenarios from './sections/scenarios.mjs';
import * as stats from './sections/stats.mjs';
import * as sweep from './sections/sweep.mjs';
import * as workerFailure from './sections/worker-failure.mjs';
import { cores } from './variants.mjs';

/** In the order in which they run, the most important first. */
const SECTIONS = [oneCore, scenarios, overload, workerFailure, stats, sweep, cpuBound, debugLog];
export const sectionNames = SECTIONS.map(({ name }) => name);

/** Seconds after which no new section begins. */
const TIME_LIMIT = { full: 720, quick: 120 };

/**
 * Runs the study. Options: `quick`; `sections`, a list of names; `extreme` and `soak`, more loads; `timeLimitStudy` in
 * seconds; `pin`, `serverCore`, `loadCore` for the section on one core. Plots go to `folder`. `failed` when Millrace
 * failed a request that it must not fail, or a check failed.
 */
export async function runStudy({ options, binaries, folder }) {
  const begun = Date.now();
  const limit = options.timeLimitStudy ?? (options.quick ? TIME_LIMIT.quick : TIME_LIMIT.full);
  const problems = [];
  const skipped = [];
  const context = {
    options,
    binaries,
    folder,
    runs: options.quick ? 1 : 3,
    /** Shows progress. */
    say(what) {
      console.log(`  ${((Date.now() - begun) / 1000).toFixed(0).padStart(4)} s  ${what}`);
    },
    /** Runs one step. Undefined if the time is over or the step failed, which the results list. */
    async attempt(label, action) {
      if (Date.now() - begun > limit * 1000) {
        skipped.push(label);
        return undefined;
      }
      try {
        return (await action()) ?? true;
      } catch (error) {
        problems.push(`${label}: ${error.message}`);
        return undefined;
      }
    },
  };
  mkdirSync(folder, { recursive: true });
  const lines = ['## SHA-256 study', '', ...introduction(context), ''];
  const json = {};
  for (const section of SECTIONS.filter(({ name }) => (options.sections ?? sectionNames).includes(name))) {
    console.log(`study: ${section.title}`);
    const outcome = await section.run(context);
    problems.push(...outcome.problems);
    json[section.name] = outcome.data.map?.(plain) ?? outcome.data;
    lines.push(`## Study: ${section.title}`, '', ...outcome.lines);
  }
  lines.push('## Study: verdict', '');
  if (problems.length === 0) lines.push('Everything that Millrace must answer was answered, all checks are right.');
  else lines.push(...problems.map((problem) => `- **${problem}**`));
  if (skipped.length > 0) {
    lines.push('', `Not run, because the time limit of ${limit} s was reached: ${skipped.join('; ')}.`);
    console.log(`  ${skipped.length} steps not run, the time limit of ${limit} s was reached`);
  }
  for (const problem of problems) console.log(`  WRONG: ${problem}`);
  const seconds = Math.round((Date.now() - begun) / 1000);
  return {
    markdown: `${lines.join('\n')}\n`,
    json: { seconds, problems, skipped, sections: json },
    failed: problems.length > 0,
  };
}

function introduction({ runs }) {
  return [
    'Each request is a text of 32 bytes, each reply the SHA-256 of exactly that request, computed in JavaScript by ' +
      '`crypto.createHash`. Every planned request is counted: as a success when the right reply comes in order within 5 s, ' +
      'otherwise by the class of its failure. Response times are those of successes; where requests failed, a second row ' +
      'counts each failure as 5 s. One warm-up with a tenth of the requests, then ' +
      `${runs === 1 ? 'one run' : `${runs} runs`}, the servers taking turns: the median, in brackets the extremes. Log level ` +
      `info. Servers and generator share the ${cores} cores, except on one core; the servers are niced by 5 so that the generator, one ` +
      'thread, measures when a reply arrives and not when it gets a core. RSS is the sum over the processes.',
  ];
}

/** A variant for the results, without its command. */
function plain({ command, ...rest }) {
  return rest;
}

const definition = {
  quick: { type: 'boolean', default: false },
  section: { type: 'string', multiple: true },
  extreme: { type: 'boolean', default: false },
  soak: { type: 'boolean', default: false },
  'time-limit-s': { type: 'string' },
  'server-core': { type: 'string', default: '0' },
  'load-core': { type: 'string', default: '1' },
  'no-pin': { type: 'boolean', default: false },
  load: { type: 'string' },
  out: { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
};

const usage = `node benchmark/study/index.mjs [options]

  --quick           a check that everything works, not a measurement; two minutes at most
  --section X       only these (repeat, or separate with commas): ${sectionNames.join(' ')}
  --extreme         1,000 connections, 1,000,000 requests too
  --soak            10,000 connections, 1,000,000 requests too
  --time-limit-s N  begin nothing after this (720; quick: 120)
  --server-core N   the core of the servers in the section one-core (0)
  --load-core N     the core of the generator there (1)
  --no-pin          leave both where the system puts them
  --load PATH       the generator, when it is built already
  --out DIR         where study.md, study.json and the plots go (benchmark/results/study-<date>)`;

async function main() {
  const { values } = parseArgs({ options: definition });
  if (values.help) return console.log(usage);
  const sections = values.section?.flatMap((list) => list.split(','));
  const unknown = sections?.find((name) => !sectionNames.includes(name));
  if (unknown !== undefined) throw new Error(`--section ${unknown} is unknown; there are: ${sectionNames.join(' ')}`);
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => {
      endAll();
      process.exit(130);
    });
  }
  const date = new Date().toISOString();
  const stamp = date.slice(0, 16).replace(/[:T]/g, '-');
  const folder = values.out ?? join(benchmarkFolder, 'results', `${values.quick ? 'quick-' : ''}study-${stamp}`);
  const options = {
    quick: values.quick,
    sections,
    extreme: values.extreme,
    soak: values.soak,
    pin: !values['no-pin'],
    serverCore: Number(values['server-core']),
    loadCore: Number(values['load-core']),
    ...(values['time-limit-s'] && { timeLimitStudy: Number(values['time-limit-s']) }),
  };
  const binaries = values.load ? { load: values.load } : await buildLoad();
  const { markdown, json, failed } = await runStudy({ options, binaries, folder });
  const about = await machine(date);
  writeFileSync(join(folder, 'study.md'), `# The SHA-256 study\n\n${about.join('\n\n')}\n\n${markdown}`);
  writeFileSync(join(folder, 'study.json'), `${JSON.stringify({ date, about, ...json }, undefined, 2)}\n`);
  console.log(`Written to ${folder}`);
  process.exitCode = failed ? 1 : 0;
}

async function machine(date) {
  const git = (...args) => run('git', args, rootFolder).then((text) => text.trim());
  const commit = await git('rev-parse', '--short=10', 'HEAD').catch(() => 'unknown');
  const changes = await git('status', '--porcelain').catch(() => '');
  return [
    `${date}, commit ${commit}${changes ? ' with changes' : ''}: \`node benchmark/study/index.mjs ${process.argv.slice(2).join(' ')}\``,
    `${cpus()[0].model.trim()}, ${cores} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()} ${arch()}, Node ${process.version}.`,
  ];
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await main().catch((error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
}
