// Prepares a release in the work tree: `node scripts/release.mjs 0.2.0` writes the version everywhere and dates the
// changelog. It commits and publishes nothing, and prints the next steps. `--check v0.2.0` is for the workflow: it
// fails unless all files have that version.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { notesOf, released } from './changelog.mjs';
import { Failure, fail, ROOT, run } from './process.mjs';

const VERSION = /^(\d+)\.(\d+)\.(\d+)(?:-([a-z]+)\.(\d+))?$/;

async function prepare(version) {
  const { version: current } = JSON.parse(read('package.json'));
  checkNext(current, version);
  const changelog = released(read('CHANGELOG.md'), version, new Date().toISOString().slice(0, 10));
  const platforms = readdirSync(path.join(ROOT, 'npm')).map((platform) => `npm/${platform}/package.json`);
  for (const file of ['package.json', ...platforms])
    replace(file, `"version": "${current}"`, `"version": "${version}"`);
  // The lock file has the version twice: for the file, and for the root package.
  const named = `"name": "millrace",\n  "version": "${current}"`;
  replace('package-lock.json', named, named.replace(current, version));
  const root = `"name": "millrace",\n      "version": "${current}"`;
  replace('package-lock.json', root, root.replace(current, version));
  replace('Cargo.toml', `\nversion = "${current}"\n`, `\nversion = "${version}"\n`);
  writeFileSync(path.join(ROOT, 'CHANGELOG.md'), changelog);
  await run(['cargo', 'update', '--workspace', '--quiet']);
  await run(['cargo', 'update', '--workspace', '--quiet', '--manifest-path', 'fuzz/Cargo.toml']);
  console.log(`\nNext: look at git diff, run npm test, commit as "release: ${version}", and after the merge:`);
  console.log(`  git tag v${version} && git push origin v${version}`);
}

/**
 * @param {string} current
 * @param {string} version
 * @throws {Failure} unless it is a version, and newer
 */
export function checkNext(current, version) {
  if (!VERSION.test(version)) throw new Failure(`"${version}" is no version such as 1.2.3 or 1.2.3-beta.1`);
  const [before, after] = [current, version].map(parts);
  const at = after.findIndex((part, index) => part !== before[index]);
  if (at < 0 || after[at] < before[at]) throw new Failure(`${version} is not newer than ${current}`);
}

/** The parts of a version in order of precedence; a version without a suffix comes after those with one. */
function parts(version) {
  const [, major, minor, patch, series = '~', number = '0'] = VERSION.exec(version);
  return [Number(major), Number(minor), Number(patch), series, Number(number)];
}

/** @param {string} tag "v0.2.0" */
function check(tag) {
  const version = tag.replace(/^v/, '');
  const { version: current } = JSON.parse(read('package.json'));
  if (version !== current) throw new Failure(`the tag says ${version}, package.json ${current}`);
  notesOf(read('CHANGELOG.md'), version);
  console.log(`everything says ${version}`);
}

function read(file) {
  return readFileSync(path.join(ROOT, file), 'utf8');
}

function replace(file, from, to) {
  const text = read(file);
  if (text.split(from).length !== 2) throw new Failure(`${file} does not hold ${JSON.stringify(from)} exactly once`);
  writeFileSync(path.join(ROOT, file), text.replace(from, to));
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [first = '', ...more] = process.argv.slice(2);
  try {
    if (first === '--check' && more.length === 1) check(more[0]);
    else if (more.length === 0) await prepare(first);
    else throw new Failure('usage: node scripts/release.mjs <version>, or --check <tag>');
  } catch (error) {
    fail(error);
  }
}
