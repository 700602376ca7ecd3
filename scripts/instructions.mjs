// Counts the instructions of the hot paths, which do not depend on the machine's load, and compares them with the
// committed figures; benchmark/instructions/README.md explains how. `--bless` rewrites the figures, `--profile` writes
// a profile of each case; names or prefixes select cases.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { reasonToSkip, toolPath, whatIsMissing } from './optional-tools.mjs';
import { Failure, fail, ROOT } from './process.mjs';

const FIGURES = 'benchmark/instructions/figures.json';

/** How far a case may rise above its figure, in percent. */
const TOLERANCE = 5;

/** The same if compiler, C library or valgrind differ from those of the figures: only gross regressions are found. */
const TOLERANCE_ABROAD = 50;

/** The longer run of a case does this many times the work of the shorter one. */
const LONGER = 4;

/**
 * The step of `npm test`.
 *
 * @returns {Promise<string | undefined>} why nothing was compared
 * @throws {Failure} that names the cases which cost more than they did
 */
export async function checkInstructions() {
  if (process.platform !== 'linux') return LINUX_ONLY;
  const missing = reasonToSkip(...TOOLS);
  if (missing !== undefined) return missing;
  const { toolchain, figures } = JSON.parse(readFileSync(path.join(ROOT, FIGURES), 'utf8'));
  const here = currentToolchain();
  const { incomparable, others, tolerance } = against(toolchain, here);
  if (incomparable !== undefined) return incomparable;
  const counts = await countAll(await build(), []);
  for (const key of others) {
    const [theirs, ours] = [toolchain[key], here[key]].map((value) => JSON.stringify(value));
    console.log(`The figures were made with ${key} ${theirs}, this is ${ours}: up to ${tolerance} % more is let pass.`);
  }
  judge(figures, counts, tolerance);
  judgeRatios(counts);
  return undefined;
}

/**
 * How to compare counts made with one set of tools with figures made with another: why that is impossible, or which
 * tools differ and what deviation is allowed, in percent.
 *
 * @param {Record<string, unknown>} theirs
 * @param {Record<string, unknown>} ours
 * @returns {{incomparable?: string, others?: string[], tolerance?: number}}
 */
export function against(theirs, ours) {
  if (ours.target !== theirs.target) {
    return { incomparable: `the instructions are known for ${theirs.target}, this is ${ours.target}` };
  }
  const others = Object.keys(theirs).filter((key) => ours[key] !== theirs[key]);
  return { others, tolerance: others.length === 0 ? TOLERANCE : TOLERANCE_ABROAD };
}

/**
 * @param {Record<string, number>} figures
 * @param {Record<string, number>} counts
 * @param {number} tolerance in percent
 * @throws {Failure}
 */
export function judge(figures, counts, tolerance) {
  const problems = [];
  const better = [];
  for (const [name, after] of Object.entries(counts)) {
    const before = figures[name];
    if (before === undefined) {
      problems.push(`${name} has no figure yet, now ${after}`);
      continue;
    }
    const percent = (after / before - 1) * 100;
    const line = `${name}: ${before} before, ${after} now, ${percent > 0 ? '+' : ''}${percent.toFixed(1)} %`;
    if (after * 100 > before * (100 + tolerance)) problems.push(line);
    else if (percent < -tolerance) better.push(line);
  }
  for (const name of Object.keys(figures)) {
    if (counts[name] === undefined) problems.push(`${name} has a figure, but there is no such case`);
  }
  if (better.length > 0) {
    console.log(`Fewer instructions than the figures say; keep that by ${BLESS}:\n  ${better.join('\n  ')}`);
  }
  if (problems.length > 0) {
    const reason = `Instructions per operation; at most ${tolerance} % more is let pass:`;
    throw new Failure(
      `${reason}\n  ${problems.join('\n  ')}\nIf that is meant, say why in the commit and run ${BLESS}.`,
    );
  }
}

