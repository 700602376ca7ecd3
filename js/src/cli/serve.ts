/** `millrace serve`: a server from one worker module. Owns its options, its signals and what it says. */

import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { MillraceError } from '../errors.js';
import type { Server } from '../gateway.js';
import { start } from '../index.js';
import { isAddress, type StartOptions } from '../options.js';
import type { Origins } from '../protocols/index.js';
import { print, readable } from '../report.js';
import { type Given, lastOf, type OptionTable, readArguments, seeHelp, UsageError, wholeOf } from './arguments.js';
import { bold, line } from './terminal.js';
import { type Changed, watchFolder } from './watch.js';

/** Runs until a signal ends it; resolves to the exit code. */
export async function serve(args: string[]): Promise<number> {
  const { options, worker, watch } = readServeOptions(args);
  const starting = start(options);
  // from the beginning: a signal or a change while the workers start is seen too
  const signals = stopOnSignal(starting);
  const replaceIn: Changed = (files, signal) =>
    starting.then(
      (server) => replace(server, files, signal),
      () => true, // told below
    );
  const watcher = watch ? watchFolder(path.dirname(worker), replaceIn) : undefined;
  let server: Server;
  try {
    server = await starting;
  } catch (error) {
    watcher?.close();
    signals.forget();
    if (error instanceof MillraceError) print(error);
    else line(process.stderr, `millrace: ${readable(error)}`);
    return FAILED;
  }
  // who waits for these lines takes it for up
  for (const address of signals.came() ? [] : server.addresses) {
    const url = address.startsWith('unix:') ? address : `ws://${address}`;
    line(process.stdout, `Listening on ${bold(process.stdout, url)}`);
  }
  const code = await signals.stopped.then(
    () => OK,
    (error: unknown) => {
      line(process.stderr, `millrace: ${readable(error)}`);
      return FAILED;
    },
  );
  watcher?.close();
  // not every runtime ends by itself while it listens for signals, nor what did not stop
  process.exit(code);
}

/** What to start. */
interface ServePlan {
  options: StartOptions;
  /** The worker module's path. */
  worker: string;
  watch: boolean;
}

function readServeOptions(args: string[]): ServePlan {
  const given = readArguments('serve', args, TABLE);
  const worker = readWorker(given);
  const threads = wholeOf('serve', given, 'threads', 0, 1024);
  const watch = given.flags.has('watch');
  if (watch && threads === 0) {
    throw new UsageError('serve: --watch needs workers with threads of their own, so not --threads 0');
  }
  const options: StartOptions = { bind: readBind(given), workerPath: worker, origins: readOrigins(given) };
  if (threads !== undefined) options.threads = threads;
  const files = readFolder(given);
  if (files !== undefined) options.static = files;
  return { options, worker, watch };
}

function readWorker(given: Given): string {
  const [worker, ...others] = given.positionals;
  if (worker === undefined) throw new UsageError(`serve: a worker module is missing${seeHelp('serve')}`);
  if (others.length > 0) throw new UsageError(`serve: one worker module is enough, ${others[0]} is too much`);
  const full = path.resolve(worker);
  if (!existsSync(full)) throw new UsageError(`serve: there is no file ${worker}`);
  if (!statSync(full).isFile()) throw new UsageError(`serve: ${worker} is no file`);
  return full;
}

function readFolder(given: Given): string | undefined {
  const folder = lastOf(given, 'static');
  if (folder !== undefined && !statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new UsageError(`serve: there is no folder ${folder}`);
  }
  return folder;
}

function readBind(given: Given): string[] {
  const bind = given.values.get('bind') ?? ['localhost:3000'];
  const wrong = bind.find((address) => !isAddress(address));
  if (wrong === undefined) return bind;
  const forms = 'ip:port, [ipv6]:port, localhost:port, :port or unix:/path';
  throw new UsageError(`serve: --bind must be ${forms}, not ${JSON.stringify(wrong)}`);
}

function readOrigins(given: Given): Origins {
  const origins = given.values.get('origin') ?? ['same-host'];
  const [first] = origins;
  if (origins.length === 1 && (first === '*' || first === 'same-host')) return first;
  const wrong = origins.find((origin) => !/^[a-z][a-z0-9+.-]*:\/\/[^/\s?#]+$/i.test(origin));
  if (wrong === undefined) return origins;
  throw new UsageError(
    `serve: --origin must be 'same-host', '*' or such as https://example.org, not ${JSON.stringify(wrong)}`,
  );
}

/** Resolves to whether it is done, not given up because of the signal. */
async function replace(server: Server, files: string[], signal: AbortSignal): Promise<boolean> {
  const began = performance.now();
  try {
    await server.replaceWorkers({ signal });
    const ms = Math.round(performance.now() - began);
    line(process.stdout, `${files.join(', ')} changed: workers replaced in ${ms} ms`);
  } catch (error) {
    if (signal.aborted) return false;
    // it was told to stop meanwhile
    if ((error as MillraceError).code === 'ERR_MILLRACE_NOT_RUNNING') return true;
    print(error as MillraceError);
    line(process.stderr, 'millrace: the workers stay as they are until the next change');
  }
  return true;
}

/** What signals do. */
interface Signals {
  /** Whether there was one. */
  came(): boolean;
  /** Resolves when the server has stopped; not at all if it does not start. */
  stopped: Promise<void>;
  /** Leaves signals to the system again. */
  forget(): void;
}

/** The first signal stops the server, once it has started; the second one ends the process. */
function stopOnSignal(starting: Promise<Server>): Signals {
  const heeded: [NodeJS.Signals, () => void][] = [];
  let stopping = false;
  const stopped = new Promise<void>((resolve, reject) => {
    for (const [signal, code] of SIGNALS) {
      const heed = (): void => {
        if (stopping) process.exit(code);
        stopping = true;
        line(process.stdout, 'Stopping');
        // a start that fails is told by whoever waits for it
        starting.then((server) => server.stop().then(resolve, reject)).catch(() => undefined);
      };
      heeded.push([signal, heed]);
      process.on(signal, heed);
    }
  });
  return {
    came: () => stopping,
    stopped,
    forget() {
      for (const [signal, heed] of heeded) process.off(signal, heed);
    },
  };
}

const TABLE: OptionTable = {
  bind: 'text',
  threads: 'text',
  origin: 'text',
  static: 'text',
  watch: 'flag',
};

/** With the exit codes that shells know. */
const SIGNALS: [NodeJS.Signals, number][] = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
];

const OK = 0;
const FAILED = 1;
