/** Files that the native side writes. Owns the callbacks of each. */

import type { NativeWorker } from '../addon/native-interface.js';
import { writeLong } from './record-fields.js';
import { systemError } from './system-error.js';
import { Turns } from './turns.js';

/** See the module. Each connection has one. */
export class DiskSaves {
  /** Sends an instruction to the native side: its fields, and the path in UTF-8. */
  readonly #tell: (fields: Buffer, path: Buffer) => void;
  /** By the ids of their transfers. */
  readonly #saves = new Map<number, Begun>();
  readonly #turns = new Turns(AT_ONCE);
  /** Removes a temporary file if this thread ends before the file has its name. */
  readonly guard: FileGuard;

  constructor(tell: (fields: Buffer, path: Buffer) => void, guard: FileGuard) {
    this.#tell = tell;
    this.guard = guard;
  }

  /** Runs work with the file system. Only a limited number of such tasks run at the same time. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    return this.#turns.run(work);
  }

  /** Lets the native side append to a file what has not arrived here of a transfer. */
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

  /** Handles the report that more bytes were written. */
  saved(transfer: number, bytes: number, isLast: boolean, problem: string): void {
    const save = this.#saves.get(transfer)?.save;
    if (isLast) this.#saves.delete(transfer);
    if (problem === '') save?.saved(bytes, isLast);
    else save?.failed(systemError(problem, 'write', save.target));
  }

  /**
   * Handles an instruction that could not be delivered because the native side has too much to do: it is sent again.
   */
  refused(transfer: number): void {
    setTimeout(() => {
      const begun = this.#saves.get(transfer);
      // the transfer may have failed meanwhile
      if (begun !== undefined) this.#begin(transfer, begun);
    }, AGAIN_MS);
  }

  /** Forgets a transfer. */
  forget(transfer: number): void {
    this.#saves.delete(transfer);
  }
}

/** The functions of the thread's worker that remove files. */
export type FileGuard = Pick<NativeWorker, 'guardFile' | 'releaseFile'>;

/** The owner of a file that the native side writes. */
export interface DiskSave {
  /** The path that the file gets in the end. */
  readonly target: string;
  saved(bytes: number, isLast: boolean): void;
  failed(error: Error): void;
}

/** A file that the native side was told to write. */
interface Begun {
  /** The path of the temporary file. */
  readonly path: Buffer;
  readonly save: DiskSave;
}

/** How many files are open here at the same time. */
const AT_ONCE = 8;

/** Time until an instruction is sent again, in milliseconds. */
const AGAIN_MS = 10;
