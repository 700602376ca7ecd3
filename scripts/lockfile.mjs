// Checks package-lock.json for two defects that make `npm ci` fail on other machines: the addresses of a registry, and
// missing optional platform packages (npm#4828).
import { readFileSync } from 'node:fs';
import path from 'node:path';

import { Failure, ROOT } from './process.mjs';

/** @throws {Failure} with every finding, one a line */
export async function checkLockfile() {
  const { packages } = JSON.parse(readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8'));
  const findings = lockfileFindings(packages);
  if (findings.length > 0) throw new Failure(`package-lock.json:\n${findings.join('\n')}`);
}

/**
 * @param {Record<string, {resolved?: string, dependencies?: object, optionalDependencies?: object}>} packages
 * @returns {string[]}
 */
export function lockfileFindings(packages) {
  const names = new Set(Object.keys(packages).map((key) => key.split('node_modules/').at(-1)));
  return Object.entries(packages).flatMap(([key, entry]) => {
    const missing = Object.keys({ ...entry.dependencies, ...entry.optionalDependencies }).filter(
      (name) => !names.has(name),
    );
    return [
      ...missing.map(
        (name) =>
          `${key || 'the root'} needs ${name}, which has no entry: pin a version all of whose packages are published`,
      ),
      ...(entry.resolved === undefined || entry.resolved.startsWith('file:')
        ? []
        : [`${key} names a registry: run npm with --omit-lockfile-registry-resolved`]),
    ];
  });
}
