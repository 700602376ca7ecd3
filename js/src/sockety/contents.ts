/**
 * The contents of a message: data, files and a stream, which arrive after its head. Owns what has arrived and was not
 * read, and how much more may arrive.
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

/** The source of contents: a transfer of the native side. */
export interface Origin {
  readonly worker: NativeWorker;
  readonly transfers: Transfers;
  readonly saves: DiskSaves;
  /** Changes the number of bytes that are kept until they are read. The argument may be negative. */
  kept(bytes: number): void;
}

/** One of a message's contents. It is kept until it is read. */
export class Content implements TransferEnd, Savable {
  readonly #origin: Origin;
  /** The id of the transfer. 0: everything has arrived, or the id is not known yet. */
  #transfer = 0;
  #pieces: Buffer[] = [];
  /** The bytes in `#pieces`, except those that arrived with the head. */
  #kept = 0;
  /** Bytes that were read and not requested again yet. */
  #owed = WINDOW - FIRST_CREDIT;
  #ended = false;
  #error: Error | undefined;
  /** Whether it was dropped: it will not be read. */
  #dropped = false;
  #reader: ContentStream | undefined;
  /** Whether some of it was read. */
  #isRead = false;
  /** Writes it to a file, in place of a reader. */
  #saver: Saver | undefined;
  readonly #whenEnded: () => void;

  /** `whenEnded` is called once, when nothing more will arrive. */
  constructor(origin: Origin, whenEnded: () => void) {
    this.#origin = origin;
    this.#whenEnded = whenEnded;
  }

  /** Contents that have arrived completely. */
  static whole(origin: Origin, bytes: Buffer): Content {
    const content = new Content(origin, nothing);
    if (bytes.length > 0) content.#pieces.push(bytes);
    content.#ended = true;
    return content;
  }

  /** It arrives by this transfer. */
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

  /** Whether it has ended and everything was taken. */
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

  /** Takes the next piece. Undefined: there is none. As many bytes are requested. */
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

  /** Ends it with an error: the rest will not arrive. */
  fail(error: Error): void {
    if (this.#ended) return;
    this.#end();
    this.#error = error;
    this.#saver?.failed(error);
    this.#reader?.destroy(error);
  }

  /** Discards what has arrived and what is still to arrive. */
  drop(): void {
    if (this.#dropped) return;
    // data that arrived with the head has no further cost, and may be read late
    if (this.#ended && this.#transfer === 0 && this.#reader === undefined) return;
    this.#dropped = true;
    const error = new SocketyError('ERR_SOCKETY_ABORTED', DROPPED);
    // a reader still gets contents that are complete
    if (!this.isOver) this.#reader?.destroy(error);
    this.#letGo();
    if (this.#ended) return;
    this.#saver?.failed(error);
    this.#end();
    if (this.#transfer !== 0) this.#origin.worker.endAnswer(this.#transfer, false);
  }

  /** Drops it unless it has a reader. */
  dropUnread(): void {
    if (this.#reader === undefined) this.drop();
  }

  /** Sets its reader. */
  open(reader: ContentStream): void {
    this.#reader = reader;
    if (this.#error !== undefined) reader.destroy(this.#error);
    else if (this.#dropped) reader.destroy(new SocketyError('ERR_SOCKETY_ABORTED', DROPPED));
    else reader.came(this.#pieces.reduce((sum, piece) => sum + piece.length, 0));
  }

  /** Counts bytes that were read, and requests as many when that is worth a call. */
  #took(bytes: number): void {
    this.#owed += bytes;
    // until it is read, it may still be saved by the native side
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

/** A part of a message's contents as a stream of Node.js. Each chunk is a `Buffer`; the boundaries have no meaning. */
class ContentStream extends Readable {
  /** Bytes that have arrived. */
  receivedSize = 0;
  readonly #content: Content;
  /** Whether the stream waits for the next piece. */
  #isWanted = false;

  /** @internal */
  constructor(content: Content) {
    super({ objectMode: true, highWaterMark: 1 });
    this.#content = content;
    // an error of a stream that is not read must not end the process
    this.on('error', nothing);
    content.open(this);
  }

  /** @internal */
  protected saveContent(target: string | URL): Promise<void> {
    return save(this.#content, this, target);
  }

  /** Reports that bytes, or the end, have arrived. */
  came(bytes: number): void {
    this.receivedSize += bytes;
    if (this.#isWanted) this.#give();
  }

  /** Called by Node.js when more is wanted. */
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

  /** Called by Node.js when nothing more is wanted. */
  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#content.drop();
    callback(error);
  }
}

/** The stream of a message: `message.stream`. */
export class MessageStream extends ContentStream {}

/** A part of a message with a known size. */
class SizedStream extends ContentStream {
  /** The announced size in bytes. */
  readonly size: number;

  /** @internal */
  constructor(content: Content, size: number) {
    super(content);
    this.size = size;
  }

  /** Bytes that have not arrived yet. */
  get bytesLeft(): number {
    return this.size - (this.receivedSize ?? 0);
  }

  /** Whether everything has arrived. */
  get loaded(): boolean {
    return this.bytesLeft === 0;
  }
}

/** The data of a message: `message.data`. */
export class MessageDataStream extends SizedStream {}

/** A file of a message. */
export class MessageFileStream extends SizedStream {
  /** The name that the sender gave. It is not safe as a path. */
  readonly name: string;

  /** @internal */
  constructor(content: Content, size: number, name: string) {
    super(content, size);
    this.name = name;
  }

  /**
   * Saves the file. It appears under its name when all of it has arrived, replacing an existing file, or not at all.
   * Use this method instead of reading: except for the first 64 KiB, the bytes do not enter JavaScript. `bytesLeft` and
   * `loaded` show the progress. After a failure, the file can be neither saved again nor read.
   *
   * @throws {TypeError} (as a rejection) naming what is wrong with the path
   * @throws (as a rejection) SocketyError ERR_SOCKETY_READ if it is being read or saved already, ERR_SOCKETY_ABORTED or
   *   ERR_SOCKETY_CLOSED if not all of it arrived, or the error of the file system
   */
  saveTo(path: string | URL): Promise<void> {
    return quiet(this.saveContent(path));
  }

  /** The last component of `name` without control characters. Never empty, `.` or `..`. */
  get safeName(): string {
    const last = this.name.split(/[\\/]/).at(-1) ?? '';
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression removes control characters
    const safe = last.replace(/[\u0000-\u001f\u007f-\u009f]/g, '');
    return safe === '' || safe === '.' || safe === '..' ? 'file' : safe;
  }
}

const DROPPED = 'The contents were dropped before all of them were read.';
const READ = 'The contents are being read or saved already.';
const CUT = 'The connection was closed before all of the message had come.';
