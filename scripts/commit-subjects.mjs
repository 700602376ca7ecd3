// Checks the subjects of commits: a scope, then what the commit does in the imperative, in at most 72 characters.
// Checks all commits since the rule exists, as far as the clone has them; `node scripts/commit-subjects.mjs
// main..topic` checks a range.
import { execFileSync } from 'node:child_process';
import { pathToFileURL } from 'node:url';

import { Failure, fail, ROOT } from './process.mjs';

/** Older commits are not checked. This is a date, because a shallow clone may not have the first commit. */
const SINCE = '2026-11-23T20:02:29Z';

const MOST_CHARACTERS = 72;

/** `core: forget sockets by reverse index`; several scopes are separated by commas. */
const SUBJECT = /^[\w./-]+(?:, [\w./-]+)*: (?<first>[a-z][\w-]*)(?: .+)?$/;

/** Subjects that tools write: a merge, a release, a revert. */
const MADE = /^(?:Merge |Revert "|release: \d)/;

/** Words that begin a description instead of an instruction. */
const DESCRIBES = new Set(
  (
    'a an the this that these those what how why where when who which every each all no nobody none some several more fewer ' +
    'less much many most one two three four five first last new old its their our your it they we you only also'
  ).split(' '),
);

/** Verbs that end like the third person. */
const VERBS = new Set(
  'pass press process address access focus discuss bypass miss cross express compress dismiss guess'.split(' '),
);

/** Verbs that end like a participle. */
const PLAIN = new Set('need feed seed speed embed shed bring ping string wing spring'.split(' '));

/**
 * The problem of a subject; undefined if there is none.
 *
 * @param {string} subject
 */
export function problemOf(subject) {
  if (MADE.test(subject)) return undefined;
  if (subject.length > MOST_CHARACTERS) return `has ${subject.length} characters, more than ${MOST_CHARACTERS}`;
  const first = SUBJECT.exec(subject)?.groups.first;
  if (first === undefined) return 'is not "scope: what the commit does"';
  if (subject.endsWith('.')) return 'ends with a full stop';
  if (DESCRIBES.has(first)) return `begins with "${first}" and not with a verb`;
  if (/[^s]s$/.test(first) && !VERBS.has(first)) return `begins with "${first}", which is no imperative`;
  if (/(?:ed|ing)$/.test(first) && !PLAIN.has(first)) return `begins with "${first}", which is no imperative`;
  return undefined;
}

/**
 * @param {string} [range] of git; without one everything since the rule is checked
 * @returns {string | undefined} why nothing was checked
 * @throws {Failure} naming every commit whose subject breaks the rule
 */
export async function checkCommitSubjects(range) {
  const chosen = range === undefined ? [`--since=${SINCE}`] : [range];
  let log;
  try {
    const args = ['log', '--no-merges', '--format=%h %s', ...chosen];
    log = execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    if (range !== undefined) throw new Failure(`git log ${range} failed: ${error.stderr ?? error.message}`);
    return 'this is no clone with commits';
  }
  const findings = log.split('\n').flatMap((line) => {
    const [hash, subject] = [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)];
    const problem = line === '' ? undefined : problemOf(subject);
    return problem === undefined ? [] : [`${hash} "${subject}" ${problem}`];
  });
  if (findings.length > 0) throw new Failure(`subjects of commits:\n${findings.join('\n')}`);
  return undefined;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    const skipped = await checkCommitSubjects(process.argv[2]);
    if (skipped !== undefined) console.log(`nothing was checked: ${skipped}`);
  } catch (error) {
    fail(error);
  }
}
