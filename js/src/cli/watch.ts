/** Watching a folder of sources. Owns the watchers and the short wait that makes one change of many; acts on none. */

import { type FSWatcher, lstatSync, readdirSync, statSync, watch } from 'node:fs';
import path from 'node:path';
import { readable } from '../report.js';
import { filesThere } from '../runtime.js';
import { line } from './terminal.js';

/** Sources that are watched. */
export interface Watch {
  close(): void;
}

/** Acts on a change, until the signal is aborted. Resolves to whether it is done: if not, it is told the files again. */
export type Changed = (files: string[], signal: AbortSignal) => Promise<boolean>;

/** A folder whose watcher is open. */
interface WatchedFolder {
  watcher: FSWatcher;
  /** Which folder has that path: see `identityOf`. */
  identity: string;
}

/**
 * Calls `changed` with the names of sources that changed in `folder` and the folders in it, but not in `node_modules`
 * nor in folders whose name begins with a dot, nor behind links. What changes while a call's promise is pending comes with
 * the next call once the promise is settled; if that takes long, the call's signal is aborted. Folders may be deleted and
 * made again, `folder` too: what is in them then has changed.
 *
 * Folder by folder: where `fs.watch` is recursive, it cannot be kept out of `node_modules`.
 */
export function watchFolder(folder: string, changed: Changed): Watch {
  const changes = new Changes(folder, changed);
  const tree = new Tree(folder, (file) => changes.add(file));
  return {
    close() {
      changes.close();
      tree.close();
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
    const isDone = await this.#changed(filesThere(this.#folder, names), pending.signal);
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

/** The watchers of a folder and of those in it. */
class Tree {
  readonly #root: string;
  readonly #changed: (file: string) => void;
  readonly #folders = new Map<string, WatchedFolder>();
  /** No watcher of a folder tells everywhere that it, or one above it, was deleted or moved. */
  readonly #looks: NodeJS.Timeout;
  /** Which folder it was that failed, by its path. */
  readonly #failed = new Map<string, string>();
  #complete = true;

  constructor(root: string, changed: (file: string) => void) {
    this.#root = root;
    this.#changed = changed;
    this.#add(root, false);
    this.#looks = setInterval(() => this.#check(root), LOOK_MS);
  }

  close(): void {
    clearInterval(this.#looks);
    this.#forget(this.#root);
  }

  /** Watches a folder and those in it. `isNew`: the sources in them have changed. */
  #add(at: string, isNew: boolean): void {
    const identity = identityOf(at);
    if (identity === undefined || this.#folders.has(at)) return;
    if (this.#folders.size >= MOST_FOLDERS) return this.#miss(`only ${MOST_FOLDERS} folders are watched, not ${at}`);
    try {
      const watcher = watch(at, (event, name) => this.#heed(at, event, name));
      watcher.on('error', (error) => {
        this.#forget(at);
        this.#fail(at, identity, error);
      });
      this.#failed.delete(at);
      this.#folders.set(at, { watcher, identity });
      for (const entry of readdirSync(at, { withFileTypes: true })) {
        const full = path.join(at, entry.name);
        if (entry.isDirectory()) {
          if (isWatched(entry.name)) this.#add(full, isNew);
        } else if (isNew && SOURCE.test(entry.name)) this.#changed(full);
      }
    } catch (error) {
      this.#fail(at, identity, error);
    }
  }

  #heed(at: string, event: string, name: string | null): void {
    if (name === null) return;
    const full = path.join(at, name);
    if (event === 'rename') {
      // where a folder is told of its own end, it is by its own name
      if (name === path.basename(at)) this.#check(at);
      if (isWatched(name)) this.#check(full);
    }
    if (SOURCE.test(name)) this.#changed(full);
  }

  /** What has this path may be new, gone, or another folder than the one that is watched. */
  #check(at: string): void {
    const identity = at === this.#root || !isLink(at) ? identityOf(at) : undefined;
    const before = this.#folders.get(at);
    if (before !== undefined) {
      if (before.identity === identity) return;
      this.#forget(at);
    }
    // one that failed may fail again and again: nothing has changed in it
    if (identity !== undefined) this.#add(at, this.#failed.get(at) !== identity);
  }

  #forget(at: string): void {
    for (const [other, { watcher }] of this.#folders) {
      if (other !== at && !other.startsWith(at + path.sep)) continue;
      watcher.close();
      this.#folders.delete(other);
    }
  }

  /** A folder that is gone already is no failure. */
  #fail(at: string, identity: string, error: unknown): void {
    this.#failed.set(at, identity);
    if (identityOf(at) !== undefined) this.#miss(`${at} is not watched: ${readable(error)}`);
  }

  /** Once: the system's limits are met many times in a row. */
  #miss(what: string): void {
    if (this.#complete) line(process.stderr, `millrace: ${what}; changes there, or in more folders, are not seen`);
    this.#complete = false;
  }
}

/** Tells the folder at a path from another one that has the path later; undefined: there is no folder. */
function identityOf(at: string): string | undefined {
  try {
    const found = statSync(at, { bigint: true });
    // a number may be given again at once: then the time differs
    return found.isDirectory() ? `${found.dev} ${found.ino} ${found.birthtimeNs}` : undefined;
  } catch {
    return undefined;
  }
}

function isLink(at: string): boolean {
  try {
    return lstatSync(at).isSymbolicLink();
  } catch {
    return false;
  }
}

function isWatched(name: string): boolean {
  return name !== 'node_modules' && !name.startsWith('.');
}

const SOURCE = /\.(?:[cm]?[jt]sx?|json)$/;

/** Saving one file makes several events. */
const SETTLE_MS = 100;

/** Something that writes all the time does not put a change off for ever. */
const LONGEST_MS = 1_000;

/** How long a call is let alone: most are done by then. Doubled after one that was aborted. */
const FIRST_TIMEOUT_MS = 2_000;

/** How often it is looked whether the folder is still the same. */
const LOOK_MS = 500;

/** Systems bound how many folders can be watched. */
const MOST_FOLDERS = 1_000;
