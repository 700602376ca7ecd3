// Records what was skipped, and why. Each test file is a separate process, so they all write to one file, which `npm
// test` reads at the end. If the environment does not name that file, nothing is written.
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** @typedef {{where: string, reason: string}} Skip where: a test file, or a step */

const VARIABLE = 'MILLRACE_TEST_SKIPS';

/**
 * Records that a test or a step is skipped, if recording is on. Each record is one write of one line, so that many
 * processes can write at once.
 *
 * @param {Skip} skip
 */
export function noteSkip(skip) {
  const file = process.env[VARIABLE];
  if (file) appendFileSync(file, `${JSON.stringify(skip)}\n`);
}

/** The file, in a temporary folder; `remove` deletes both. */
export class SkipFile {
  #folder = mkdtempSync(path.join(os.tmpdir(), 'millrace-skips-'));

  /** The environment for processes that write to it. */
  get environment() {
    return { [VARIABLE]: path.join(this.#folder, 'skips') };
  }

  /** @returns {Skip[]} */
  read() {
    const file = this.environment[VARIABLE];
    if (!existsSync(file)) return [];
    const lines = readFileSync(file, 'utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line));
  }

  remove() {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/**
 * The lines that report what was skipped: by reason, with counts and places.
 *
 * @param {Skip[]} skips
 * @returns {string[]}
 */
export function told(skips) {
  const reasons = new Map();
  for (const { where, reason } of skips) {
    const places = reasons.get(reason) ?? new Map();
    reasons.set(reason, places.set(where, (places.get(where) ?? 0) + 1));
  }
  return [...reasons].sort(byName).map(([reason, places]) => {
    const counted = [...places]
      .sort(byName)
      .map(([where, count]) => (count === 1 ? where : `${where} (${count} tests)`));
    return `${reason}\n    ${counted.join(', ')}`;
  });
}

const byName = ([one], [other]) => (one < other ? -1 : 1);
