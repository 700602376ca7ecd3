#!/usr/bin/env node
// One command for the whole benchmark: builds the load generator, installs the peers, runs every
// scenario with the peers interleaved, checks that nothing was lost, writes tables, plots and JSON.
import { buildLoad, installPeers, linkMillrace } from './runner/build.mjs';
import { descriptorLimit } from './runner/limits.mjs';
import { parse, usage } from './runner/options.mjs';
import { choosePeers } from './runner/peers.mjs';
import { endAll } from './runner/processes.mjs';
import { environment, prepare, write } from './runner/results.mjs';
import { runScenario } from './runner/run-scenario.mjs';
import { needsGenerator, needsPackages, scenarios } from './runner/scenarios.mjs';
import { study } from './runner/study.mjs';

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    endAll();
    process.exit(130);
  });
}
process.once('exit', endAll);

/** Runs what was asked for and returns the exit status. */
async function main() {
  const options = parse(process.argv.slice(2));
  if (options.help) {
    console.log(usage());
    return 0;
  }
  if (process.platform !== 'linux') {
    console.error('The load generator needs epoll: the benchmark runs on Linux only.');
    return 2;
  }
  const chosen = scenarios.filter(({ name }) => options.scenarios.includes(name));
  const generated = needsGenerator(options.scenarios);
  const binaries = generated ? await buildLoad() : {};
  const packages = needsPackages(options.scenarios);
  if (packages) await installPeers();
  else linkMillrace();
  // scenarios without the generator have no cores of their own
  if (!generated) options.pin = false;
  // if all scenarios are rows, do not report other peers
  const rowsOnly = chosen.every(({ kind }) => kind === 'rows') && !options.scenarios.includes('study');
  const handlers = rowsOnly ? chosen.map(({ handler }) => handler) : undefined;
  const { peers, absent } = choosePeers(options, binaries, handlers);
  for (const { name, reason } of absent) console.log(`- ${name}: left out, ${reason}`);
  if (peers.length === 0) {
    console.error('There is no peer to run.');
    return 2;
  }
  console.log(`A process may have ${descriptorLimit()} descriptors.`);
  const about = await environment(peers, absent, options);
  const folder = prepare(options, about);

  const begun = Date.now();
  const minutes = () => ((Date.now() - begun) / 60_000).toFixed(1);
  const outcomes = [];
  for (const [index, scenario] of chosen.entries()) {
    if (late(begun, options)) {
      const skipped = `the time limit of ${options.timeLimit} s was reached`;
      console.log(`\n${scenario.name}: not run, ${skipped}`);
      outcomes.push({ ...scenario, skipped, without: [], peers: {}, failed: false });
      continue;
    }
    console.log(`\n[${index + 1} of ${chosen.length}, ${minutes()} min]`);
    outcomes.push(await runScenario(scenario, peers, binaries, options));
    // keep the results so far, whatever happens next
    write(folder, about, outcomes);
  }
  let found;
  if (options.scenarios.includes('study') && late(begun, options)) {
    const skipped = `the time limit of ${options.timeLimit} s was reached`;
    console.log(`\nstudy: not run, ${skipped}`);
    outcomes.push({ name: 'study', title: 'SHA-256 study', skipped, without: [], peers: {}, failed: false });
  } else if (options.scenarios.includes('study')) {
    console.log(`\n[study, ${minutes()} min]`);
    found = await study({ options, binaries, folder });
  }
  const verdict = write(folder, about, outcomes, found);
  if (verdict.length > 0) console.log(`\n${verdict.join('\n')}`);
  console.log(`\n${minutes()} minutes. Written to ${folder}`);
  return found?.failed || outcomes.some(({ failed }) => failed) ? 1 : 0;
}

function late(begun, options) {
  return Date.now() - begun > options.timeLimit * 1000;
}

process.exitCode = await main().catch((error) => {
  console.error(error.message);
  // servers that still run would keep this process alive
  endAll();
  return 1;
});
