/** Saves contents to a file that appears completely or not at all. Does not know messages. */

import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { nothing } from '../log/quiet.js';
import type { DiskSave, DiskSaves } from './disk-saves.js';

/** Contents that can be saved to a file instead of being read. */
export interface Savable {
  /** Files that the native side writes. */
  readonly saves: DiskSaves;
  /** Passes everything that has arrived and will arrive to `saver`. Returns the error if that is not possible. */
  saveWith(saver: Saver): Error | undefined;
  /** Changes the number of bytes that wait to be written here. The argument may be negative. */
  keep(bytes: number): void;
  /** Reports bytes that the native side has written, and whether they were the last. */
  savedElsewhere(bytes: number, isLast: boolean): void;
}

/** Gets the pieces of contents that are saved. */
export interface Saver {
  /** The rest arrives by this transfer. */
  begin(transfer: number): void;
  piece(piece: Buffer, isLast: boolean): void;
  failed(error: Error): void;
}

/**
 * Writes contents into a temporary file in the folder of `target`, and renames it when everything is written. The
 * native side writes what has not arrived here. `stream`, which reads the contents, is destroyed afterwards.
 *
 * @throws {TypeError} (as a rejection) naming what is wrong with the path
 * @throws (as a rejection) the error of the contents or of the file system; the temporary file is removed, and an
 *   existing file stays
 */
export async function save(content: Savable, stream: Readable, target: unknown): Promise<void> {
  const saving = new Saving(content, pathOf(target));
  const refused = content.saveWith(saving);
  if (refused !== undefined) throw refused;
  try {
    await saving.done;
  } finally {
    // the contents are not needed any more
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
 * One file that is being saved. Pieces that arrived before the native side took over are written here. Each turn does
 * everything that is possible at its time: a file that has arrived completely is created, written and renamed in one
 * turn. No descriptor stays open between turns.
 */
class Saving implements Saver, DiskSave {
  readonly done: Promise<void>;
  readonly #content: Savable;
  readonly target: string;
  readonly #temporary: string;
  /** The transfer of the contents. 0: everything has arrived. */
  #transfer = 0;
  /** Pieces to write here. */
  #pieces: Buffer[] = [];
  /** The position of the next piece. */
  #at = 0;
  /** Whether the native side knows the file. */
  #isTold = false;
  /** Whether the temporary file may exist. */
  #isCreated = false;
  /** Whether everything has arrived or was written by the native side. */
  #isComplete = false;
  /** The current or pending turn. Undefined: none. */
  #turn: Promise<void> | undefined;
  #isOver = false;
  #resolve: () => void = nothing;
  #reject: (error: unknown) => void = nothing;

  constructor(content: Savable, target: string) {
    this.#content = content;
    this.target = target;
    // a short name, because the target's name may have the maximum length
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

  /**
   * Marks the contents as complete. From now on only the file system is awaited, so that further input can wait for it.
   */
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
        // continue with what arrived too late for that turn
        if (this.#pieces.length > 0 || this.#isComplete) this.#goOn();
      },
      (error: unknown) => {
        this.#turn = undefined;
        if (!this.#isTakenAway(error)) this.#fail(error);
        // the code that removed the file also reports why the rest does not arrive
        else setTimeout(() => this.#fail(error), REASON_MS);
      },
    );
  }

  /** Whether the native side has removed the temporary file, as it does when nothing more arrives. */
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
    // later failures have no effect
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

  /** Creates the file when its first piece has arrived, because a message may announce many files. */
  async #open(): Promise<FileHandle> {
    if (this.#isCreated) return open(this.#temporary, 'r+');
    await refuseFolder(this.target);
    // tell the native side before the file exists, so that it removes the file if this thread ends
    if (this.#transfer !== 0 && !this.#isComplete && !this.#isOver) {
      this.#content.saves.begin(this.#transfer, this.#temporary, this);
      this.#isTold = true;
    }
    // the guard removes the file if this thread ends, also when everything has arrived here
    this.#content.saves.guard.guardFile(this.#temporary);
    this.#isCreated = true;
    try {
      return await open(this.#temporary, 'wx');
    } catch (error) {
      // the native side has created it already
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
    // if this side could not create the file either, its error says more
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

/** Refuses a folder as the target. Renaming to it would fail only after everything was written. */
async function refuseFolder(path: string): Promise<void> {
  const there = await stat(path).catch(nothing);
  if (there?.isDirectory() !== true) return;
  const message = `EISDIR: illegal operation on a directory, open '${path}'`;
  throw Object.assign(new Error(message), { code: 'EISDIR', errno: -21, syscall: 'open', path });
}

/** Time until a failure is reported if no reason for it follows, in milliseconds. */
const REASON_MS = 1000;

/** The memory that counts for each waiting file in addition to its bytes, because many files are short. */
const FILE_COST = 4096;
