/** Files that the native side reads and sends. Owns the promises that wait for that. */

import { writeLong } from './record-fields.js';
import { systemError } from './system-error.js';

/** See the module. Each connection has one. */
export class DiskReads {
  /** Sends an instruction to the native side: its fields, and the path in UTF-8. */
  readonly #tell: (fields: Buffer, path: Buffer) => void;
  /** By the ids of their transfers. */
  readonly #waiting = new Map<number, Waiting>();

  constructor(tell: (fields: Buffer, path: Buffer) => void) {
    this.#tell = tell;
  }

  /**
   * Sends so many bytes of a file by a transfer, which ends with that.
   *
   * @throws (as a rejection) the error of the file system
   */
  send(transfer: number, size: number, path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.set(transfer, { path, resolve, reject });
      this.#tell(writeDiskFile(transfer, size), Buffer.from(path));
    });
  }

  /** Handles the result. `problem` is the error, or empty. */
  sent(transfer: number, problem: string): void {
    const waiting = this.#waiting.get(transfer);
    this.#waiting.delete(transfer);
    if (waiting === undefined) return;
    const { path, resolve, reject } = waiting;
    if (problem === '') resolve();
    else reject(systemError(problem, 'read', path));
  }

  /** Handles an instruction that could not be delivered. */
  refused(transfer: number, error: Error): void {
    const waiting = this.#waiting.get(transfer);
    this.#waiting.delete(transfer);
    waiting?.reject(error);
  }

  /** Forgets a transfer. */
  forget(transfer: number): void {
    this.#waiting.delete(transfer);
  }
}

interface Waiting {
  readonly path: string;
  resolve(): void;
  reject(error: Error): void;
}

/** Encodes the fields: the transfer, and the number of bytes. */
function writeDiskFile(transfer: number, size: number): Buffer {
  const fields = Buffer.allocUnsafe(16);
  const at = writeLong(fields, transfer, 0);
  writeLong(fields, size, at);
  return fields;
}
