/**
 * Watches a folder of sources. Decides which files are sources, and combines changes that follow each other closely.
 * Acts on no change itself.
 */

import path from 'node:path';
import { watch } from 'chokidar';
import { readable } from '../log/report.js';
import { line } from './terminal.js';

/** A folder that is being watched. */
export interface Watch {
  close(): void;
}

/**
 * Handles a change until the signal is aborted. Resolves with whether it is done. If not, it is called again with the
 * same files.
 */
export type Changed = (files: string[], signal: AbortSignal) => Promise<boolean>;

/**
 * Calls `changed` with the names of sources that changed in `folder` and its subfolders. Ignores `node_modules`,
 * folders whose name begins with a dot, and links. Changes while a call's promise is pending are reported by the next
 * call, once the promise is settled; if that takes long, the call's signal is aborted. Folders, including `folder`, may
 * be deleted and created again: the files in them then count as changed. Resolves when changes are detected.
 *
 * chokidar polls the files twice a second. With file system events, it misses changes in a folder that was deleted or
 * moved and created again: in Node.js those of the outermost folder, in Bun and Deno those of any folder.
 */
export async function watchFolder(folder: string, changed: Changed): Promise<Watch> {
  const changes = new Changes(folder, changed);
  const watcher = watch(folder, {
    followSymlinks: false,
    ignored: (at) => isIgnored(folder, at),
    ignoreInitial: true,
    interval: LOOK_MS,
    usePolling: true,
  });
  watcher.on('all', (_event, at) => {
    if (SOURCE.test(at)) changes.add(at);
  });
  watcher.on('error', (error) => line(process.stderr, `millrace: ${readable(error)}; changes may not be seen`));
  await new Promise<void>((resolve) => watcher.on('ready', resolve));
  return {
    close() {
      changes.close();
      void watcher.close();
    },
  };
}

/** Names of changed files that were not reported yet. */
class Changes {
  readonly #folder: string;
  readonly #changed: Changed;
  readonly #files = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  /** When the first of these changes was detected. 0: there is none. */
  #since = 0;
  #closed = false;
  /** Cancels the pending call. */
  #pending: AbortController | undefined;
  #began = 0;
  /**
   * The time limit of a call. It grows with each cancelled call, so that constant changes are handled at some point.
   */
  #timeout = FIRST_TIMEOUT_MS;

  constructor(folder: string, changed: Changed) {
    this.#folder = folder;
    this.#changed = changed;
  }

  add(file: string): void {
    this.#files.add(path.relative(this.#folder, file));
    this.#later();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #later(): void {
    const now = performance.now();
    if (this.#since === 0) this.#since = now;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#tell(), Math.min(SETTLE_MS, this.#since + LONGEST_MS - now));
  }

  async #tell(): Promise<void> {
    this.#since = 0;
    if (this.#files.size === 0) return;
    if (this.#pending !== undefined) return this.#abort(this.#pending);
    const names = [...this.#files].sort();
    this.#files.clear();
    const pending = new AbortController();
    this.#pending = pending;
    this.#began = performance.now();
    const isDone = await this.#changed(names, pending.signal);
    this.#pending = undefined;
    if (this.#closed) return;
    this.#timeout = isDone ? FIRST_TIMEOUT_MS : 2 * this.#timeout;
    if (!isDone) for (const name of names) this.#files.add(name);
    if (this.#files.size > 0) this.#later();
  }

  /** After this, the files that changed meanwhile are reported. */
  #abort(pending: AbortController): void {
    const rest = this.#began + this.#timeout - performance.now();
    if (rest <= 0) pending.abort();
    else this.#timer = setTimeout(() => void this.#tell(), rest);
  }
}

/** Whether a path is ignored: installed packages and hidden files. */
function isIgnored(folder: string, at: string): boolean {
  return path.relative(folder, at).split(path.sep).some(isHidden);
}

function isHidden(name: string): boolean {
  return name === 'node_modules' || name.startsWith('.');
}

const SOURCE = /\.(?:[cm]?[jt]sx?|json)$/;

/** The time to wait for more events, because saving one file causes several. */
const SETTLE_MS = 100;

/** The longest time to wait, so that constant writing does not delay a report for ever. */
const LONGEST_MS = 1_000;

/** The first time limit of a call. Most calls are done by then. It doubles with each cancelled call. */
const FIRST_TIMEOUT_MS = 2_000;

/** The interval of polling. */
const LOOK_MS = 500;
