// `npm test`: sets up what is missing, then every check in order, and stops at the first that fails. At the end it
// lists what was skipped, and why. Arguments select steps or groups: `npm test -- rust`, `npm test -- clippy ava`.
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';

import { checkCommitSubjects } from './commit-subjects.mjs';
import { checkInstructions } from './instructions.mjs';
import { lintPackages } from './lint-packages.mjs';
import { checkLockfile } from './lockfile.mjs';
import { reasonToSkip, toolPath } from './optional-tools.mjs';
import { Failure, fail, ROOT, run, tool } from './process.mjs';
import { setUp } from './setup.mjs';
import { SkipFile, told } from './skips.mjs';

/** In CI a stale Cargo.lock is an error; on a developer's machine cargo brings it up to date. */
const LOCKED = process.env.CI ? ['--locked'] : [];

/** The load generator of the benchmark runs on Linux only. */
const LEFT_OUT = process.platform === 'linux' ? [] : ['--exclude', 'millrace-load'];

/** Why tests were skipped. */
const skips = new SkipFile();

/** All steps in order. A step returns a text if it was skipped, and throws if it failed. */
const STEPS = [
  { name: 'setup', groups: ['lint', 'rust', 'js'], run: () => setUp() },
  { name: 'format', groups: ['lint', 'rust'], run: () => run(['cargo', 'fmt', '--all', '--check']) },
  { name: 'clippy', groups: ['lint', 'rust'], run: clippy },
  { name: 'tidy', groups: ['lint', 'rust'], run: () => run(['cargo', 'xtask', 'tidy']) },
  { name: 'cargo-test', groups: ['rust'], run: cargoTest },
  { name: 'loom', groups: ['rust'], run: loom },
  { name: 'instructions', groups: ['rust'], run: checkInstructions },
  { name: 'biome', groups: ['lint', 'js'], run: biome },
  { name: 'types', groups: ['lint', 'js'], run: () => run([...tool('typescript', 'tsc'), '--noEmit']) },
  { name: 'lockfile', groups: ['lint', 'js'], run: checkLockfile },
  { name: 'commits', groups: ['lint'], run: () => checkCommitSubjects() },
  { name: 'workflows', groups: ['lint'], run: workflows },
  { name: 'deny', groups: ['lint', 'rust'], run: deny },
  { name: 'package', groups: ['js'], run: () => lintPackages() },
  { name: 'ava', groups: ['js'], run: ava },
];

function clippy() {
  const benches = ['--features', 'millrace-gateway/bench'];
  const crates = ['--workspace', ...LEFT_OUT, '--all-targets', ...benches];
  return run(['cargo', 'clippy', ...crates, ...LOCKED, '--', '-D', 'warnings']);
}

/** Many tests wait for servers and timers, so that fewer than four at once leave a small machine idle. */
function cargoTest() {
  const env = availableParallelism() < 4 ? { RUST_TEST_THREADS: '4', ...process.env } : {};
  return run(['cargo', 'test', '--workspace', ...LEFT_OUT, ...LOCKED], { env });
}

function biome() {
  const colors = process.stdout.isTTY ? [] : ['--colors=off'];
  return run([...tool('@biomejs/biome', 'biome'), 'check', '--error-on-warnings', ...colors]);
}

/**
 * The loom models of our locks and atomics. The flag affects every crate, so they have their own target folders. The
 * models of the gateway and the addon are unit tests behind our own flag, because `--cfg loom` would remove the network
 * from tokio.
 */
async function loom() {
  const tests = loomTests();
  if (tests.length === 0) throw new Failure('no crates/*/tests/loom_*.rs was found, and there must be some');
  const env = loomEnvironment('loom');
  for (const { crate, names } of tests) {
    const chosen = names.flatMap((name) => ['--test', name]);
    await run(['cargo', 'test', ...LOOM_OPTIMISED, '--package', crate, ...LOCKED, ...chosen], { env });
  }
  const packages = ['--package', 'millrace-gateway', '--package', 'millrace-node'];
  const units = [...packages, '--lib', ...LOCKED, 'loom_tests'];
  await run(['cargo', 'test', ...LOOM_OPTIMISED, ...units], { env: loomEnvironment('millrace_loom') });
}

