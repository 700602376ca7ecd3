// The command line as a user runs it: a child process in a runtime, its input, its output, its exit code. Signals go
// only to the processes that are started here.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { runtimePath } from '../../scripts/runtimes.mjs';
import { SOON, until, within } from './deadline.mjs';
import { endWith, removeWith } from './teardown.mjs';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', '..');

/** The program in `bin` of package.json. */
const PROGRAM = path.join(root, 'js/dist/cli/main.js');

export const RUNTIMES = ['node', 'bun', 'deno'];

const BEFORE = { node: [], bun: ['run'], deno: ['run', '-A', '--quiet'] };

/** One run of `millrace`, or of another program. */
export class Millrace {
  out = '';
  err = '';
  #child;
  #exited;
  #isOver = false;

  /** Starts it; it is ended with the test. */
  constructor(t, args, { runtime = 'node', env = {}, cwd, program = PROGRAM } = {}) {
    const inherited = { ...process.env, RUST_LOG: '' };
    // ava sets it, and Node.js warns if NO_COLOR is set, too
    delete inherited.FORCE_COLOR;
    this.#child = spawn(runtimePath(runtime), [...BEFORE[runtime], program, ...args], {
      stdio: ['pipe', 'pipe', 'pipe'],
      cwd,
      env: { ...inherited, ...env },
    });
    this.#child.stdout.on('data', (chunk) => {
      this.out = (this.out + chunk).slice(-1_048_576);
    });
    this.#child.stderr.on('data', (chunk) => {
      this.err = (this.err + chunk).slice(-65_536);
    });
    this.#exited = endWith(t, this.#child);
    this.#child.once('close', () => {
      this.#isOver = true;
    });
    // a process that has ended no longer reads
    this.#child.stdin.on('error', () => {});
  }

  signal(name) {
    this.#child.kill(name);
  }

  /** Writes a line to its standard input. */
  tell(command) {
    this.#child.stdin.write(`${command}\n`);
  }

  /** Stops reading its output. */
  closeOutput() {
    this.#child.stdout.destroy();
    this.#child.stderr.destroy();
  }

  /** The exit code, or the signal that ended it. */
  async exit(ms = 2 * SOON) {
    return within(this.#exited, () => `the end of millrace\n${this.out}${this.err}`, ms);
  }

  /** Resolves with the first match in the output. */
  async prints(pattern, where = 'out') {
    const match = await until(
      async () => {
        const found = pattern.exec(this[where]);
        // the exit alone is not enough: its last output may not have been read
        if (found === null && this.#isOver) throw new Error(`millrace ended:\n${this.out}${this.err}`);
        return found;
      },
      () => `${pattern} in the output\n${this.out}${this.err}`,
      2 * SOON,
    );
    return match;
  }

  /** Resolves with the address of `serve` when it listens. */
  async address() {
    return (await this.prints(/Listening on ws:\/\/(\S+)\n/))[1];
  }
}

/** Runs it to its end. */
export async function millrace(t, args, options) {
  const run = new Millrace(t, args, options);
  const code = await run.exit();
  return { code, out: run.out, err: run.err };
}

/** A folder for one test, inside the repository so that `millrace` resolves, with the given files. */
export function folderWith(t, files) {
  mkdirSync(path.join(root, 'target'), { recursive: true });
  const folder = removeWith(t, mkdtempSync(path.join(root, 'target', 'cli-')));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  return folder;
}

/** How a worker imports the package under test. */
export const PACKAGE = pathToFileURL(path.join(root, 'js/dist/index.mjs')).href;
