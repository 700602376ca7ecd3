// Builds the published addon for other platforms: stripped, and against glibc 2.17 for Linux with glibc. `node
// scripts/cross.mjs x86_64-unknown-linux-musl …` writes artifacts/millrace.<platform>.node; without a target, it builds
// all targets that any Linux machine can build. If a tool is missing, it says what to install.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseTriple } from '@napi-rs/cli';

import { Failure, fail, ROOT, run } from './process.mjs';

/** The oldest glibc that can load the addon: that of the oldest distributions on which Node.js 20 runs. */
export const GLIBC_FLOOR = '2.17';

/** The targets that a Linux machine can build with zig as C compiler and linker; others need Apple's or Microsoft's linker. */
const WITH_ZIG = [
  'x86_64-unknown-linux-gnu',
  'aarch64-unknown-linux-gnu',
  'armv7-unknown-linux-gnueabihf',
  'x86_64-unknown-linux-musl',
  'aarch64-unknown-linux-musl',
  'x86_64-unknown-freebsd',
  'x86_64-pc-windows-gnu', // not published: shows on any machine that the code compiles and links for Windows
];

const OUT = path.join(ROOT, 'artifacts');

/** @param {string} target a Rust target */
async function build(target) {
  const { platformArchABI: platform } = parseTriple(target);
  const [subcommand, spelling] = builder(target);
  await run(
    [
      'cargo',
      ...subcommand,
      ...['--package', 'millrace-node', '--lib', '--profile', 'dist', '--locked', '--target', spelling],
    ],
    { env: environment(target) },
  );
  const folder = path.join(process.env.CARGO_TARGET_DIR ?? path.join(ROOT, 'target'), target, 'dist');
  const file = path.join(OUT, `millrace.${platform}.node`);
  mkdirSync(OUT, { recursive: true });
  copyFileSync(path.join(folder, library(target)), file);
  const bytes = readFileSync(file);
  if (target.includes('-linux-gnu')) checkGlibc(file, bytes);
  console.log(`${path.relative(ROOT, file)}: ${(bytes.length / 2 ** 20).toFixed(2)} MiB`);
}

/** The cargo subcommand that can link for the target on this machine, and its spelling of the target. */
function builder(target) {
  if (target.endsWith('-msvc') && process.platform !== 'win32') {
    need('cargo', ['xwin', '--version'], 'cargo install --locked cargo-xwin');
    return [['xwin', 'build'], target];
  }
  if (process.platform !== 'linux' || !WITH_ZIG.includes(target)) return [['build'], target];
  need('cargo', ['zigbuild', '--help'], 'cargo install --locked cargo-zigbuild');
  return [['zigbuild'], target.includes('-linux-gnu') ? `${target}.${GLIBC_FLOOR}` : target];
}

function environment(target) {
  const flag = (feature) => ({ RUSTFLAGS: `${process.env.RUSTFLAGS ?? ''} -C target-feature=${feature}`.trim() });
  // By default, a musl target links statically and produces no shared library.
  if (target.includes('-musl')) return flag('-crt-static');
  // Node.js carries Microsoft's C runtime inside; a machine need not have it as a library.
  if (target.endsWith('-msvc')) return flag('+crt-static');
  return target.endsWith('-windows-gnu') ? { LIBNODE_PATH: emptyLibnode() } : {};
}

/**
 * For windows-gnu the bindings insist on a libnode to link with, although the addon finds Node-API in the running
 * program. They get an empty one.
 */
function emptyLibnode() {
  const folder = path.join(ROOT, 'target', 'libnode');
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'libnode.dll'), '');
  for (const name of ['libnode.dll.a', 'libnode.a']) writeFileSync(path.join(folder, name), '!<arch>\n');
  return folder;
}

function library(target) {
  if (target.includes('-windows-')) return 'millrace_node.dll';
  return target.includes('-apple-') ? 'libmillrace_node.dylib' : 'libmillrace_node.so';
}

/** @throws {Failure} when the addon asks for a newer glibc than {@link GLIBC_FLOOR} */
function checkGlibc(file, bytes) {
  const newest = newestGlibc(bytes);
  console.log(`${path.basename(file)} needs glibc ${newest}`);
  if (compare(newest, GLIBC_FLOOR) > 0) throw new Failure(`${file} needs glibc ${newest}, newer than ${GLIBC_FLOOR}`);
}

/**
 * The newest glibc version that is named in a program's symbol table.
 *
 * @param {Buffer} bytes
 */
export function newestGlibc(bytes) {
  const versions = [...bytes.toString('latin1').matchAll(/\bGLIBC_(\d+(?:\.\d+)+)\0/g)].map((match) => match[1]);
  return versions.sort(compare).at(-1) ?? '0';
}

function compare(left, right) {
  const [a, b] = [left, right].map((text) => text.split('.').map(Number));
  const at = a.findIndex((part, index) => part !== (b[index] ?? 0));
  return at < 0 ? a.length - b.length : a[at] - (b[at] ?? 0);
}

function need(program, args, install) {
  if (spawnSync(program, args, { stdio: 'ignore' }).status === 0) return;
  throw new Failure(`${program} ${args[0]} is missing: ${install}, and for zig: pip install ziglang`);
}

async function cross(targets) {
  const unknown = targets.find((target) => target.startsWith('-'));
  if (unknown !== undefined) throw new Failure(`unknown argument ${unknown}; arguments are Rust targets`);
  for (const target of targets.length > 0 ? targets : WITH_ZIG) await build(target);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await cross(process.argv.slice(2)).catch(fail);
