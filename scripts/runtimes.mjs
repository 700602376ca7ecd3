// Finds the runtimes in which servers under test are started. Bun's and Deno's npm packages link their program in an
// install script, which is switched off here, so we use the program inside the platform package.
import { createRequire } from 'node:module';
import path from 'node:path';

import { Failure } from './process.mjs';

/**
 * @param {'node' | 'bun' | 'deno'} name
 * @returns {string} the program's path
 * @throws {Failure} when its package has nothing for this platform
 */
export function runtimePath(name) {
  if (name === 'node') return process.execPath;
  const exe = process.platform === 'win32' ? '.exe' : '';
  const candidates = { bun: bunPackages, deno: denoPackages }[name]?.();
  if (candidates === undefined) throw new Failure(`unknown runtime ${name}`);
  for (const folder of candidates.map(packageFolder)) {
    if (folder !== undefined) return path.join(folder, name === 'bun' ? 'bin' : '', name + exe);
  }
  throw new Failure(`${name} is not installed: none of ${candidates.join(', ')} is in node_modules`);
}

function bunPackages() {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const base = `@oven/bun-${system}-${process.arch === 'arm64' ? 'aarch64' : process.arch}`;
  return [base, `${base}-musl`];
}

function denoPackages() {
  const base = `@deno/${process.platform}-${process.arch}`;
  return [process.platform === 'linux' ? `${base}-glibc` : base];
}

function packageFolder(name) {
  try {
    return path.dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
  } catch {
    return undefined;
  }
}
