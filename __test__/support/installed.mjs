// Projects like those of users: an empty folder outside the repository, in which the packed tarballs are installed
// without Rust in the PATH. And the programs that run in them.
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { npm } from '../../scripts/process.mjs';
import { runtimePath } from '../../scripts/runtimes.mjs';
import { until } from './deadline.mjs';
import { ROOT } from './markdown.mjs';
import { endWith, removeWith } from './teardown.mjs';

/** The environment without the folders of the PATH that hold Rust. */
export const WITHOUT_RUST = { ...process.env, PATH: pathWithoutRust() };

function pathWithoutRust() {
  const exe = process.platform === 'win32' ? '.exe' : '';
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  const holdsRust = (folder) => ['cargo', 'rustc'].some((name) => existsSync(path.join(folder, name + exe)));
  return folders.filter((folder) => !holdsRust(folder)).join(path.delimiter);
}

/**
 * Every runtime that the packages are tried in, as a command: the Node.js that runs the tests, those whose paths
 * MILLRACE_TEST_NODES lists, Bun and Deno.
 *
 * @returns {Record<string, string[]>}
 */
export function runtimes() {
  const more = (process.env.MILLRACE_TEST_NODES ?? '').split(path.delimiter).filter((program) => program !== '');
  return {
    [`node ${process.versions.node}`]: [process.execPath],
    ...Object.fromEntries(more.map((program) => [`node ${versionOf(program)}`, [program]])),
    bun: [runtimePath('bun'), 'run'],
    deno: [runtimePath('deno'), 'run', '-A', '--quiet'],
  };
}

function versionOf(program) {
  const { stdout, error } = spawnSync(program, ['-p', 'process.versions.node'], { encoding: 'utf8' });
  if (error !== undefined) throw new Error(`MILLRACE_TEST_NODES: ${program}: ${error.message}`);
  return stdout.trim();
}

/**
 * A project with the packages installed. The platform's tarball replaces the registry's package that is an optional
 * dependency of the main package, so that npm makes the same decisions as for a user. npm installs once for a file of
 * tests; each test changes a copy.
 *
 * @param {import('ava').ExecutionContext} t the project is removed after this test
 * @param {{main: string, platforms: Record<string, string>}} tarballs
 * @param {{type?: 'module' | 'commonjs', npmArgs?: string[], files?: Record<string, string>}} options
 * @returns {string} its folder
 */
export function project(t, tarballs, { type = 'module', npmArgs = [], files = {} } = {}) {
  const folder = removeWith(t, mkdtempSync(path.join(os.tmpdir(), 'millrace-package-')));
  const key = [tarballs.main, ...npmArgs].join(' ');
  if (!installed.has(key)) installed.set(key, install(tarballs, npmArgs));
  cpSync(installed.get(key), folder, { recursive: true, verbatimSymlinks: true });
  const manifest = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  writeFiles(folder, { 'package.json': JSON.stringify({ ...manifest, type }), ...files });
  return folder;
}

/** The folders with what was installed, by the tarball and the arguments of npm. */
const installed = new Map();

function install({ main, platforms }, npmArgs) {
  const folder = temporary('millrace-installed-');
  const overrides = Object.entries(platforms).map(([name, file]) => [`millrace-${name}`, `file:${file}`]);
  overrides.push(...dependencies());
  const manifest = {
    private: true,
    dependencies: { millrace: `file:${main}` },
    overrides: Object.fromEntries(overrides),
  };
  writeFiles(folder, { 'package.json': JSON.stringify(manifest) });
  const [program, ...args] = npm('install', '--offline', '--no-audit', '--no-fund', ...npmArgs);
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: folder, env: WITHOUT_RUST, encoding: 'utf8' });
  if (status !== 0) throw new Error(`npm install failed:\n${stdout}\n${stderr}`);
  return folder;
}

/** A folder for all tests of a file. */
function temporary(prefix) {
  const folder = mkdtempSync(path.join(os.tmpdir(), prefix));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

let packedDependencies;

/**
 * The packages that Millrace depends on, packed from this repository's node_modules, because npm's cache has only
 * packages that were installed by name. They are packed once for a file of tests.
 */
function dependencies() {
  packedDependencies ??= packDependencies();
  return packedDependencies;
}

function packDependencies() {
  const folder = temporary('millrace-dependencies-');
  const names = neededBy(ROOT);
  const sources = names.map((name) => path.join(ROOT, 'node_modules', name));
  const [program, ...args] = npm('pack', '--ignore-scripts', '--json', '--pack-destination', folder, ...sources);
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(`npm pack failed:\n${stdout}\n${stderr}`);
  const files = new Map(JSON.parse(stdout).map(({ name, filename }) => [name, filename]));
  return names.map((name) => [name, `file:${path.join(folder, files.get(name))}`]);
}

/** The names of all direct and indirect dependencies of the package in a folder. */
function neededBy(folder, found = new Set()) {
  const { dependencies = {} } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  for (const name of Object.keys(dependencies).filter((one) => !found.has(one))) {
    found.add(name);
    neededBy(path.join(ROOT, 'node_modules', name), found);
  }
  return [...found];
}

/** TypeScript and Node's types, as installed by `npm install --save-dev typescript @types/node`. */
export function addTypes(folder) {
  mkdirSync(path.join(folder, 'node_modules/@types'), { recursive: true });
  for (const name of ['@types/node', 'undici-types']) {
    symlinkSync(path.join(ROOT, 'node_modules', name), path.join(folder, 'node_modules', name), 'junction');
  }
}

export function writeFiles(folder, files) {
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text);
}

/** Runs a program in a project to its end. */
export function runIn(folder, [program, ...args], more = {}) {
  const env = { ...WITHOUT_RUST, ...more };
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: folder, env, encoding: 'utf8' });
  return { status, output: `${stdout}${stderr}` };
}

/**
 * Starts a server in a project, and waits until it has printed its address.
 *
 * @returns {Promise<string>} "127.0.0.1:40123"
 */
export async function serve(t, folder, [program, ...args], env = {}) {
  const child = spawn(program, args, {
    cwd: folder,
    env: { ...WITHOUT_RUST, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  endWith(t, child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk) => {
      output += chunk;
    });
  }
  let ended = false;
  child.once('exit', () => {
    ended = true;
  });
  const address = await until(
    () => (ended ? 'none' : /(127\.0\.0\.1:\d+)/.exec(output)?.[1]),
    () => `an address in the output:\n${output}`,
    60_000,
  );
  if (address === 'none') throw new Error(`the server ended:\n${output}`);
  return address;
}
