// Tells whether outputs were built from the current sources: a stamp beside the outputs holds a hash over the sources'
// names and contents. It ignores modification times, which mean nothing after a checkout or a copy.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { ROOT } from './process.mjs';

/**
 * A hash over files and folders (those that exist), and over everything else that determines the outputs.
 *
 * @param {string[]} sources relative to the root
 * @param {string} rest tool versions, build profile
 */
export function hashOf(sources, rest = '') {
  const hash = createHash('sha256').update(rest);
  for (const file of sources.flatMap(filesIn).sort()) {
    hash.update(`\0${file}\0`).update(readFileSync(path.join(ROOT, file)));
  }
  return hash.digest('hex');
}

/** @param {string} file the stamp, relative to the root */
export function readStamp(file) {
  const full = path.join(ROOT, file);
  return existsSync(full) ? readFileSync(full, 'utf8') : undefined;
}

/** Written last, after the outputs. */
export function writeStamp(file, hash) {
  mkdirSync(path.dirname(path.join(ROOT, file)), { recursive: true });
  writeFileSync(path.join(ROOT, file), hash);
}

/** Removed before a build, so that an interrupted build does not look complete. */
export function dropStamp(file) {
  rmSync(path.join(ROOT, file), { force: true });
}

function filesIn(entry) {
  const full = path.join(ROOT, entry);
  if (!existsSync(full)) return [];
  if (!statSync(full).isDirectory()) return [entry];
  return readdirSync(full)
    .filter((name) => name !== 'target' && name !== 'node_modules')
    .flatMap((name) => filesIn(`${entry}/${name}`));
}
