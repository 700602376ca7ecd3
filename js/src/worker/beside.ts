/**
 * Promises of protocols' own code, which later events do not wait for. Counts them for each connection: its end waits for
 * them, and it is not read while too many are pending. Calls no handler.
 */

import type { NativeWorker } from '../addon/native-interface.js';
import { type Connection, STOP } from './connection.js';
import type { Closing } from './record.js';

/** See the module. */
export class Beside {
  readonly #worker: NativeWorker;

  constructor(worker: NativeWorker) {
    this.#worker = worker;
  }

  /** A promise for an event of this many bytes is pending. */
  begin(connection: Connection, bytes: number): void {
    // hold one event so that the end waits, but not more, because the promises may wait for later input
    if (connection.beside === 0) this.#worker.hold(connection.id, 1, 0);
    connection.beside += 1;
    connection.besideBytes += bytes;
    if (!connection.isStopped && isTooMuch(connection)) {
      connection.isStopped = true;
      this.#worker.hold(connection.id, STOP, 0);
    }
  }

  /**
   * Such a promise is settled or over its time limit. Returns the close that has waited for the last one.
   *
   * @param tells whether the native side is told that the connection has room again
   */
  end(connection: Connection, bytes: number, tells: boolean): Closing | undefined {
    connection.beside -= 1;
    connection.besideBytes -= bytes;
    const { closing } = connection;
    if (closing === undefined) {
      if (tells) this.#release(connection);
      return undefined;
    }
    if (connection.beside > 0) return undefined;
    // the connection is gone, and the event is no longer counted as pending
    if (tells) this.#worker.release(connection.id, 1, 0);
    connection.closing = undefined;
    return closing;
  }

  #release(connection: Connection): void {
    if (connection.isStopped && !isTooMuch(connection)) {
      connection.isStopped = false;
      this.#worker.release(connection.id, STOP, 0);
    }
    if (connection.beside === 0) this.#worker.release(connection.id, 1, 0);
  }
}

/** Whether so many of these promises are pending that the connection is not read. */
function isTooMuch({ beside, besideBytes }: Connection): boolean {
  return beside >= MOST_BESIDE || besideBytes >= MOST_BESIDE_BYTES;
}

/** The most pending promises: as many messages as a connection of Sockety can have in progress, and their bytes. */
const MOST_BESIDE = 4096;
const MOST_BESIDE_BYTES = 16 * 1024 * 1024;
