/** `millrace serve`: a server from one worker module. Owns its options and watches its sources. */

import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import type { MillraceError } from '../errors.js';
import type { StartOptions } from '../gateway/gateway.js';
import type { Server } from '../gateway/server.js';
import { start } from '../index.js';
import { print } from '../log/report.js';
import { type Given, lastOf, type OptionTable, readArguments, seeHelp, UsageError, wholeOf } from './arguments.js';
import { readAddresses, readOrigins } from './listening.js';
import { runUntilSignal } from './running.js';
import { line } from './terminal.js';
import { type Changed, watchFolder } from './watch.js';

/** Runs the command until a signal ends it. Resolves with the exit code. */
export async function serve(args: string[]): Promise<number> {
  const { options, worker, watch } = readServeOptions(args);
  const replaceIn: Changed = (files, signal) =>
    starting.then(
      (server) => replace(server, files, signal),
      () => true, // reported below
    );
  // from the beginning, so that signals and changes during the start have their effect
  const watching = watch ? watchFolder(path.dirname(worker), replaceIn) : undefined;
  const starting = Promise.resolve(watching).then(() => start(options));
  return runUntilSignal(starting, 'ws', () => void watching?.then((watcher) => watcher.close()));
}

/** What the command starts. */
interface ServePlan {
  options: StartOptions;
  /** The path of the worker module. */
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
  const options: StartOptions = {
    bind: readAddresses('serve', 'bind', given.values.get('bind') ?? ['localhost:3000']),
    workerPath: worker,
    origins: readOrigins('serve', given.values.get('origin')),
  };
  if (threads !== undefined) options.threads = threads;
  const files = readFolder(given);
  if (files !== undefined) options.static = files;
  return { options, worker, watch };
}

function readWorker(given: Given): string {
  const [worker, ...others] = given.positionals;
  if (worker === undefined) throw new UsageError(`serve: a worker module is missing${seeHelp('serve')}`);
  if (others.length > 0) throw new UsageError(`serve: unexpected argument ${others[0]}: one worker module is enough`);
  const full = path.resolve(worker);
  if (!existsSync(full)) throw new UsageError(`serve: there is no file ${worker}`);
  if (!statSync(full).isFile()) throw new UsageError(`serve: ${worker} is not a file`);
  return full;
}

function readFolder(given: Given): string | undefined {
  const folder = lastOf(given, 'static');
  if (folder !== undefined && !statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new UsageError(`serve: there is no folder ${folder}`);
  }
  return folder;
}

/** Replaces the workers. Resolves with whether that is done and was not cancelled by the signal. */
async function replace(server: Server, files: string[], signal: AbortSignal): Promise<boolean> {
  const began = performance.now();
  try {
    await server.replaceWorkers({ signal });
    const ms = Math.round(performance.now() - began);
    line(process.stdout, `${files.join(', ')} changed: workers replaced in ${ms} ms`);
  } catch (error) {
    if (signal.aborted) return false;
    // the server is being stopped
    if ((error as MillraceError).code === 'ERR_MILLRACE_NOT_RUNNING') return true;
    print(error as MillraceError);
    line(process.stderr, 'millrace: the workers stay as they are until the next change');
  }
  return true;
}

const TABLE: OptionTable = {
  bind: 'text',
  threads: 'text',
  origin: 'text',
  static: 'text',
  watch: 'flag',
};
