// `npm run dev`: builds the addon without optimisation and the TypeScript, runs the chat example, and does both again
// when a source changes. `npm run dev -- path/to/server.mjs arguments` runs another program. If a build fails, it
// prints the error and tries again with the next change. SIGINT and SIGTERM end it. Ctrl-C also reaches the program, so
// the program handles SIGINT itself, and is ended only if it does not.
import { spawn } from 'node:child_process';
import { watch } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { Failure, fail, ROOT } from './process.mjs';
import { setUp } from './setup.mjs';

/** The sources of the addon and the package. */
const SOURCES = ['crates', 'js/src'];

const DEFAULT_PROGRAM = 'examples/chat/server.mjs';

/**
 * Runs a program, and restarts it with each change, until the returned function is called.
 *
 * @param {object} plan
 * @param {string} plan.program a path
 * @param {string[]} plan.args given to it
 * @param {string[]} plan.folders watched, with what is in them
 * @param {() => Promise<void>} plan.build before each run
 * @param {(text: string) => void} plan.tell lines for the developer
 * @returns {(told?: boolean) => Promise<void>} ends it all; `told`: the program has had the signal to end already
 */
export function develop({ program, args, folders, build, tell }) {
  let running;
  let timer;
  let busy = false;
  let again = false;
  let over = false;

  /** One build and start at a time; changes in the meantime wait for it. */
  const round = async () => {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    do {
      again = false;
      // before the build: the addon must not change while a program uses it
      await running?.end();
      running = undefined;
      try {
        await build();
        if (!over && !again) running = launch(program, args, tell);
      } catch (error) {
        tell(error instanceof Failure ? error.message : String(error?.stack ?? error));
        tell('Waiting for a change');
      }
    } while (again && !over);
    busy = false;
  };

  const watchers = folders.map((folder) => {
    const shown = path.relative(ROOT, folder);
    const watcher = watch(folder, { recursive: true }, (_event, name) => {
      if (name === null || !isSource(name)) return;
      clearTimeout(timer);
      timer = setTimeout(() => {
        tell(`${path.join(shown, name)} changed`);
        void round();
      }, SETTLE_MS);
    });
    return watcher.on('error', (error) => tell(`Changes in ${shown} may not be seen: ${error.message}`));
  });
  void round();
  return async (told = false) => {
    over = true;
    clearTimeout(timer);
    for (const watcher of watchers) watcher.close();
    await running?.end(told);
  };
}

/** Calls `stop` at the first signal, then ends the process. */
export function stopOnSignal(stop) {
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => stop(signal === 'SIGINT').then(() => process.exit(0), fail));
  }
}

/** A running program. */
function launch(program, args, tell) {
  const child = spawn(process.execPath, ['--enable-source-maps', program, ...args], { stdio: 'inherit' });
  let ending = false;
  const exited = new Promise((resolve) => child.once('close', resolve));
  child.once('error', (error) => tell(`${program} could not be started: ${error.message}`));
  child.once('exit', (code, signal) => {
    if (!ending) tell(`${program} ended with ${signal ?? `exit code ${code}`}; waiting for a change`);
  });
  return {
    async end(told = false) {
      ending = true;
      const signals = told ? ['SIGTERM', 'SIGKILL'] : ['SIGKILL'];
      if (!told) child.kill('SIGTERM');
      const timer = setInterval(() => child.kill(signals.shift()), KILL_AFTER_MS);
      await exited;
      clearInterval(timer);
    },
  };
}

function isSource(name) {
  const parts = name.split(path.sep);
  return /\.(?:rs|toml|[cm]?[jt]s|json|html|css)$/.test(name) && !parts.includes('node_modules');
}

/** Saving one file causes several events. */
const SETTLE_MS = 100;

/** Longer than a drain. */
const KILL_AFTER_MS = 8_000;

async function main() {
  const [program = DEFAULT_PROGRAM, ...args] = process.argv.slice(2);
  const full = path.resolve(ROOT, program);
  const stop = develop({
    program: full,
    args,
    folders: [...SOURCES.map((folder) => path.join(ROOT, folder)), path.dirname(full)],
    build: () => setUp({ debug: true }),
    tell: (text) => console.log(`[dev] ${text}`),
  });
  stopOnSignal(stop);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await main();
