/**
 * The contents of one message or response: data, a stream and files. Owns which of them have not arrived completely.
 */

import { nothing } from '../log/quiet.js';
import { Content, MessageDataStream, MessageFileStream, MessageStream, type Origin } from './contents.js';
import type { Head } from './record-fields.js';
import { SocketyError } from './sockety-errors.js';

const NONE: readonly Content[] = [];
const NOTHING = Buffer.alloc(0);
const NO_HEAD: Head = {
  isResponse: false,
  expectsResponse: false,
  number: 0,
  id: '',
  parentId: '',
  dataSize: 0,
  totalFilesSize: 0,
  data: 0,
  stream: 0,
  action: '',
  files: [],
};

/** The contents of one message. Their streams are created when they are requested. */
export class Contents {
  /** The contents of a message that has none. */
  static readonly NONE = new Contents(undefined, NO_HEAD, NOTHING, nothing);
  readonly #head: Head;
  readonly #data: Content | undefined;
  readonly #stream: Content | undefined;
  readonly #files: readonly Content[] = NONE;
  #dataStream: MessageDataStream | undefined;
  #streamStream: MessageStream | undefined;
  #fileStreams: MessageFileStream[] | undefined;
  /** The number of contents that have not arrived completely. */
  #left = 0;
  readonly #whenComplete: () => void;
  /** Whether the sender aborted the message. */
  wasAborted = false;

  /** `payload`: all of the data, if it arrived with the head. `whenComplete`: called when nothing more is to arrive. */
  constructor(origin: Origin | undefined, head: Head, payload: Buffer, whenComplete: () => void) {
    this.#head = head;
    this.#whenComplete = whenComplete;
    if (origin === undefined) return;
    if (head.data !== 0) this.#data = this.#coming(origin, head.data);
    else if (head.dataSize > 0) this.#data = Content.whole(origin, payload);
    if (head.stream !== 0) this.#stream = this.#coming(origin, head.stream);
    this.#files = head.files.map(() => this.#coming(origin, 0));
  }

  #coming(origin: Origin, transfer: number): Content {
    this.#left += 1;
    const content = new Content(origin, () => {
      this.#left -= 1;
      if (this.#left === 0) this.#whenComplete();
    });
    if (transfer !== 0) content.comes(transfer);
    return content;
  }

  /** Whether some contents have not arrived completely. */
  get isOpen(): boolean {
    return this.#left > 0;
  }

  /** A file arrives by this transfer. */
  file(index: number, transfer: number): void {
    this.#files[index]?.comes(transfer);
  }

  /** The sender aborts the message. */
  abort(): void {
    this.wasAborted = true;
    this.fail(new SocketyError('ERR_SOCKETY_ABORTED', 'The message was given up by its sender.'));
  }

  /** Ends all contents with an error: the rest will not arrive. */
  fail(error: Error): void {
    for (const content of this.#all()) content.fail(error);
  }

  drop(): void {
    for (const content of this.#all()) content.drop();
  }

  /** Drops contents that were not requested. */
  dropUnread(): void {
    for (const content of this.#all()) content.dropUnread();
  }

  /** Drops contents that were not requested once this object is garbage, because nothing can read them any more. */
  dropWith(received: object): void {
    UNREAD.register(received, this);
  }

  dataStream(): MessageDataStream | null {
    if (this.#data === undefined) return null;
    this.#dataStream ??= new MessageDataStream(this.#data, this.#head.dataSize);
    return this.#dataStream;
  }

  streamStream(): MessageStream | null {
    if (this.#stream === undefined) return null;
    this.#streamStream ??= new MessageStream(this.#stream);
    return this.#streamStream;
  }

  fileStreams(): MessageFileStream[] {
    this.#fileStreams ??= this.#files.map((content, index) => {
      const { name, size } = this.#head.files[index] ?? { name: '', size: 0 };
      return new MessageFileStream(content, size, name);
    });
    return this.#fileStreams;
  }

  /** Collects all of the data. */
  async collect(limit: number): Promise<Buffer> {
    const stream = this.dataStream();
    if (stream === null) return Buffer.alloc(0);
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const piece of stream as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > limit) throw new SocketyError('ERR_SOCKETY_TOO_LARGE', `The data is longer than ${limit} bytes.`);
      pieces.push(piece);
    }
    const [only] = pieces;
    return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces, bytes);
  }

  #all(): Content[] {
    return [this.#data, this.#stream, ...this.#files].filter((content) => content !== undefined);
  }
}

/** Drops unread contents of messages that are garbage. */
const UNREAD = new FinalizationRegistry<Contents>((contents) => {
  contents.dropUnread();
});