/** Cases, others that they are compared with in the same run, and how much more they may cost. */
const RATIOS = [
  ['server/publish-to-200-kept', 'server/publish-to-200', 1.15],
  ['server/v1-publish-to-200-kept', 'server/v1-publish-to-200', 1.15],
];

/**
 * What a channel with history costs, against one without.
 *
 * @param {Record<string, number>} counts
 * @throws {Failure}
 */
export function judgeRatios(counts) {
  const problems = RATIOS.flatMap(([name, other, most]) => {
    const ratio = counts[name] / counts[other];
    return ratio <= most ? [] : [`${name}: ${ratio.toFixed(3)} of ${other}, at most ${most}`];
  });
  if (problems.length > 0) throw new Failure(`Instructions of the same run:\n  ${problems.join('\n  ')}`);
}

const BLESS = '"node scripts/instructions.mjs --bless"';

const LINUX_ONLY = 'instructions are counted on Linux only';

const TOOLS = ['valgrind', 'taskset'];

const versionOfRust = () => execFileSync('rustc', ['-vV'], { cwd: ROOT, encoding: 'utf8' });

const hostTarget = () => /^host: (.+)$/m.exec(versionOfRust())[1];

/** Tools that change the counts without a change of the code. */
function currentToolchain() {
  const rustc = versionOfRust();
  const [, version] = /^release: (\d+\.\d+)/m.exec(rustc);
  const valgrind = execFileSync(toolPath('valgrind'), ['--version'], { encoding: 'utf8' });
  const { glibcVersionRuntime } = process.report.getReport().header;
  // valgrind offers AVX2 if the machine has it, and copying and UTF-8 checks use it
  const avx2 = existsSync('/proc/cpuinfo') && /\bavx2\b/.test(readFileSync('/proc/cpuinfo', 'utf8'));
  return {
    target: hostTarget(),
    rustc: version,
    rustflags: process.env.RUSTFLAGS ?? '',
    glibc: glibcVersionRuntime ?? 'none',
    // valgrind simulates a processor, and the C library chooses its functions accordingly
    valgrind: /\d+\.\d+/.exec(valgrind)[0],
    avx2,
  };
}

/** @returns {Promise<string>} the path of the binary that has the cases */
async function build() {
  const args = ['bench', '--package', 'millrace-gateway', '--features', 'bench', '--bench', 'instructions', '--no-run'];
  // the addon is built for a named target, too, and so their libraries are the same
  args.push('--target', hostTarget());
  if (process.env.CI) args.push('--locked');
  console.log(`$ cargo ${args.join(' ')}`);
  const options = { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] };
  const { code, output } = await read('cargo', [...args, '--message-format', 'json-render-diagnostics'], options);
  if (code !== 0) throw new Failure('the cases could not be built');
  const messages = output.split('\n').filter((line) => line.startsWith('{'));
  const built = messages.map((line) => JSON.parse(line)).findLast((message) => message.target?.name === 'instructions');
  if (!built?.executable) throw new Failure('cargo named no binary for the cases');
  return built.executable;
}

/**
 * @param {string} binary
 * @param {string[]} chosen how the names of the cases begin; none is all
 * @returns {Promise<Record<string, number>>} instructions per operation
 */
async function countAll(binary, chosen, profile = false) {
  const lines = execFileSync(binary, { encoding: 'utf8' }).trim().split('\n');
  const all = lines.map((line) => line.split(' '));
  const cases = all.filter(([name]) => chosen.length === 0 || chosen.some((start) => name.startsWith(start)));
  if (cases.length === 0) throw new Failure(`no such case; there are ${all.map(([name]) => name).join(', ')}`);
  const counts = Object.fromEntries(cases.map(([name]) => [name, 0]));
  const waiting = cases.values();
  const lane = async (processor) => {
    for (const [name, operations] of waiting) {
      counts[name] = await countOne({ binary, name, processor, profile }, Number(operations));
      console.log(`${name.padEnd(44)}${String(counts[name]).padStart(9)}`);
    }
  };
  await Promise.all(processors().map(lane));
  return counts;
}

