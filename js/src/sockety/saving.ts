/** Writing what comes to a file that is there whole or not at all. Knows no messages. */

import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { nothing } from '../log/quiet.js';
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

/**
 * One file on its way. What came here before the native side took over is written here. In each turn everything is done that can be
 * done by then: a file that is all here is created, written and gets its name in one. No descriptor stays open between turns.
 */
class Saving implements Saver, DiskSave {
  readonly done: Promise<void>;
  readonly #content: Savable;
  readonly target: string;
  readonly #temporary: string;
  /** By which it comes; 0: all of it is here. */
  #transfer = 0;
  /** What is to be written here. */
  #pieces: Buffer[] = [];
  /** Where the next of it goes. */
  #at = 0;
  /** The native side knows of the file. */
  #isTold = false;
  /** The file may be there. */
  #isCreated = false;
  /** All of it came, or was written elsewhere. */
  #isComplete = false;
  /** The turn that it waits for or has; undefined: none. */
  #turn: Promise<void> | undefined;
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
    this.#transfer = transfer;
    this.#goOn();
  }

  piece(piece: Buffer, isLast: boolean): void {
    if (this.#isOver) return;
    if (piece.length > 0) {
      this.#content.keep(piece.length);
      this.#pieces.push(piece);
    }
    if (isLast) this.#complete();
    this.#goOn();
  }

  saved(bytes: number, isLast: boolean): void {
    this.#content.savedElsewhere(bytes, isLast);
    if (!isLast || this.#isOver) return;
    this.#complete();
    this.#goOn();
  }

  failed(error: Error): void {
    this.#fail(error);
  }

  /** From now on it waits for the file system alone, so that input can wait for it. */
  #complete(): void {
    this.#isComplete = true;
    this.#content.keep(FILE_COST);
  }

  #goOn(): void {
    if (this.#turn !== undefined || this.#isOver) return;
    const turn = this.#content.saves.inTurn(() => this.#work());
    this.#turn = turn;
    turn.then(
      () => {
        this.#turn = undefined;
        // what came too late for that turn
        if (this.#pieces.length > 0 || this.#isComplete) this.#goOn();
      },
      (error: unknown) => {
        this.#turn = undefined;
        if (!this.#isTakenAway(error)) this.#fail(error);
        // whoever took it away also says why the rest does not come
        else setTimeout(() => this.#fail(error), REASON_MS);
      },
    );
  }

  /** Whether the native side has removed the new file, as it does where nothing more comes. */
  #isTakenAway(error: unknown): boolean {
    const { code, path } = error as NodeJS.ErrnoException;
    return this.#isTold && code === 'ENOENT' && path === this.#temporary;
  }

  async #work(): Promise<void> {
    if (this.#isOver) return;
    if (!this.#isCreated || this.#pieces.length > 0) {
      const handle = await this.#open();
      try {
        for (let piece = this.#pieces[0]; piece !== undefined && !this.#isOver; piece = this.#pieces[0]) {
          await this.#write(handle, piece);
          this.#pieces.shift();
          this.#content.keep(-piece.length);
        }
      } finally {
        await handle.close();
      }
    }
    if (!this.#isComplete || this.#pieces.length > 0 || this.#isOver) return;
    // whoever makes it fail from here on is too late
    this.#isOver = true;
    try {
      await rename(this.#temporary, this.target);
    } catch (error) {
      this.#isOver = false;
      throw error;
    }
    this.#content.saves.guard.releaseFile(this.#temporary);
    this.#content.keep(-FILE_COST);
    this.#resolve();
  }

  /** Creates it when the first of it has come: it may be one of many that were announced. */
  async #open(): Promise<FileHandle> {
    if (this.#isCreated) return open(this.#temporary, 'r+');
    await refuseFolder(this.target);
    // told before the file is there: where this thread is ended, the native side removes it
    if (this.#transfer !== 0 && !this.#isComplete && !this.#isOver) {
      this.#content.saves.begin(this.#transfer, this.#temporary, this);
      this.#isTold = true;
    }
    // … also where all of it is here
    this.#content.saves.guard.guardFile(this.#temporary);
    this.#isCreated = true;
    try {
      return await open(this.#temporary, 'wx');
    } catch (error) {
      // the native side was first
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      return open(this.#temporary, 'r+');
    }
  }

  async #write(handle: FileHandle, bytes: Buffer): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, this.#at);
      done += bytesWritten;
      this.#at += bytesWritten;
    }
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    let reason = error;
    // where the file could not be created here either, that says more
    Promise.resolve(this.#turn)
      .catch((own: unknown) => {
        if (!this.#isTakenAway(own)) reason = own;
      })
      .then(() => (this.#isCreated ? rm(this.#temporary, { force: true }) : undefined))
      .catch(nothing)
      .then(() => {
        this.#content.saves.guard.releaseFile(this.#temporary);
        const left = this.#pieces.reduce((sum, piece) => sum + piece.length, 0);
        this.#pieces = [];
        this.#content.keep(-left - (this.#isComplete ? FILE_COST : 0));
        this.#reject(reason);
      });
  }
}

/** To take its name would fail once everything is written. */
async function refuseFolder(path: string): Promise<void> {
  const there = await stat(path).catch(nothing);
  if (there?.isDirectory() !== true) return;
  const message = `EISDIR: illegal operation on a directory, open '${path}'`;
  throw Object.assign(new Error(message), { code: 'EISDIR', errno: -21, syscall: 'open', path });
}

/** Time until what a file fails with is told if nobody says why it was taken away. */
const REASON_MS = 1000;

/** What a file that waits for the file system costs beside its bytes: many are short. */
const FILE_COST = 4096;
