// An example program as a user runs it: a child process that prints its address and ends on a signal. And the browser
// that opens its pages.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { toolPath } from '../../scripts/optional-tools.mjs';
import { runtimePath } from '../../scripts/runtimes.mjs';
import { SOON, until, within } from './deadline.mjs';
import { needing } from './needing.mjs';
import { endWith, exitOf, kill } from './teardown.mjs';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', '..');

/** The runtime the examples run in: node (default), bun or deno, from MILLRACE_TEST_RUNTIME. */
const RUNTIME = process.env.MILLRACE_TEST_RUNTIME ?? 'node';

/** The exit of a program that was asked to end. On Windows a program cannot be asked, and is terminated. */
export const ended = (signal = 'SIGINT') => (process.platform === 'win32' ? signal : 0);

export class Example {
  output = '';
  #child;
  #exited;

  /**
   * Starts it and waits for the line with its address.
   * @param {string} script path inside the repository, or absolute
   * @param {string[]} args
   * @param {Record<string, string>} env
   * @param {RegExp} line its first group is the address
   * @param {'ignore' | 'pipe'} stdin 'pipe': `write` and `over` are for it
   */
  static async start(script, args = [], env = {}, line = /^.+: (http:\/\/\S+:\d+)\n/m, stdin = 'ignore') {
    const example = new Example();
    const [program, before] = commandOf(RUNTIME);
    example.#child = spawn(program, [...before, path.resolve(root, script), ...args], {
      stdio: [stdin, 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    });
    // it may have ended before a write
    example.#child.stdin?.on('error', () => {});
    example.#exited = exitOf(example.#child);
    const printed = new Promise((resolve, reject) => {
      for (const stream of [example.#child.stdout, example.#child.stderr]) {
        stream.on('data', (chunk) => {
          example.output = (example.output + chunk).slice(-16_384);
          const found = line.exec(example.output);
          if (found) resolve(found[1]);
        });
      }
      example.#exited.then((code) => reject(new Error(`${script} ended with ${code}:\n${example.output}`)));
    });
    printed.catch(() => {});
    try {
      example.url = await within(printed, () => `the address of ${script}\n${example.output}`, 2 * SOON);
    } catch (error) {
      await example.kill();
      throw error;
    }
    return example;
  }

  /** "localhost:40123" */
  get address() {
    return new URL(this.url).host;
  }

  get port() {
    return new URL(this.url).port;
  }

  /** Runs one that ends by itself: its exit code and its output. */
  static async run(t, script, args = []) {
    const [program, before] = commandOf(RUNTIME);
    const child = spawn(program, [...before, path.resolve(root, script), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const exited = endWith(t, child);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        output += chunk;
      });
    }
    const code = await within(exited, () => `the end of ${script}\n${output}`, 2 * SOON);
    return { code, output };
  }

  /** Writes to its standard input. */
  write(text) {
    this.#child.stdin.write(text);
  }

  /** Ends its standard input. Resolves with its exit code. */
  over() {
    this.#child.stdin.end();
    return this.exited();
  }

  /** Resolves with its exit code when it has ended by itself. */
  exited() {
    return within(this.#exited, () => `the end of the example\n${this.output}`, 2 * SOON);
  }

  /** Resolves when it has printed this text. */
  printed(text) {
    return until(
      () => this.output.includes(text),
      () => `${JSON.stringify(text)} in\n${this.output}`,
    );
  }

  /** Asks it to end, as Ctrl-C does, and resolves with its exit code. */
  async end(signal = 'SIGINT') {
    this.#child.kill(signal);
    try {
      return await within(this.#exited, () => `the end of the example\n${this.output}`, 2 * SOON);
    } finally {
      await this.kill();
    }
  }

  /** Kills it; resolves when it has ended. */
  async kill() {
    kill(this.#child);
    await this.#exited;
  }
}

function commandOf(runtime) {
  return [runtimePath(runtime), { node: [], bun: ['run'], deno: ['run', '-A', '--quiet'] }[runtime]];
}

/** `test.serial` for tests that need a browser. */
export const browserTests = (test) => needing(test.serial, 'chromium');

/** Starts the browser, with our deadline for its pages. Its own background requests are disabled. */
export async function launchBrowser() {
  const { chromium } = await import('playwright-core');
  const browser = await chromium.launch({
    executablePath: toolPath('chromium'),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
    ],
  });
  const { newContext } = browser;
  browser.newContext = async (...given) => {
    const context = await newContext.apply(browser, given);
    context.setDefaultTimeout(2 * SOON);
    return context;
  };
  return browser;
}