/** The processors that this process may use. */
function processors() {
  const [, list] = /^Cpus_allowed_list:\s*(.+)$/m.exec(readFileSync('/proc/self/status', 'utf8'));
  return list.split(',').flatMap((range) => {
    const [first, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}

/** Two runs of different length: their difference excludes start and set-up. */
async function countOne(run, operations) {
  const short = await collect(run, operations, '/dev/null');
  const long = await collect(run, LONGER * operations, run.profile ? profileOf(run.name) : '/dev/null');
  const each = (long - short) / ((LONGER - 1) * operations);
  return each < 1000 ? Math.round(each * 10) / 10 : Math.round(each);
}

function profileOf(name) {
  const folder = path.resolve(ROOT, process.env.CARGO_TARGET_DIR ?? 'target', 'callgrind');
  mkdirSync(folder, { recursive: true });
  return path.join(folder, `${name.replaceAll('/', '.')}.out`);
}

async function collect({ binary, name, processor }, operations, profile) {
  // one processor, and a fair lock between valgrind's threads: server and client alternate in the same order each time
  const valgrind = [toolPath('valgrind'), '--tool=callgrind', `--callgrind-out-file=${profile}`, '--fair-sched=try'];
  const args = ['--cpu-list', String(processor), ...valgrind, binary, name, String(operations)];
  const options = { stdio: ['ignore', 'ignore', 'pipe'], env: { PATH: process.env.PATH, ...QUIET_HEAP } };
  const { code, output } = await read(toolPath('taskset'), args, options);
  const collected = /Collected : (\d+)/.exec(output);
  if (code !== 0 || collected === null) throw new Failure(`${name} failed under valgrind:\n${output}`);
  return Number(collected[1]);
}

/** glibc keeps every freed small block, so the cost of a call depends less on the state of the heap. */
const QUIET_HEAP = { GLIBC_TUNABLES: 'glibc.malloc.tcache_count=1000' };

/** Runs a program, and reads its one stream that is a pipe. */
async function read(program, args, options) {
  const child = spawn(program, args, options);
  const stream = child.stdout ?? child.stderr;
  const chunks = [];
  stream.on('data', (chunk) => chunks.push(chunk));
  const code = await new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new Failure(`${program} could not be started: ${error.message}`)));
    child.once('close', resolve);
  });
  return { code, output: Buffer.concat(chunks).toString() };
}

async function main() {
  const flags = process.argv.slice(2).filter((arg) => arg.startsWith('--'));
  const chosen = process.argv.slice(2).filter((arg) => !arg.startsWith('--'));
  const unknown = flags.find((flag) => flag !== '--bless' && flag !== '--profile');
  if (unknown !== undefined) throw new Failure(`unknown argument ${unknown}; there are --bless and --profile`);
  const missing = process.platform === 'linux' ? whatIsMissing(TOOLS) : LINUX_ONLY;
  if (missing !== undefined) throw new Failure(missing);
  const counts = await countAll(await build(), chosen, flags.includes('--profile'));
  if (flags.includes('--bless')) bless(counts, chosen);
}

/** Figures of some cases may be rewritten only if the others were counted with the same tools. */
function bless(counts, chosen) {
  const file = path.join(ROOT, FIGURES);
  const toolchain = currentToolchain();
  let kept = {};
  if (chosen.length > 0) {
    const old = JSON.parse(readFileSync(file, 'utf8'));
    if (JSON.stringify(old.toolchain) !== JSON.stringify(toolchain)) {
      throw new Failure('the other figures were made with other tools: bless all of them');
    }
    kept = old.figures;
  }
  const figures = { ...kept, ...counts };
  writeFileSync(file, `${JSON.stringify({ toolchain, figures }, null, 2)}\n`);
  console.log(`${FIGURES} has ${Object.keys(figures).length} figures`);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await main().catch(fail);
