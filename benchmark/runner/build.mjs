// Builds the load generator and installs the peers. Downloads only through cargo and npm.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const benchmarkFolder = dirname(dirname(fileURLToPath(import.meta.url)));
export const rootFolder = dirname(benchmarkFolder);
export const peersFolder = join(benchmarkFolder, 'peers');

/** Paths of the generator and of the servers in Rust, built in release mode. */
export async function buildLoad() {
  console.log('Building the load generator …');
  const args = ['build', '--release', '--package', 'millrace-load', '--message-format', 'json-render-diagnostics'];
  const output = await run('cargo', args, rootFolder);
  const messages = output.split('\n').filter((line) => line.startsWith('{'));
  const built = messages.map((line) => JSON.parse(line)).filter(({ executable }) => executable);
  const find = (name) => built.find(({ target }) => target.name === name).executable;
  return {
    load: find('millrace-load'),
    epoll: find('millrace-epoll'),
    uring: find('millrace-uring'),
    fastwebsockets: find('millrace-fastwebsockets'),
    versions: { fastwebsockets: lockedVersion('fastwebsockets') },
  };
}

/** Installs the peers' packages as locked, and lets `millrace` resolve to this repository. */
export async function installPeers() {
  const { dependencies } = JSON.parse(readFileSync(join(peersFolder, 'package.json'), 'utf8'));
  const current = Object.entries(dependencies).every(([name, version]) => installedVersion(name) === version);
  if (!current) {
    console.log('Installing the peers …');
    await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], peersFolder);
  }
  linkMillrace();
}

/** Lets `millrace` resolve to this repository. */
export function linkMillrace() {
  const link = join(peersFolder, 'node_modules', 'millrace');
  try {
    if (readlinkSync(link) === rootFolder) return;
    rmSync(link);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(rootFolder, link, 'dir');
}

/** The installed version of a peer's package, undefined when it is not there. */
export function installedVersion(name) {
  const path = join(peersFolder, 'node_modules', name, 'package.json');
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).version : undefined;
}

/** The version of a crate in the lock file. */
function lockedVersion(name) {
  const lock = readFileSync(join(rootFolder, 'Cargo.lock'), 'utf8');
  return new RegExp(`name = "${name}"\nversion = "([^"]+)"`).exec(lock)?.[1];
}

/** The standard output of a program that must succeed. */
export function run(program, args, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve(output);
      else reject(new Error(`${program} ${args.join(' ')} ended with status ${code}`));
    });
  });
}
