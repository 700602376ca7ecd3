/** Writing what comes to a file that is there whole or not at all. Knows no messages. */

import { randomUUID } from 'node:crypto';
import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { nothing } from '../quiet.js';
import type { DiskSave, DiskSaves } from './disk-saves.js';

/** Something that can be written to a file instead of being read. */
export interface Savable {
  /** Who writes what of it does not come here. */
  readonly saves: DiskSaves;
  /** What came, and comes, goes to `saver`. Otherwise, returns why not. */
  saveWith(saver: Saver): Error | undefined;
  /** So many bytes more wait to be written here, or fewer. */
  keep(bytes: number): void;
  /** So many bytes were written elsewhere, and whether that was the last of it. */
  savedElsewhere(bytes: number, isLast: boolean): void;
}

/** What is told of what comes. */
export interface Saver {
  /** It comes by this transfer. */
  begin(transfer: number): void;
  piece(piece: Buffer, isLast: boolean): void;
  failed(error: Error): void;
}

/**
 * Writes a content into a new file in the folder of `target`, which takes its name when all of it is written. The native side writes
 * what has not come here. `stream`, which reads the content, is destroyed behind it.
 *
 * @throws {TypeError} (as a rejection) naming what is wrong with the path
 * @throws (as a rejection) what the content or the file system fails with; the new file is removed, and what stood there stays
 */
export async function save(content: Savable, stream: Readable, target: unknown): Promise<void> {
  const saving = new Saving(content, pathOf(target));
  const refused = content.saveWith(saving);
  if (refused !== undefined) throw refused;
  try {
    await saving.done;
  } finally {
    // nothing more of it is wanted
    stream.destroy();
  }
}

function pathOf(target: unknown): string {
  const path = target instanceof URL ? fileURLToPath(target) : target;
  if (typeof path !== 'string' || path === '') {
    throw new TypeError("argument 'path' must be a path that is not empty, or a URL of a file");
  }
  return resolve(path);
}

/** One file on its way. What came here before the native side took over is written here; no descriptor stays open between. */
class Saving implements Saver, DiskSave {
  readonly done: Promise<void>;
  readonly #content: Savable;
  readonly target: string;
  readonly #temporary: string;
  #created: Promise<void> | undefined;
  #at = 0;
  #written: Promise<void> = Promise.resolve();
  #isOver = false;
  #resolve: () => void = nothing;
  #reject: (error: unknown) => void = nothing;

  constructor(content: Savable, target: string) {
    this.#content = content;
    this.target = target;
    // short, as the target's name may be as long as names can be
    this.#temporary = join(dirname(target), `.${randomUUID()}.part`);
    this.done = new Promise((settle, reject) => {
      this.#resolve = settle;
      this.#reject = reject;
    });
  }

  begin(transfer: number): void {
    // told before the file is there: where this thread is ended, the native side removes it
    this.#content.saves.begin(transfer, this.#temporary, this);
    this.#create().catch((error: unknown) => this.#fail(error));
  }

  piece(piece: Buffer, isLast: boolean): void {
    const at = this.#at;
    this.#at += piece.length;
    const before = this.#written;
    this.#content.keep(piece.length);
    this.#written = this.#create()
      .then(() => before)
      .then(() => (piece.length > 0 ? this.#write(piece, at) : undefined))
      .finally(() => this.#content.keep(-piece.length));
    this.#written.catch((error: unknown) => this.#fail(error));
    if (isLast) this.#finish();
  }

  saved(bytes: number, isLast: boolean): void {
    this.#content.savedElsewhere(bytes, isLast);
    if (isLast) this.#finish();
  }

  failed(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    // where the file could not be created here either, that says more
    Promise.resolve(this.#created).then(
      () => this.#fail(error, true),
      (own: unknown) => this.#fail(own, true),
    );
  }

  /** When the first of it has come: it may be one of many that were announced. */
  #create(): Promise<void> {
    this.#created ??= this.#content.saves.inTurn(async () => {
      await refuseFolder(this.target);
      try {
        const handle = await open(this.#temporary, 'wx');
        await handle.close();
      } catch (error) {
        // the native side was first
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
    });
    return this.#created;
  }

  #write(bytes: Buffer, at: number): Promise<void> {
    return this.#content.saves.inTurn(async () => {
      const handle = await open(this.#temporary, 'r+');
      try {
        for (let done = 0; done < bytes.length; ) {
          const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, at + done);
          done += bytesWritten;
        }
      } finally {
        await handle.close();
      }
    });
  }

  #finish(): void {
    Promise.all([this.#create(), this.#written])
      .then(async () => {
        // whoever made it fail meanwhile says so
        if (this.#isOver) return;
        this.#isOver = true;
        await rename(this.#temporary, this.target);
        this.#resolve();
      })
      .catch((error: unknown) => this.#fail(error, true));
  }

  #fail(error: unknown, isLast = false): void {
    if (this.#isOver && !isLast) return;
    this.#isOver = true;
    Promise.allSettled([this.#created, this.#written])
      .then(() => (this.#created === undefined ? undefined : rm(this.#temporary, { force: true })))
      .catch(nothing)
      .then(() => this.#reject(error));
  }
}

/** To take its name would fail once everything is written. */
async function refuseFolder(path: string): Promise<void> {
  const there = await stat(path).catch(nothing);
  if (there?.isDirectory() !== true) return;
  const message = `EISDIR: illegal operation on a directory, open '${path}'`;
  throw Object.assign(new Error(message), { code: 'EISDIR', errno: -21, syscall: 'open', path });
}
