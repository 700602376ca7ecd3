/** Writing what comes to a file that is there whole or not at all. Knows no messages. */

import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import type { DiskSave, DiskSaves } from './disk-saves.js';
import { nothing } from './quiet.js';

/** Something that can be written to a file without being read first. */
export interface Savable {
  /** Who writes what of it does not come here. */
  readonly saves: DiskSaves;
  /** What came, and comes, goes to `saver`. False: it is being read, or is over. */
  saveWith(saver: Saver): boolean;
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
 * Writes a content into a new file beside `target`, which takes its name when all of it is written: by the native side, or, where
 * somebody has begun to read `stream`, from that.
 *
 * @throws (as a rejection) what the content or the file system fails with; the new file is removed, and what stood there stays
 */
export async function save(content: Savable, stream: Readable, target: string | URL): Promise<void> {
  const path = resolve(typeof target === 'string' ? target : fileURLToPath(target));
  const temporary = `${path}.${randomUUID()}.part`;
  let handle: FileHandle | undefined;
  try {
    handle = await open(temporary, 'wx');
    const saving = new Saving(content, handle, temporary);
    if (content.saveWith(saving)) await saving.done;
    else await pipeline(stream, createWriteStream(temporary, { flags: 'r+' }));
    await handle.close();
    await rename(temporary, path);
  } catch (error) {
    await handle?.close().catch(nothing);
    if (handle !== undefined) await rm(temporary, { force: true }).catch(nothing);
    throw error;
  } finally {
    // nothing more of it is wanted
    stream.destroy();
  }
}

/** One file on its way. What came here before the native side took over is written here. */
class Saving implements Saver, DiskSave {
  readonly done: Promise<void>;
  readonly #content: Savable;
  readonly #handle: FileHandle;
  readonly #path: string;
  #at = 0;
  #written: Promise<void> = Promise.resolve();
  #resolve: () => void = nothing;
  #reject: (error: unknown) => void = nothing;

  constructor(content: Savable, handle: FileHandle, path: string) {
    this.#content = content;
    this.#handle = handle;
    this.#path = path;
    this.done = new Promise((settle, reject) => {
      this.#resolve = settle;
      this.#reject = reject;
    });
  }

  begin(transfer: number): void {
    this.#content.saves.begin(transfer, this.#path, this);
  }

  piece(piece: Buffer, isLast: boolean): void {
    const at = this.#at;
    this.#at += piece.length;
    this.#written = this.#written.then(() => writeAt(this.#handle, piece, at));
    // heard of by `failed` or `#finish`, whichever is first
    this.#written.catch((error: unknown) => this.#reject(error));
    if (isLast) this.#finish();
  }

  saved(bytes: number, isLast: boolean): void {
    this.#content.savedElsewhere(bytes, isLast);
    if (isLast) this.#finish();
  }

  failed(error: Error): void {
    this.#reject(error);
  }

  #finish(): void {
    this.#written.then(this.#resolve, this.#reject);
  }
}

async function writeAt(handle: FileHandle, bytes: Buffer, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, at + done);
    done += bytesWritten;
  }
}
