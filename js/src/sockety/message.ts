/** Messages and responses that came: what they say, their contents, and answers to them. Sends nothing itself. */

import { nothing, quiet } from '../log/quiet.js';
import { Content, MessageDataStream, MessageFileStream, MessageStream, type Origin } from './contents.js';
import { Draft, ResponseDraft } from './draft.js';
import { packer } from './msgpack.js';
import type { Producer, ResponseFactory } from './producer.js';
import type { Head } from './record-fields.js';
import type { Connection } from './sockety-connection.js';
import { SocketyError } from './sockety-errors.js';
import type { Request } from './sockety-request.js';
import { UUID } from './uuid.js';

/** What a message and a response have in common. */
abstract class Received {
  /** Whether its sender waits for an answer. */
  readonly expectsResponse: boolean;
  /** Bytes of its data. */
  readonly dataSize: number;
  /** How many files it has. */
  readonly filesCount: number;
  /** Bytes of its files together. */
  readonly totalFilesSize: number;
  /** Where it came from. */
  readonly connection: Connection;
  readonly #id: string;
  /** @internal What a `MessageHandler` gave back for it: that never fails, and sees to what nobody asked for. */
  handled: Promise<void> | undefined = undefined;
  readonly #contents: Contents;
  #responded = false;
  #buffer: Promise<Buffer> | undefined;

  constructor(connection: Connection, head: Head, contents: Contents) {
    this.#id = head.id;
    this.expectsResponse = head.expectsResponse;
    this.dataSize = head.dataSize;
    this.filesCount = head.files.length;
    this.totalFilesSize = head.totalFilesSize;
    this.connection = connection;
    this.#contents = contents;
  }

  /** Of the message or the response itself. */
  get id(): UUID {
    return UUID.ofBytes(this.#id);
  }

  /** Its data; null: it has none. */
  get data(): MessageDataStream | null {
    return this.#contents.dataStream();
  }

  /** What its sender streams; null: nothing. */
  get stream(): MessageStream | null {
    return this.#contents.streamStream();
  }

  /** Its files, in the order of its sender. */
  get files(): MessageFileStream[] {
    return this.#contents.fileStreams();
  }

  /** @internal Whether its sender gave it up. */
  get wasAborted(): boolean {
    return this.#contents.wasAborted;
  }

  /** Whether it was answered here. */
  get responded(): boolean {
    return this.#responded;
  }

  /**
   * All of its data; an empty buffer if it has none. Gives the same promise whenever it is called; not to be used together with
   * `data`.
   *
   * @throws {SocketyError} (as a rejection) ERR_SOCKETY_TOO_LARGE, ERR_SOCKETY_CLOSED, ERR_SOCKETY_ABORTED
   */
  dataBuffer(): Promise<Buffer> {
    this.#buffer ??= quiet(this.#contents.collect(this.connection.maxDataSize));
    return this.#buffer;
  }

  /**
   * Its data, read as MessagePack; an empty buffer if it has none.
   *
   * @throws (as a rejection) as `dataBuffer`, or what the data is wrong by
   */
  async msgpack(): Promise<unknown> {
    const bytes = await this.dataBuffer();
    return bytes.length === 0 ? bytes : packer().unpack(bytes);
  }

  /**
   * Answers it with a response.
   *
   * @param factory the result of calling a `ResponseDraft`
   * @throws {SocketyError} ERR_SOCKETY_CLOSED
   */
  respond(factory: ResponseFactory): Request {
    const producer = producerOf(factory, this.id);
    this.#responded = true;
    return this.connection.send(producer);
  }

  /**
   * Answers it with a number from 0 to 4095, also if no answer is expected.
   *
   * @throws {SocketyError} (as a rejection) ERR_SOCKETY_INVALID for other numbers, ERR_SOCKETY_CLOSED
   */
  fastReply(code: number): Promise<void> {
    if (!Number.isInteger(code) || code < 0 || code > MOST_CODE) {
      return quiet(Promise.reject(new SocketyError('ERR_SOCKETY_INVALID', 'Invalid short response code.')));
    }
    this.#responded = true;
    return this.connection.fastReply(this.#id, code);
  }

  /** As `fastReply(0)`. */
  accept(): Promise<void> {
    return this.fastReply(0);
  }

  /** As `fastReply(1)`. */
  reject(): Promise<void> {
    return this.fastReply(1);
  }

  /** Drops what of its contents is still to come, and what of that was not read. */
  discard(): void {
    this.#contents.drop();
  }

  /** @internal Its handler is done: what nobody asked for is dropped. */
  settle(): void {
    this.#contents.dropUnread();
  }
}

/** A message that came. */
export class Message extends Received {
  /** What its sender calls it. */
  readonly action: string;

  constructor(connection: Connection, head: Head, contents: Contents) {
    super(connection, head, contents);
    this.action = head.action;
  }
}

/** A response that came. */
export class Response extends Received {
  readonly #parentId: string;

  constructor(connection: Connection, head: Head, contents: Contents) {
    super(connection, head, contents);
    this.#parentId = head.parentId;
  }

  /** What it answers. */
  get parentId(): UUID {
    return UUID.ofBytes(this.#parentId);
  }
}

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

/** The contents of one message, as streams from when they are asked for. */
export class Contents {
  /** Those of a message that has none. */
  static readonly NONE = new Contents(undefined, NO_HEAD, NOTHING, nothing);
  readonly #head: Head;
  readonly #data: Content | undefined;
  readonly #stream: Content | undefined;
  readonly #files: readonly Content[] = NONE;
  #dataStream: MessageDataStream | undefined;
  #streamStream: MessageStream | undefined;
  #fileStreams: MessageFileStream[] | undefined;
  /** Those that are still to come. */
  #left = 0;
  readonly #whenComplete: () => void;
  /** Its sender gave it up. */
  wasAborted = false;

  /** `payload`: all of the data, where that came with the head. `whenComplete`: nothing more is to come. */
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

  /** Whether some of them are still to come. */
  get isOpen(): boolean {
    return this.#left > 0;
  }

  /** A file comes by this transfer. */
  file(index: number, transfer: number): void {
    this.#files[index]?.comes(transfer);
  }

  /** Its sender gives it up. */
  abort(): void {
    this.wasAborted = true;
    this.fail(new SocketyError('ERR_SOCKETY_ABORTED', 'The message was given up by its sender.'));
  }

  /** The rest does not come. */
  fail(error: Error): void {
    for (const content of this.#all()) content.fail(error);
  }

  drop(): void {
    for (const content of this.#all()) content.drop();
  }

  /** Drops those that nobody asked for. */
  dropUnread(): void {
    for (const content of this.#all()) content.dropUnread();
  }

  /** Nobody can read what nobody asked for once this is gone. */
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

  /** All of the data. */
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

function producerOf(factory: ResponseFactory, id: UUID): Producer {
  if (factory instanceof ResponseDraft || factory instanceof Draft) {
    throw new TypeError("Raw ResponseDraft's factory should be called to build the producer.");
  }
  if (typeof factory !== 'function') {
    throw new TypeError('respond takes the result of calling a ResponseDraft');
  }
  return factory(id);
}

/** Drops what nobody read of messages that nobody has any more. */
const UNREAD = new FinalizationRegistry<Contents>((contents) => {
  contents.dropUnread();
});

/** What twelve bits can say. */
const MOST_CODE = 4095;
