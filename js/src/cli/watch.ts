/** Watching a folder of sources. Owns the watchers and the short wait that makes one change of many; acts on none. */

import { existsSync, type FSWatcher, readdirSync, watch } from 'node:fs';
import path from 'node:path';
import { line } from './terminal.js';

/** A watched folder. */
export interface WatchedFolder {
  close(): void;
}

/**
 * Calls `changed` with the names of sources that changed in `folder` and the folders in it, but not in `node_modules`
 * nor in folders whose name begins with a dot. What changes while a call's promise is pending comes with the next one.
 *
 * Folder by folder: where `fs.watch` is recursive, it cannot be kept out of `node_modules`.
 */
export function watchFolder(folder: string, changed: (files: string[]) => Promise<void>): WatchedFolder {
  const watchers = new Map<string, FSWatcher>();
  const files = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  /** When the first of the changes came that are not told yet; 0: there is none. */
  let since = 0;
  let busy = false;
  let complete = true;

  const later = (): void => {
    const now = performance.now();
    if (since === 0) since = now;
    clearTimeout(timer);
    timer = setTimeout(tell, Math.min(SETTLE_MS, since + LONGEST_MS - now));
  };
  const tell = async (): Promise<void> => {
    since = 0;
    if (busy || files.size === 0) return;
    busy = true;
    const now = [...files].sort();
    // Deno tells a folder's watcher of what is in the folders below it too, by its last name alone
    const there = now.filter((file) => existsSync(path.join(folder, file)));
    files.clear();
    await changed(there.length > 0 ? there : now);
    busy = false;
    if (files.size > 0) later();
  };
  const forget = (at: string): void => {
    watchers.get(at)?.close();
    watchers.delete(at);
  };
  const add = (at: string): void => {
    if (watchers.has(at)) return;
    if (watchers.size >= MOST_FOLDERS) {
      if (complete) line(process.stderr, `millrace: only ${MOST_FOLDERS} folders are watched, not ${at}`);
      complete = false;
      return;
    }
    try {
      const watcher = watch(at, (event, name) => {
        if (name === null) return;
        // a new folder, or one that is gone
        if (event === 'rename') addFolders(at);
        if (!SOURCE.test(name)) return;
        files.add(path.relative(folder, path.join(at, name)));
        later();
      });
      watcher.on('error', () => forget(at));
      watchers.set(at, watcher);
    } catch {
      return; // gone already
    }
    addFolders(at);
  };
  const addFolders = (at: string): void => {
    for (const name of foldersIn(at)) add(path.join(at, name));
  };

  add(folder);
  return {
    close() {
      clearTimeout(timer);
      for (const at of [...watchers.keys()]) forget(at);
    },
  };
}

function foldersIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && entry.name !== 'node_modules' && !entry.name.startsWith('.'))
      .map((entry) => entry.name);
  } catch {
    return []; // gone already
  }
}

const SOURCE = /\.(?:[cm]?[jt]sx?|json)$/;

/** Saving one file makes several events. */
const SETTLE_MS = 100;

/** Something that writes all the time does not put a change off for ever. */
const LONGEST_MS = 1_000;

/** Systems bound how many folders can be watched. */
const MOST_FOLDERS = 1_000;
