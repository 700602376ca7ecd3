#!/usr/bin/env node
// One command for the whole benchmark: builds the load generator, installs the peers, runs every
// scenario with the peers interleaved, checks that nothing was lost, writes tables and JSON.
import { buildLoad, installPeers } from './runner/build.mjs';
import { parse, usage } from './runner/options.mjs';
import { choosePeers } from './runner/peers.mjs';
import { endAll } from './runner/processes.mjs';
import { environment, write } from './runner/results.mjs';
import { runScenario } from './runner/run-scenario.mjs';
import { scenarios } from './runner/scenarios.mjs';

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
  const binaries = await buildLoad();
  await installPeers();
  const { peers, absent } = choosePeers(options, binaries);
  for (const { name, reason } of absent) console.log(`- ${name}: left out, ${reason}`);
  if (peers.length === 0) {
    console.error('There is no peer to run.');
    return 2;
  }

  const begun = Date.now();
  const outcomes = [];
  for (const scenario of scenarios.filter(({ name }) => options.scenarios.includes(name))) {
    const left = options.timeLimit - (Date.now() - begun) / 1000;
    if (left <= 0) {
      console.log(`- ${scenario.name}: not run, the time limit of ${options.timeLimit} s is reached`);
      continue;
    }
    console.log(`\n${scenario.name}: ${scenario.title}`);
    outcomes.push(await runScenario(scenario, peers, binaries, options));
  }
  const folder = write(options, await environment(peers, options), outcomes);
  console.log(`\nWritten to ${folder}`);
  return outcomes.some(({ failed }) => failed) ? 1 : 0;
}

process.exitCode = await main().catch((error) => {
  console.error(error.message);
  return 1;
});
