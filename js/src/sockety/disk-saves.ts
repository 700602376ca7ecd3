/** Files that the native side writes to the file system. Owns who is told of each. */

import type { NativeWorker } from '../addon/binding.js';
import { writeLong } from './record-fields.js';
import { systemError } from './system-error.js';
import { Turns } from './turns.js';

/** See the module. Each connection has one. */
export class DiskSaves {
  /** Tells the native side: the fields, and the path in UTF-8. */
  readonly #tell: (fields: Buffer, path: Buffer) => void;
  /** By their transfers. */
  readonly #saves = new Map<number, Begun>();
  readonly #turns = new Turns(AT_ONCE);
  /** What removes a file where this thread is ended before it has its name. */
  readonly guard: FileGuard;

  constructor(tell: (fields: Buffer, path: Buffer) => void, guard: FileGuard) {
    this.#tell = tell;
    this.guard = guard;
  }

  /** Does something with the file system, of which only so much is done at the same time. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    return this.#turns.run(work);
  }

  /** Writes what of a transfer did not come here behind what did. */
  begin(transfer: number, path: string, save: DiskSave): void {
    const begun = { path: Buffer.from(path), save };
    this.#saves.set(transfer, begun);
    this.#begin(transfer, begun);
  }

  #begin(transfer: number, { path }: Begun): void {
    const fields = Buffer.allocUnsafe(8);
    writeLong(fields, transfer, 0);
    this.#tell(fields, path);
  }

  /** So many bytes more were written. */
  saved(transfer: number, bytes: number, isLast: boolean, problem: string): void {
    const save = this.#saves.get(transfer)?.save;
    if (isLast) this.#saves.delete(transfer);
    if (problem === '') save?.saved(bytes, isLast);
    else save?.failed(systemError(problem, 'write', save.target));
  }

  /** The native side could not be told, because it has too much to do: it is told again. */
  refused(transfer: number): void {
    setTimeout(() => {
      const begun = this.#saves.get(transfer);
      // it may have failed meanwhile
      if (begun !== undefined) this.#begin(transfer, begun);
    }, AGAIN_MS);
  }

  /** Nobody wants to be told any more. */
  forget(transfer: number): void {
    this.#saves.delete(transfer);
  }
}

/** The worker of this thread, as far as it removes files. */
export type FileGuard = Pick<NativeWorker, 'guardFile' | 'releaseFile'>;

/** Whom one belongs to. */
export interface DiskSave {
  /** The path that its file gets in the end. */
  readonly target: string;
  saved(bytes: number, isLast: boolean): void;
  failed(error: Error): void;
}

/** One that the native side is told of. */
interface Begun {
  /** Of the new file. */
  readonly path: Buffer;
  readonly save: DiskSave;
}

/** Files that are open here at the same time. */
const AT_ONCE = 8;

/** Time until the native side is told again. */
const AGAIN_MS = 10;
