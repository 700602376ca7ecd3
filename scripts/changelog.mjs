// Reads and moves the sections of CHANGELOG.md: `node scripts/changelog.mjs 0.2.0` prints the notes of a release.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { Failure, fail, ROOT } from './process.mjs';

const UNRELEASED = '## Unreleased';

/**
 * A version's section, without its heading.
 *
 * @param {string} text the changelog
 * @throws {Failure} when it has no such section, or an empty one
 */
export function notesOf(text, version) {
  const heading = version === 'Unreleased' ? UNRELEASED : `## ${version} (`;
  const [, ...sections] = text.split(/^(?=## )/m);
  const section = sections.find((part) => part.startsWith(heading));
  if (section === undefined) throw new Failure(`CHANGELOG.md has no section for ${version}`);
  const notes = section.slice(section.indexOf('\n') + 1).trim();
  if (notes === '') throw new Failure(`CHANGELOG.md says nothing about ${version}`);
  return notes;
}

/**
 * The changelog after a release: the unreleased section gets a version and a date, and a new one is empty.
 *
 * @param {string} text
 * @param {string} day "2026-11-21"
 * @throws {Failure} when nothing is unreleased, or the version has a section
 */
export function released(text, version, day) {
  notesOf(text, 'Unreleased');
  if (text.includes(`\n## ${version} (`)) throw new Failure(`CHANGELOG.md has a section for ${version} already`);
  return text.replace(`\n${UNRELEASED}\n`, `\n${UNRELEASED}\n\n## ${version} (${day})\n`);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    const [version, ...more] = process.argv.slice(2);
    if (version === undefined || more.length > 0) throw new Failure('usage: node scripts/changelog.mjs <version>');
    console.log(notesOf(readFileSync(path.join(ROOT, 'CHANGELOG.md'), 'utf8'), version));
  } catch (error) {
    fail(error);
  }
}
