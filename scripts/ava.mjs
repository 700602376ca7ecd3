// Runs the end-to-end tests. Files with failed tests run once more, one at a time: hundreds of servers, browsers and runtimes
// share the processors with the tests, and a test that fails only then says little about what was changed. Everything else
// that fails counts at once, and so does a test that fails again. What passed only the second time is told.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';

import { Failure, ROOT, run, tool } from './process.mjs';

/** `undefined`: on a terminal, where a person decides what runs again. */
const OUTPUT = process.stdout.isTTY ? undefined : (text) => process.stdout.write(text);

/** If more files fail, the machine was not the reason. */
const MOST_FILES = 3;

/** What ava ends with if tests have failed. */
const TESTS_FAILED = 1;

/**
 * Runs all tests. On a terminal nothing runs a second time.
 *
 * @param {{env?: Record<string, string>, cwd?: string, show?: (text: string) => void}} [options] `env`: added to the
 *   environment. `cwd`: the folder of the tests, the root by default. `show`: writes what ava says, by default to the
 *   standard output
 * @returns {Promise<string[]>} the files whose tests passed only the second time
 * @throws {Failure} if tests fail
 */
export async function testWithAva({ env = {}, cwd = ROOT, show = OUTPUT } = {}) {
  if (show === undefined) {
    await run(tool('ava'), { env });
    return [];
  }
  // the same random choices both times
  const MILLRACE_TEST_SEED = process.env.MILLRACE_TEST_SEED ?? String(Date.now() % 2 ** 31);
  const how = { cwd, show, env: { MILLRACE_TEST_SEED, ...env } };
  const first = await runAva(how, []);
  if (first.status === 0) return [];
  const files = first.status === TESTS_FAILED ? unsteadyFiles(first.output, cwd) : [];
  if (files.length === 0 || files.length > MOST_FILES) throw new Failure(`ava ended with ${first.status}`);
  for (const file of files) {
    show(`\n${file} runs once more, with nothing beside it\n`);
    const { status } = await runAva(how, [file]);
    if (status !== 0) throw new Failure(`${file} failed twice: ava ended with ${status}`);
  }
  return files;
}

/** Runs ava, and shows its output as it arrives. */
async function runAva({ cwd, env, show }, files) {
  const [program, script] = tool('ava');
  show(`$ ${['node', path.relative(ROOT, script), ...files].join(' ')}\n`);
  const child = spawn(program, [script, ...files], {
    cwd,
    stdio: ['inherit', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
    show(text);
  });
  const status = await new Promise((resolve, reject) => {
    child.once('error', ({ message }) => reject(new Failure(`ava could not be started: ${message}`)));
    child.once('close', (code, signal) => resolve(signal ?? code));
  });
  return { status, output };
}

/**
 * The files of failed tests in what ava has written; none if anything but tests has failed, such as a process that crashed.
 *
 * @param {string} output
 * @param {string} folder the folder of the tests
 * @returns {string[]}
 */
export function unsteadyFiles(output, folder) {
  const lines = stripVTControlCharacters(output)
    .split('\n')
    .map((line) => line.trim());
  const summary = lines.slice(lines.lastIndexOf('─') + 1).filter(Boolean);
  const count = Number(/^(\d+) tests? failed$/.exec(summary[0] ?? '')?.[1] ?? 0);
  const isHarmless = (line) => /^\d+ tests? (skipped|todo)$/.test(line);
  if (!summary.slice(1).every(isHarmless)) return [];
  // the second sign is that of terminals without the first
  const crosses = lines.filter((line) => /^[✘×]/.test(line));
  const files = crosses.map((line) => fileOf(line, folder));
  if (crosses.length !== count || files.includes(undefined)) return [];
  return [...new Set(files)];
}

/** The only file that a line about a failed test can mean, such as `✘ [fail]: __test__ › resp › limits › a title › Error`. */
function fileOf(line, folder) {
  const [, place] = /^[✘×] \[fail\]: (.*)$/.exec(line) ?? [];
  if (place === undefined) return undefined;
  const parts = place.split(' › ');
  const names = parts.map((_part, index) => `${parts.slice(0, index + 1).join('/')}.test.mjs`);
  const found = names.filter((name) => existsSync(path.join(folder, name)));
  return found.length === 1 ? found[0] : undefined;
}
