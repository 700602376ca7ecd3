// Runs the tools that the other scripts need, as child processes whose output is shown as it arrives. Does not decide
// what to run.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository's root. */
export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');

/** A failure that is printed in one line, without a stack. */
export class Failure extends Error {}

/**
 * Runs a program in the root and waits for its end.
 *
 * @param {string[]} command program and arguments
 * @param {{env?: Record<string, string>}} [options] variables added to the environment
 * @throws {Failure} when it cannot be started or ends with anything but 0
 */
export async function run([program, ...args], { env = {} } = {}) {
  const shown = [program === process.execPath ? 'node' : program, ...args.map(relative)].join(' ');
  console.log(`$ ${shown}`);
  const child = spawn(program, args, { cwd: ROOT, stdio: 'inherit', env: { ...process.env, ...env } });
  await new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new Failure(`${shown} could not be started: ${error.message}`)));
    child.once('exit', (code, signal) => {
      if (code === 0) resolve();
      else reject(new Failure(`${shown} ended with ${signal ?? `exit code ${code}`}`));
    });
  });
}

/**
 * The command that runs a program of an installed npm package, without npx and without a shell.
 *
 * @param {string} name the package
 * @param {string} [bin] the program, when it is not named like the package
 */
export function tool(name, bin = name) {
  const folder = path.join(ROOT, 'node_modules', name);
  const { bin: bins } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  return [process.execPath, path.join(folder, typeof bins === 'string' ? bins : bins[bin])];
}

/** npm itself: the one that runs this script, or else the one on the PATH. */
export function npm(...args) {
  const cli = process.env.npm_execpath;
  if (cli !== undefined && /npm-cli\.[cm]?js$/.test(cli)) return [process.execPath, cli, ...args];
  return process.platform === 'win32' ? ['cmd.exe', '/d', '/c', 'npm', ...args] : ['npm', ...args];
}

/**
 * Prints an error and ends the process: one line for a {@link Failure}, a stack for a bug.
 *
 * @param {unknown} error
 */
export function fail(error) {
  console.error(`\n${error instanceof Failure ? error.message : error instanceof Error ? error.stack : String(error)}`);
  process.exit(1);
}

function relative(arg) {
  return arg.startsWith(ROOT + path.sep) ? path.relative(ROOT, arg) : arg;
}
