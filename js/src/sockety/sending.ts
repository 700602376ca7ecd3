/**
 * A message that is sent in parts: its data, its files and its stream, each as fast as the peer takes it. Owns how far each is;
 * the native side knows what may be sent when.
 */

import { Writable } from 'node:stream';
import { quiet } from '../log/quiet.js';
import { TURN_ABORTED, TURN_ROOM } from '../worker/kinds.generated.js';
import { Outgoing } from '../worker/outgoing.js';
import type { Origin } from './contents.js';
import type { DiskReads } from './disk-reads.js';
import { FileTransfer, slices } from './file-transfer.js';
import type { Pace } from './pace.js';
import type { Producer } from './producer.js';
import { closed, SocketyError } from './sockety-errors.js';

/** See the module. */
export class Sending {
  /** What the application streams; null: nothing. */
  readonly stream: Writable | null;
  /** Settles when everything was handed to the native side. */
  readonly done: Promise<void>;
  readonly #origin: Origin;
  readonly #pace: Pace;
  readonly #reads: DiskReads;
  readonly #producer: Producer;
  readonly #hasData: boolean;
  readonly #open = new Map<Outgoing, number>();
  /** What the stream is written to, once the message has begun. */
  readonly #begun: Promise<Outgoing | undefined>;
  #begin: (stream: Outgoing | undefined) => void = () => undefined;
  #settle: { resolve: () => void; reject: (error: unknown) => void } | undefined;
  #over = false;

  /** `mayStream`: the application may write to the stream; if not, it is ended at once. */
  constructor(origin: Origin, pace: Pace, reads: DiskReads, producer: Producer, mayStream: boolean) {
    this.#origin = origin;
    this.#pace = pace;
    this.#reads = reads;
    this.#producer = producer;
    this.#hasData = producer.data !== undefined && producer.data.length > 0;
    this.#begun = new Promise((resolve) => {
      this.#begin = resolve;
    });
    this.done = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    quiet(this.done);
    this.stream = producer.hasStream ? this.#writable() : null;
    if (!mayStream) this.stream?.end();
  }

  /** It has begun: its contents go by these transfers, in the order of the native side. */
  begin(transfers: readonly number[]): void {
    const rest = [...transfers];
    const bodies = rest.map((transfer) => this.#body(transfer));
    const data = this.#hasData ? bodies.shift() : undefined;
    const stream = this.#producer.hasStream ? bodies.shift() : undefined;
    this.#begin(stream);
    const parts: Promise<void>[] = [];
    if (data !== undefined) {
      parts.push(this.#pace.alone(() => this.#pump(data, slices(this.#producer.data as Buffer, PACKET_BYTES))));
    }
    if (bodies.length > 0) parts.push(this.#files(bodies));
    if (stream !== undefined) parts.push(this.#whole(stream));
    Promise.all(parts).then(
      () => this.#finish(undefined),
      (error: unknown) => this.fail(error),
    );
  }

  /** The rest is not sent. */
  fail(error: unknown): void {
    if (this.#over) return;
    this.#finish(error);
    this.#begin(undefined);
    for (const body of [...this.#open.keys()]) body.abort();
    this.#open.clear();
    this.stream?.destroy(error instanceof Error ? error : undefined);
  }

  #finish(error: unknown): void {
    if (this.#over) return;
    this.#over = true;
    if (error === undefined) {
      this.#settle?.resolve();
      return;
    }
    this.#settle?.reject(error);
    FileTransfer.abandon(this.#producer.files);
  }

  #body(transfer: number): Outgoing {
    const { worker, transfers } = this.#origin;
    const over = (): void => this.#closed(body, transfer);
    const body = new Outgoing(worker, transfer, { ended: over, overrun: over, deserted: over });
    this.#open.set(body, transfer);
    transfers.add(transfer, {
      piece: () => undefined,
      turn: (turn) => {
        if (turn === TURN_ROOM) {
          body.room();
          this.#pace.opened();
        }
        if (turn !== TURN_ABORTED) return;
        over();
        body.gone();
        this.fail(closed());
      },
    });
    return body;
  }

  async #files(bodies: readonly Outgoing[]): Promise<void> {
    for (const [index, body] of bodies.entries()) {
      const file = this.#producer.files[index];
      if (file === undefined) continue;
      const path = FileTransfer.pathOf(file);
      if (path === undefined) await this.#pump(body, FileTransfer.open(file));
      else await this.#read(body, file.size, path);
    }
  }

  /** The native side reads it, and ends the body. */
  async #read(body: Outgoing, size: number, path: string): Promise<void> {
    const transfer = this.#open.get(body);
    if (transfer === undefined) return;
    await this.#reads.send(transfer, size, path);
    this.#closed(body, transfer);
    body.gone();
  }

  #closed(body: Outgoing, transfer: number): void {
    this.#origin.transfers.delete(transfer);
    this.#open.delete(body);
    this.#reads.forget(transfer);
    this.#pace.over(transfer);
  }

  async #pump(body: Outgoing, pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<void> {
    for await (const piece of pieces) {
      if (this.#over) return;
      await this.#write(body, piece);
    }
    if (!this.#over) body.end();
  }

  #write(body: Outgoing, piece: Uint8Array): Promise<void> {
    const transfer = this.#open.get(body);
    if (transfer === undefined) return Promise.resolve();
    return this.#pace.write(transfer, body, piece, () => this.#over || !this.#open.has(body));
  }

  /** Until the application has ended the stream. */
  #whole(body: Outgoing): Promise<void> {
    const { stream } = this;
    if (stream === null) return Promise.resolve();
    if (stream.destroyed && !stream.writableFinished) return Promise.reject(destroyed());
    return new Promise((resolve, reject) => {
      stream.once('finish', () => {
        body.end();
        resolve();
      });
      stream.once('close', () => {
        if (!stream.writableFinished) reject(destroyed());
      });
    });
  }

  #writable(): Writable {
    const stream = new Writable({
      write: (chunk: Buffer, _encoding, callback) => {
        this.#begun.then(async (body) => {
          if (body !== undefined && !this.#over) await this.#write(body, chunk);
          callback(this.#over ? closed() : null);
        });
      },
      final: (callback) => {
        this.#begun.then(() => callback(), callback);
      },
    });
    // that it cannot go on is nobody's failure where nobody listens: `sent` says so
    stream.on('error', () => undefined);
    return stream;
  }
}

/** Bytes of a packet of data: what the native side has whole it need not collect. */
const PACKET_BYTES = 1024 * 1024;

function destroyed(): SocketyError {
  return new SocketyError('ERR_SOCKETY_ABORTED', 'The stream was destroyed.');
}
