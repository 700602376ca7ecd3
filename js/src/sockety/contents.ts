/**
 * What belongs to a message beside its head: data, files and a stream, as they come. Owns what came and was not read, and how
 * much more may come.
 */

import { Readable } from 'node:stream';

import type { NativeWorker } from '../addon/native-interface.js';
import { nothing, quiet } from '../log/quiet.js';
import { ENOUGH, FIRST_CREDIT, WINDOW } from '../worker/incoming.js';
import { TURN_ABORTED } from '../worker/kinds.generated.js';
import type { TransferEnd, Transfers } from '../worker/transfers.js';
import type { DiskSaves } from './disk-saves.js';
import { type Savable, type Saver, save } from './saving.js';
import { SocketyError } from './sockety-errors.js';

/** Where contents come from: a transfer of the native side. */
export interface Origin {
  readonly worker: NativeWorker;
  readonly transfers: Transfers;
  readonly saves: DiskSaves;
  /** So many bytes more are kept until somebody reads them, or fewer. */
  kept(bytes: number): void;
}

/** One of a message's contents, kept until somebody reads it. */
export class Content implements TransferEnd, Savable {
  readonly #origin: Origin;
  /** 0: it is all here, or not known yet. */
  #transfer = 0;
  #pieces: Buffer[] = [];
  /** Bytes in them, but not of what came with the head. */
  #kept = 0;
  /** Bytes that were read and not yet asked for again. */
  #owed = WINDOW - FIRST_CREDIT;
  #ended = false;
  #error: Error | undefined;
  /** Nobody wants it. */
  #dropped = false;
  #reader: ContentStream | undefined;
  /** Somebody has read something of it. */
  #isRead = false;
  /** It is written to a file instead of being read. */
  #saver: Saver | undefined;
  readonly #whenEnded: () => void;

  /** `whenEnded` is called once, when nothing more comes. */
  constructor(origin: Origin, whenEnded: () => void) {
    this.#origin = origin;
    this.#whenEnded = whenEnded;
  }

  /** Bytes that are all of it. */
  static whole(origin: Origin, bytes: Buffer): Content {
    const content = new Content(origin, nothing);
    if (bytes.length > 0) content.#pieces.push(bytes);
    content.#ended = true;
    return content;
  }

  /** It comes by this transfer. */
  comes(transfer: number): void {
    this.#transfer = transfer;
    if (this.#dropped) {
      this.#origin.worker.endAnswer(transfer, false);
      return;
    }
    this.#origin.transfers.add(transfer, this);
    this.#saver?.begin(transfer);
  }

  get saves(): DiskSaves {
    return this.#origin.saves;
  }

