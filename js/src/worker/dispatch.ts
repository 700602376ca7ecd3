/**
 * The batches of a worker's queue, decoded: every record goes to its connection. Owns the table of connections and
 * the place in the batch; runs no handler itself.
 */

import type { NativeGateway, NativeWorker } from '../binding.js';
import type { MillraceError } from '../errors.js';
import { Connection } from './connection.js';
import type { WorkerModule } from './module.js';
import {
  type Closing,
  FLAG_ASCII,
  FLAG_SIDECAR,
  KIND_BINARY,
  KIND_CLOSE,
  KIND_DRAIN,
  KIND_MASK,
  KIND_OPEN,
  KIND_TEXT,
  LENGTH_SHIFT,
  NO_SLOT,
  type Opening,
  over,
  type RecordBuffer,
  readClosing,
  readOpening,
} from './record.js';
import { Runner } from './runner.js';

/** See the module. */
export class Dispatcher {
  readonly #worker: NativeWorker;
  readonly #runner: Runner;
  /** By slot. A slot is reused after its CLOSE record, or after a refusal. */
  readonly #connections: (Connection | undefined)[] = [];

  #buffer = NO_BYTES;
  #words = NO_WORDS;
  #sidecars: ArrayBuffer[] = NO_SIDECARS;
  /** The next record, and the end of the batch, in words. */
  #position = 0;
  #end = 0;

  constructor(
    gateway: NativeGateway,
    module: WorkerModule,
    handlerTimeoutMs: number,
    report: (error: MillraceError) => void,
  ) {
    this.#worker = gateway.addWorker(flagsOf(module), (batch, length, sidecars) =>
      this.#drain(batch, length, sidecars),
    );
    this.#runner = new Runner(gateway, this.#worker, module, handlerTimeoutMs, report);
  }

  /** The worker's id. */
  get id(): number {
    return this.#worker.id;
  }

  /** Takes connections from now on. */
  activate(): void {
    this.#worker.activate();
  }

  /** Handles everything that waits and lets every handler finish, for at most `ms`. */
  async settle(ms: number): Promise<void> {
    const deadline = performance.now() + ms;
    for (;;) {
      while (this.#worker.drainNow());
      await this.#runner.settled(deadline - performance.now());
      if ((this.#runner.pending === 0 && this.#worker.isIdle()) || performance.now() >= deadline) return;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  /** Handles nothing any more. */
  end(): void {
    this.#runner.end();
    this.#worker.retire();
    this.#connections.length = 0;
  }

  #drain(batch: ArrayBuffer | null, length: number, sidecars: ArrayBuffer[] | null): boolean {
    if (batch !== null) {
      this.#load(batch);
      this.#sidecars = sidecars ?? NO_SIDECARS;
      this.#position = 0;
      this.#end = length >>> 2;
    } else if (this.#words.length === 0) {
      this.#loadAgain();
    }
    let now = performance.now();
    const until = now + DRAIN_MS;
    let count = 0;
    while (this.#position < this.#end) {
      this.#record();
      // a handler may have transferred `data.buffer` to another thread, and with it the records not yet read
      if (this.#words.length === 0) this.#loadAgain();
      // the first of a row is timed: a look at the clock for every handler would cost as much as many a handler
      if ((count & LOOK_MASK) === 0) this.#worker.observe(Math.trunc((performance.now() - now) * 1000));
      count += 1;
      if ((count & LOOK_MASK) === 0) {
        now = performance.now();
        if (now > until && this.#position < this.#end) return true;
      }
    }
    this.#buffer = NO_BYTES;
    this.#words = NO_WORDS;
    this.#sidecars = NO_SIDECARS;
    return false;
  }

  #load(batch: ArrayBuffer): void {
    this.#buffer = over(batch);
    this.#words = new Uint32Array(batch);
  }

  #loadAgain(): void {
    if (this.#position >= this.#end) return;
    const batch = this.#worker.rebatch();
    if (batch === undefined) this.#position = this.#end;
    else this.#load(batch);
  }

  #record(): void {
    const words = this.#words;
    const at = this.#position;
    const head = words[at] as number;
    const slot = words[at + 1] as number;
    const length = head >>> LENGTH_SHIFT;
    // moved on first: whatever the handler does, the record is not seen again
    this.#position = at + 2 + ((length + 3) >>> 2);
    switch (head & KIND_MASK) {
      case KIND_TEXT:
        this.#text(head, slot, (at + 2) << 2, length);
        break;
      case KIND_BINARY:
        this.#binary(head, slot, (at + 2) << 2, length);
        break;
      case KIND_OPEN:
        this.#open(slot, readOpening(words, this.#buffer, at + 2));
        break;
      case KIND_CLOSE:
        this.#close(slot, readClosing(words, this.#buffer, at + 2));
        break;
      case KIND_DRAIN:
        this.#drained(slot);
        break;
    }
  }

  #text(head: number, slot: number, start: number, length: number): void {
    const connection = this.#connections[slot];
    if (connection === undefined) return;
    const ascii = (head & FLAG_ASCII) !== 0;
    if ((head & FLAG_SIDECAR) !== 0) {
      const beside = this.#sidecar(start);
      const bytes = beside.length;
      this.#runner.text(connection, ascii ? beside.latin1Slice(0, bytes) : beside.utf8Slice(0, bytes), bytes);
      return;
    }
    const buffer = this.#buffer;
    const end = start + length;
    this.#runner.text(connection, ascii ? buffer.latin1Slice(start, end) : buffer.utf8Slice(start, end), length);
  }

  #binary(head: number, slot: number, start: number, length: number): void {
    const connection = this.#connections[slot];
    if (connection === undefined) return;
    if ((head & FLAG_SIDECAR) !== 0) this.#runner.binary(connection, this.#sidecar(start), false);
    else this.#runner.binary(connection, this.#buffer.subarray(start, start + length), true);
  }

  #sidecar(start: number): RecordBuffer {
    const memory = this.#sidecars[this.#words[start >>> 2] as number];
    return memory === undefined ? NO_BYTES : over(memory);
  }

  #open(slot: number, opening: Opening): void {
    const connection = new Connection(opening.id);
    this.#connections[slot] = connection;
    this.#runner.open(connection, opening);
  }

  #close(slot: number, closing: Closing): void {
    const known = slot === NO_SLOT ? undefined : this.#connections[slot];
    if (known?.id === closing.id) {
      this.#connections[slot] = undefined;
      this.#runner.close(known, closing);
      return;
    }
    // another worker accepted it and died
    const inherited = new Connection(closing.id);
    inherited.accepted = true;
    this.#runner.close(inherited, closing);
  }

  #drained(slot: number): void {
    const connection = this.#connections[slot];
    if (connection !== undefined) this.#runner.drained(connection);
  }
}

function flagsOf(module: WorkerModule): number {
  return (
    (module.handleOpen === undefined ? 0 : 1) |
    (module.handleTextMessage === undefined ? 0 : 2) |
    (module.handleBinaryMessage === undefined ? 0 : 4) |
    (module.handleClose === undefined ? 0 : 8) |
    (module.handleDrain === undefined ? 0 : 16)
  );
}

const NO_BYTES = over(new ArrayBuffer(0));
const NO_WORDS = new Uint32Array(0);
const NO_SIDECARS: ArrayBuffer[] = [];

/** How long one drain may take, so that timers and promises get their turn. */
const DRAIN_MS = 8;

/** The clock is looked at after every 16th record. */
const LOOK_MASK = 15;
