/**
 * What messages and responses that came have in common: what they say, their contents, and answers to them. Sends nothing itself.
 * `Message` and `Response` are beside `Connection`, because these types name each other.
 */

import { quiet } from '../log/quiet.js';
import type { MessageDataStream, MessageFileStream, MessageStream } from './contents.js';
import { Draft, ResponseDraft } from './draft.js';
import type { Contents } from './message-contents.js';
import { packer } from './msgpack.js';
import type { Producer, ResponseFactory } from './producer.js';
import type { Head } from './record-fields.js';
import { SocketyError } from './sockety-errors.js';
import { UUID } from './uuid.js';

/** The connection that a message came on, of which it needs so much. `Sent` is what `send` returns. */
export interface Answering<Sent> {
  /** The most data that `dataBuffer` collects, in bytes. */
  readonly maxDataSize: number;
  send(producer: Producer): Sent;
  /** Answers a message, by the bytes of its id, with a number from 0 to 4095. */
  fastReply(id: string, code: number): Promise<void>;
}

/** What a message and a response have in common. */
export abstract class Received<From extends Answering<Sent>, Sent> {
  /** Whether its sender waits for an answer. */
  readonly expectsResponse: boolean;
  /** Bytes of its data. */
  readonly dataSize: number;
  /** How many files it has. */
  readonly filesCount: number;
  /** Bytes of its files together. */
  readonly totalFilesSize: number;
  /** Where it came from. */
  readonly connection: From;
  readonly #id: string;
  /** @internal What a `MessageHandler` gave back for it: that never fails, and sees to what nobody asked for. */
  handled: Promise<void> | undefined = undefined;
  readonly #contents: Contents;
  #responded = false;
  #buffer: Promise<Buffer> | undefined;

  constructor(connection: From, head: Head, contents: Contents) {
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
  respond(factory: ResponseFactory): Sent {
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

function producerOf(factory: ResponseFactory, id: UUID): Producer {
  if (factory instanceof ResponseDraft || factory instanceof Draft) {
    throw new TypeError("Raw ResponseDraft's factory should be called to build the producer.");
  }
  if (typeof factory !== 'function') {
    throw new TypeError('respond takes the result of calling a ResponseDraft');
  }
  return factory(id);
}

/** What twelve bits can say. */
const MOST_CODE = 4095;