  saveWith(saver: Saver): Error | undefined {
    if (this.#isRead || this.#saver !== undefined) return new SocketyError('ERR_SOCKETY_READ', READ);
    if (this.#error !== undefined) return this.#error;
    if (this.#dropped) return new SocketyError('ERR_SOCKETY_ABORTED', DROPPED);
    this.#saver = saver;
    const pieces = this.#pieces;
    this.#letGo();
    for (const [index, piece] of pieces.entries()) saver.piece(piece, this.#ended && index === pieces.length - 1);
    if (this.#ended && pieces.length === 0) saver.piece(Buffer.alloc(0), true);
    if (!this.#ended && this.#transfer !== 0) saver.begin(this.#transfer);
    return undefined;
  }

  keep(bytes: number): void {
    if (bytes !== 0) this.#origin.kept(bytes);
  }

  savedElsewhere(bytes: number, isLast: boolean): void {
    if (isLast && !this.#ended) this.#end();
    this.#reader?.came(bytes);
  }

  /** Whether all of it was taken. */
  get isOver(): boolean {
    return this.#ended && this.#pieces.length === 0;
  }

  piece(piece: Buffer, last: boolean): void {
    if (last) this.#end();
    if (this.#saver !== undefined) {
      this.#saver.piece(piece, last);
    } else if (piece.length > 0) {
      this.#pieces.push(piece);
      this.#keep(piece.length);
    }
    this.#reader?.came(piece.length);
  }

  /** The next piece, for its reader; undefined: none is here. As much more may come. */
  take(): Buffer | undefined {
    const piece = this.#pieces.shift();
    const bytes = piece?.length ?? 0;
    if (bytes > 0) this.#isRead = true;
    if (this.#kept > 0) this.#keep(-bytes);
    this.#took(bytes);
    return piece;
  }

  turn(turn: number): void {
    if (turn === TURN_ABORTED) this.fail(new SocketyError('ERR_SOCKETY_CLOSED', CUT));
  }

  /** The rest does not come. */
  fail(error: Error): void {
    if (this.#ended) return;
    this.#end();
    this.#error = error;
    this.#saver?.failed(error);
    this.#reader?.destroy(error);
  }

  /** Nobody wants what of it is still to come, nor what waits. */
  drop(): void {
    if (this.#dropped) return;
    // what came with the head costs nothing more, and may be read late
    if (this.#ended && this.#transfer === 0 && this.#reader === undefined) return;
    this.#dropped = true;
    const error = new SocketyError('ERR_SOCKETY_ABORTED', DROPPED);
    // who has all of it still gets it
    if (!this.isOver) this.#reader?.destroy(error);
    this.#letGo();
    if (this.#ended) return;
    this.#saver?.failed(error);
    this.#end();
    if (this.#transfer !== 0) this.#origin.worker.endAnswer(this.#transfer, false);
  }

  /** Drops it, unless somebody reads it. */
  dropUnread(): void {
    if (this.#reader === undefined) this.drop();
  }

  /** Somebody reads it from now on. */
  open(reader: ContentStream): void {
    this.#reader = reader;
    if (this.#error !== undefined) reader.destroy(this.#error);
    else if (this.#dropped) reader.destroy(new SocketyError('ERR_SOCKETY_ABORTED', DROPPED));
    else reader.came(this.#pieces.reduce((sum, piece) => sum + piece.length, 0));
  }

  /** So many bytes were read: as many may come. */
  #took(bytes: number): void {
    this.#owed += bytes;
    // it may still be written elsewhere, from where it came to
    if (!this.#isRead) return;
    if (this.#owed < ENOUGH || this.#ended || this.#transfer === 0) return;
    this.#origin.worker.pull(this.#transfer, this.#owed);
    this.#owed = 0;
  }

  #letGo(): void {
    this.#pieces = [];
    this.#keep(-this.#kept);
  }

  #keep(bytes: number): void {
    this.#kept += bytes;
    if (bytes !== 0) this.#origin.kept(bytes);
  }

  #end(): void {
    this.#ended = true;
    if (this.#transfer !== 0) {
      this.#origin.transfers.delete(this.#transfer);
      this.#origin.saves.forget(this.#transfer);
    }
    this.#whenEnded();
  }
}

/** A part of a message's contents, as a stream of Node: each chunk is a `Buffer`, whose borders mean nothing. */
class ContentStream extends Readable {
  /** Bytes that have come. */
  receivedSize = 0;
  readonly #content: Content;
  /** Somebody waits for the next piece. */
  #isWanted = false;

  /** @internal */
  constructor(content: Content) {
    super({ objectMode: true, highWaterMark: 1 });
    this.#content = content;
    // that it breaks off is nobody's failure where nobody reads it
    this.on('error', nothing);
    content.open(this);
  }

  /** @internal */
  protected saveContent(target: string | URL): Promise<void> {
    return save(this.#content, this, target);
  }

  /** So many bytes more of it came, or its end. */
  came(bytes: number): void {
    this.receivedSize += bytes;
    if (this.#isWanted) this.#give();
  }

  /** As in every stream of Node.js: more is wanted. */
  override _read(): void {
    this.#isWanted = true;
    this.#give();
  }

  #give(): void {
    const piece = this.#content.take();
    if (piece === undefined && !this.#content.isOver) return;
    this.#isWanted = false;
    this.push(piece ?? null);
  }

  /** As in every stream of Node.js: nothing more is wanted. */
  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#content.drop();
    callback(error);
  }
}

/** What a message streams: `message.stream`. */
export class MessageStream extends ContentStream {}

/** A part of a message whose size is known. */
class SizedStream extends ContentStream {
  /** Bytes that were announced. */
  readonly size: number;

  /** @internal */
  constructor(content: Content, size: number) {
    super(content);
    this.size = size;
  }

  /** Bytes that have not come yet. */
  get bytesLeft(): number {
    return this.size - (this.receivedSize ?? 0);
  }

  /** Whether all of it has come. */
  get loaded(): boolean {
    return this.bytesLeft === 0;
  }
}

/** A message's data: `message.data`. */
export class MessageDataStream extends SizedStream {}

/** A file of a message. */
export class MessageFileStream extends SizedStream {
  /** As its sender wrote it: not a safe path. */
  readonly name: string;

  /** @internal */
  constructor(content: Content, size: number, name: string) {
    super(content, size);
    this.name = name;
  }

  /**
   * Writes it to a file that is there whole or not at all: it gets its name when everything has come, and replaces what stood
   * there. Use it instead of reading: but for its first 64 KiB the bytes do not enter JavaScript. `bytesLeft` and `loaded` say
   * how far it is. A file that could not be saved cannot be saved elsewhere, nor read.
   *
   * @throws {TypeError} (as a rejection) naming what is wrong with the path
   * @throws (as a rejection) SocketyError ERR_SOCKETY_READ where it is being read or saved already, ERR_SOCKETY_ABORTED or
   *   ERR_SOCKETY_CLOSED where not all of it came, or what the file system fails with
   */
  saveTo(path: string | URL): Promise<void> {
    return quiet(this.saveContent(path));
  }

  /** The last component of `name`, without control characters: never empty, `.` or `..`. */
  get safeName(): string {
    const last = this.name.split(/[\\/]/).at(-1) ?? '';
    // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what has to go
    const safe = last.replace(/[\u0000-\u001f\u007f-\u009f]/g, '');
    return safe === '' || safe === '.' || safe === '..' ? 'file' : safe;
  }
}

const DROPPED = 'The contents were dropped before all of them were read.';
const READ = 'The contents are being read or saved already.';
const CUT = 'The connection was closed before all of the message had come.';
