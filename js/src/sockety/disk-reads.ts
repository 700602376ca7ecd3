/** Files of the file system that the native side reads and sends. Owns who waits for that. */

import { writeLong } from './record-fields.js';
import { systemError } from './system-error.js';

/** See the module. Each connection has one. */
export class DiskReads {
  /** Tells the native side: the fields, and the path in UTF-8. */
  readonly #tell: (fields: Buffer, path: Buffer) => void;
  /** By their transfers. */
  readonly #waiting = new Map<number, Waiting>();

  constructor(tell: (fields: Buffer, path: Buffer) => void) {
    this.#tell = tell;
  }

  /**
   * Sends so many bytes of a file by a transfer, which is over then.
   *
   * @throws (as a rejection) what the file system fails with
   */
  send(transfer: number, size: number, path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.set(transfer, { path, resolve, reject });
      this.#tell(writeDiskFile(transfer, size), Buffer.from(path));
    });
  }

  /** It was sent, or could not be: `problem` says why. */
  sent(transfer: number, problem: string): void {
    const waiting = this.#waiting.get(transfer);
    this.#waiting.delete(transfer);
    if (waiting === undefined) return;
    const { path, resolve, reject } = waiting;
    if (problem === '') resolve();
    else reject(systemError(problem, 'read', path));
  }

  /** The native side could not be told. */
  refused(transfer: number, error: Error): void {
    const waiting = this.#waiting.get(transfer);
    this.#waiting.delete(transfer);
    waiting?.reject(error);
  }

  /** Nobody wants it any more. */
  forget(transfer: number): void {
    this.#waiting.delete(transfer);
  }
}

interface Waiting {
  readonly path: string;
  resolve(): void;
  reject(error: Error): void;
}

/** Writes the fields of the operation: the transfer, and how many bytes. */
function writeDiskFile(transfer: number, size: number): Buffer {
  const fields = Buffer.allocUnsafe(16);
  const at = writeLong(fields, transfer, 0);
  writeLong(fields, size, at);
  return fields;
}