/** Optimise only the code that runs the models: optimising all dependencies takes minutes and saves seconds. */
const LOOM_OPTIMISED = ['--config', 'profile.dev.package.loom.opt-level=2'];

function loomEnvironment(flag) {
  return {
    RUSTFLAGS: `${process.env.RUSTFLAGS ?? ''} --cfg ${flag}`.trim(),
    CARGO_TARGET_DIR: path.join(process.env.CARGO_TARGET_DIR ?? path.join(ROOT, 'target'), flag),
    CARGO_PROFILE_DEV_DEBUG: '0',
    CARGO_PROFILE_TEST_DEBUG: '0',
    LOOM_MAX_PREEMPTIONS: process.env.LOOM_MAX_PREEMPTIONS ?? '3',
  };
}

/** @returns {{crate: string, names: string[]}[]} */
function loomTests() {
  return readdirSync(path.join(ROOT, 'crates')).flatMap((folder) => {
    const names = loomFiles(path.join(ROOT, 'crates', folder, 'tests'));
    if (names.length === 0) return [];
    const manifest = readFileSync(path.join(ROOT, 'crates', folder, 'Cargo.toml'), 'utf8');
    return [{ crate: /^name = "(.+)"$/m.exec(manifest)[1], names }];
  });
}

function loomFiles(folder) {
  try {
    const files = readdirSync(folder).filter((file) => /^loom_\w+\.rs$/.test(file));
    return files.map((file) => file.slice(0, -'.rs'.length)).sort();
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
}

/** Licences, bans and sources of the crates. */
async function deny() {
  const missing = reasonToSkip('cargo-deny');
  if (missing !== undefined) return missing;
  return run(['cargo', 'deny', '--log-level', 'error', 'check', 'bans', 'licenses', 'sources']);
}

/** The workflow files. */
async function workflows() {
  const missing = reasonToSkip('actionlint');
  if (missing !== undefined) return missing;
  return run([toolPath('actionlint'), '-no-color']);
}

function ava() {
  return run(tool('ava'), { env: skips.environment });
}

/** @param {string[]} names steps or groups; none is everything */
function choose(names) {
  for (const name of names) {
    if (!STEPS.some((step) => step.name === name || step.groups.includes(name))) {
      const known = [...new Set(STEPS.flatMap((step) => step.groups)), ...STEPS.map((step) => step.name)];
      throw new Failure(`unknown step ${name}; there are ${known.join(', ')}`);
    }
  }
  if (names.length === 0) return STEPS;
  return STEPS.filter((step) => names.includes(step.name) || step.groups.some((group) => names.includes(group)));
}

async function test() {
  const steps = choose(process.argv.slice(2));
  const report = [];
  const skippedSteps = [];
  for (const [index, step] of steps.entries()) {
    console.log(`\n=== ${index + 1}/${steps.length} ${step.name} ===`);
    const began = performance.now();
    const outcome = await step.run().then(
      (skipped) => (typeof skipped === 'string' ? { text: 'skipped', reason: skipped } : { text: 'ok' }),
      (error) => ({ text: 'FAILED', error }),
    );
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    report.push(`${step.name.padEnd(12)}${seconds.padStart(7)} s  ${outcome.text}`);
    console.log(`--- ${step.name}: ${[outcome.text, outcome.reason].filter(Boolean).join(': ')} (${seconds} s)`);
    if (outcome.reason !== undefined) skippedSteps.push({ where: `step ${step.name}`, reason: outcome.reason });
    if (outcome.error !== undefined) {
      console.error(`\n${report.join('\n')}`);
      throw outcome.error;
    }
  }
  const skipped = told([...skippedSteps, ...skips.read()]);
  if (skipped.length > 0) report.push('\nSkipped:', ...skipped.map((line) => `  ${line}`));
  console.log(`\n${report.join('\n')}`);
}

process.once('exit', () => skips.remove());
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    skips.remove();
    process.kill(process.pid, signal);
  });
}
await test().catch(fail);
