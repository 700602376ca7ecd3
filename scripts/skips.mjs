// What was skipped, and why: each test is a process of its own, so that they write it into a file that `npm test` reads at
// the end. Without that file's name in the environment nothing is written.
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** @typedef {{where: string, reason: string}} Skip where: a test file, or a step */

const VARIABLE = 'MILLRACE_TEST_SKIPS';

/**
 * Writes down that a test or a step is skipped, if anybody wants to know. One write of a line: many processes may do so.
 *
 * @param {Skip} skip
 */
export function noteSkip(skip) {
  const file = process.env[VARIABLE];
  if (file) appendFileSync(file, `${JSON.stringify(skip)}\n`);
}

/** The file, in a temporary folder; `remove` leaves nothing of it. */
export class SkipFile {
  #folder = mkdtempSync(path.join(os.tmpdir(), 'millrace-skips-'));

  /** The environment of processes that are to write into it. */
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
 * The lines that tell what was skipped: by reason, with how often where.
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
