/**
 * What received messages and responses have in common: their head, their contents, and answers to them. Sends nothing
 * itself. `Message` and `Response` are beside `Connection`, because these types name each other.
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

/** The members that a message needs of its connection. `Sent` is what `send` returns. */
export interface Answering<Sent> {
  /** The most data that `dataBuffer` collects, in bytes. */
  readonly maxDataSize: number;
  send(producer: Producer): Sent;
  /** Answers a message, by the bytes of its id, with a number from 0 to 4095. */
  fastReply(id: string, code: number): Promise<void>;
}

/** What a message and a response have in common. */
export abstract class Received<From extends Answering<Sent>, Sent> {
  /** Whether the sender expects an answer. */
  readonly expectsResponse: boolean;
  /** The size of the data in bytes. */
  readonly dataSize: number;
  /** The number of files. */
  readonly filesCount: number;
  /** The size of all files together in bytes. */
  readonly totalFilesSize: number;
  /** The connection that it arrived on. */
  readonly connection: From;
  readonly #id: string;
  /**
   * @internal The promise that a `MessageHandler` returned for it. It never rejects, and it drops contents that were
   *   not requested.
   */
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

  /** The id of the message or response. */
  get id(): UUID {
    return UUID.ofBytes(this.#id);
  }

  /** The data. Null: it has none. */
  get data(): MessageDataStream | null {
    return this.#contents.dataStream();
  }

  /** The stream. Null: it has none. */
  get stream(): MessageStream | null {
    return this.#contents.streamStream();
  }

  /** The files, in the order of the sender. */
  get files(): MessageFileStream[] {
    return this.#contents.fileStreams();
  }

  /** @internal Whether the sender aborted it. */
  get wasAborted(): boolean {
    return this.#contents.wasAborted;
  }

  /** Whether it was answered on this side. */
  get responded(): boolean {
    return this.#responded;
  }

  /**
   * Resolves with all of its data, or an empty buffer if it has none. Every call returns the same promise. Do not use
   * it together with `data`.
   *
   * @throws {SocketyError} (as a rejection) ERR_SOCKETY_TOO_LARGE, ERR_SOCKETY_CLOSED, ERR_SOCKETY_ABORTED
   */
  dataBuffer(): Promise<Buffer> {
    this.#buffer ??= quiet(this.#contents.collect(this.connection.maxDataSize));
    return this.#buffer;
  }

  /**
   * Resolves with the data, decoded as MessagePack, or an empty buffer if it has none.
   *
   * @throws (as a rejection) as `dataBuffer`, or the error of invalid MessagePack
   */
  async msgpack(): Promise<unknown> {
    const bytes = await this.dataBuffer();
    return bytes.length === 0 ? bytes : packer().unpack(bytes);
  }

  /**
   * Answers with a response.
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
   * Answers with a number from 0 to 4095, even if no answer is expected.
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

  /** The same as `fastReply(0)`. */
  accept(): Promise<void> {
    return this.fastReply(0);
  }

  /** The same as `fastReply(1)`. */
  reject(): Promise<void> {
    return this.fastReply(1);
  }

  /** Drops the contents that were not read, including those that are still to arrive. */
  discard(): void {
    this.#contents.drop();
  }

  /** @internal The handler is done: drops contents that were not requested. */
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

/** The largest number in twelve bits. */
const MOST_CODE = 4095;
