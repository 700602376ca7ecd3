/** Watching a folder of sources. Owns what counts as one, and the short wait that makes one change of many; acts on none. */

import path from 'node:path';
import { watch } from 'chokidar';
import { readable } from '../log/report.js';
import { line } from './terminal.js';

/** Sources that are watched. */
export interface Watch {
  close(): void;
}

/** Acts on a change, until the signal is aborted. Resolves to whether it is done: if not, it is told the files again. */
export type Changed = (files: string[], signal: AbortSignal) => Promise<boolean>;

/**
 * Calls `changed` with the names of sources that changed in `folder` and the folders in it, but not in `node_modules`
 * nor in folders whose name begins with a dot, nor behind links. What changes while a call's promise is pending comes with
 * the next call once the promise is settled; if that takes long, the call's signal is aborted. Folders may be deleted and
 * made again, `folder` too: what is in them then has changed. Resolves when changes are seen.
 *
 * chokidar looks at the files twice a second. Where it is told of changes instead, it does not see those of a folder
 * that was deleted or moved and made again: in Node.js of the outermost one, in Bun and Deno of any.
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

/** Names of changed files, until they are told. */
class Changes {
  readonly #folder: string;
  readonly #changed: Changed;
  readonly #files = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  /** When the first of the changes came that are not told yet; 0: there is none. */
  #since = 0;
  #closed = false;
  /** Of the call that is pending. */
  #pending: AbortController | undefined;
  #began = 0;
  /** How long a call is let alone: longer each time, so that what changes all the time is told at some time. */
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

  /** Then the files that changed meanwhile are told. */
  #abort(pending: AbortController): void {
    const rest = this.#began + this.#timeout - performance.now();
    if (rest <= 0) pending.abort();
    else this.#timer = setTimeout(() => void this.#tell(), rest);
  }
}

/** Whether a path is looked at: not what was installed, and nothing hidden. */
function isIgnored(folder: string, at: string): boolean {
  return path.relative(folder, at).split(path.sep).some(isHidden);
}

function isHidden(name: string): boolean {
  return name === 'node_modules' || name.startsWith('.');
}

const SOURCE = /\.(?:[cm]?[jt]sx?|json)$/;

/** Saving one file makes several events. */
const SETTLE_MS = 100;

/** Something that writes all the time does not put a change off for ever. */
const LONGEST_MS = 1_000;

/** How long a call is let alone: most are done by then. Doubled after one that was aborted. */
const FIRST_TIMEOUT_MS = 2_000;

/** How often the sources are looked at. */
const LOOK_MS = 500;
