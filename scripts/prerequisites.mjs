// Checks that the machine has everything that a build needs, and says what to install. Installs nothing.
import { execFileSync } from 'node:child_process';

import { Failure } from './process.mjs';

/** The oldest Node.js and Rust that build and test this package; package.json and Cargo.toml say the same. */
export const FLOOR = { node: '20.17.0', rust: '1.88.0' };

/** @throws {Failure} that names what is missing or too old */
export function checkPrerequisites() {
  if (olderThan(process.versions.node, FLOOR.node)) {
    throw new Failure(`Node.js ${FLOOR.node} or newer is needed, this is ${process.versions.node}: https://nodejs.org`);
  }
  const rust = versionOf('rustc');
  const cargo = versionOf('cargo');
  if (rust === undefined || cargo === undefined) {
    throw new Failure(
      `Rust ${FLOOR.rust} or newer is needed to build the addon, and ${rust === undefined ? 'rustc' : 'cargo'} was not found: ` +
        'install it from https://rustup.rs and open a new shell',
    );
  }
  if (olderThan(rust, FLOOR.rust)) {
    throw new Failure(`Rust ${FLOOR.rust} or newer is needed, this is ${rust}: run "rustup update stable"`);
  }
}

/**
 * Compares dotted versions number by number; a suffix such as "-nightly" is left out.
 *
 * @param {string} version
 * @param {string} floor
 */
export function olderThan(version, floor) {
  const [have, need] = [version, floor].map((text) => text.split('-')[0].split('.').map(Number));
  for (const [index, number] of need.entries()) {
    const part = have[index] ?? 0;
    if (part !== number) return part < number;
  }
  return false;
}

/** "1.95.0" of "rustc 1.95.0 (59807616e 2026-04-14)"; undefined if the program is missing. */
function versionOf(program) {
  try {
    const output = execFileSync(program, ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
    return /\d+\.\d+\.\d+\S*/.exec(output)?.[0];
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw new Failure(`${program} --version failed: ${String(error.stderr ?? error.message).trim()}`);
  }
}
