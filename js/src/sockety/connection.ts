/** One connection that speaks Sockety: what is sent on it, what is waited for, and what came. Owns no socket. */

import { EventEmitter } from 'node:events';

import type { NativeGateway } from '../binding.js';
import { STOP } from '../worker/connection.js';
import {
  OPERATION_SOCKETY_BEGIN,
  OPERATION_SOCKETY_FAST_REPLY,
  OPERATION_SOCKETY_NOTE,
  OPERATION_SOCKETY_SEND,
} from '../worker/kinds.generated.js';
import { Answers } from './answers.js';
import type { Origin } from './contents.js';
import { Draft, ResponseDraft } from './draft.js';
import { closed, SocketyError } from './errors.js';
import { type Head, readBegan, readFastReply, writeBegin, writeFastReply, writeSend } from './fields.js';
import { Contents, Message, Response } from './message.js';
import { Pace } from './pace.js';
import { Producer } from './producer.js';
import { nothing, quiet } from './quiet.js';
import { Request } from './request.js';
import { Sending } from './sending.js';
import { UUID } from './uuid.js';
import { Written } from './written.js';

/** What a connection tells, and with what. */
export interface ConnectionEvents {
  /** A response has begun; also those that somebody waited for. */
  response: [response: Response];
  /** A fast reply came; also those that somebody waited for. */
  fastReply: [id: UUID, code: number];
  /** The other side will disconnect soon. */
  goAway: [];
  /** It is over, however it ended. */
  close: [];
}

/** What a connection needs of the thread that it belongs to. */
export interface Link extends Omit<Origin, 'kept'> {
  readonly gateway: NativeGateway;
  /** Sends what handlers sent and what waits to be sent together. */
  flush(): void;
  readonly socketId: number;
  /** The most data that is collected for `dataBuffer`, in bytes. */
  readonly maxDataSize: number;
}

/** See the module. */
export class Connection extends EventEmitter<ConnectionEvents> {
  readonly #link: Link;
  readonly #answers = new Answers();
  readonly #pace = new Pace((transfer) => this.#link.worker.wantRoom(transfer));
  readonly #written = new Written(() => this.#tell(OPERATION_SOCKETY_NOTE, NO_FIELDS));
  readonly #origin: Origin;
  /** Bytes of contents that are kept until somebody reads them, and whether they are so many that nothing more is read. */
  #kept = 0;
  #isHeld = false;
  /** Messages whose contents are still coming, by their numbers. */
  readonly #open = new Map<number, Contents>();
  /** Messages that are sent in parts, by the bytes of their ids. */
  readonly #sendings = new Map<string, Sending>();
  #closed = false;
  /** It is closed, or will be as soon as everything is written. */
  #isClosing = false;
  /** The other side sends nothing more. */
  #ended = false;

  /** @internal */
  constructor(link: Link) {
    super();
    this.#link = link;
    const { worker, transfers } = link;
    this.#origin = { worker, transfers, kept: (bytes) => this.#keep(bytes) };
  }

  /** The id of its socket, as handlers get it. */
  get socketId(): number {
    return this.#link.socketId;
  }

  /** Whether it has ended. */
  get closed(): boolean {
    return this.#closed;
  }

  /** @internal Whether anything may still come. */
  get hasEnded(): boolean {
    return this.#ended;
  }

  /** @internal */
  get maxDataSize(): number {
    return this.#link.maxDataSize;
  }

  /**
   * Sends a message or a response, and says that an answer is expected. Never waits.
   *
   * @throws {SocketyError} ERR_SOCKETY_CLOSED
   */
  send(producer: Producer): Request {
    return this.#send(producer, true);
  }

  /**
   * Sends a message or a response that expects no answer; a stream of it is ended at once. Resolves when its last byte was
   * handed to the kernel, which does not mean that the other side has it.
   *
   * @throws {SocketyError} ERR_SOCKETY_CLOSED; as a rejection also ERR_SOCKETY_NOT_SENT, and what a file failed with
   */
  pass(producer: Producer): Promise<void> {
    const request = this.#send(producer, false);
    return quiet(request.sent().then(nothing));
  }

  /** Sends nothing more, and ends it when everything that was sent is written; the other side is told before. */
  close(): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    const sendings = [...this.#sendings.values()].map((sending) => sending.done);
    Promise.allSettled(sendings)
      .then(() => this.#whenWritten(this.#written.count(), ''))
      .catch(nothing)
      .then(() => {
        this.#link.flush();
        if (!this.#closed) this.#link.gateway.close(this.#link.socketId, NORMAL);
      });
  }

  /** @internal Answers a message or a response with a number from 0 to 4095. */
  fastReply(id: UUID, code: number): Promise<void> {
    if (this.#isClosing) return quiet(Promise.reject(closed()));
    const isTaken = this.#tell(OPERATION_SOCKETY_FAST_REPLY, writeFastReply(code, id));
    this.#written.count();
    return isTaken ? Promise.resolve() : quiet(Promise.reject(notSent()));
  }

  // What the native side tells.

  /** @internal A message or a response has begun. */
  receive(head: Head, payload: Buffer): Message | Response {
    const { number } = head;
    const contents = new Contents(this.#origin, head, payload, () => this.#open.delete(number));
    if (contents.isOpen) this.#open.set(number, contents);
    const received = head.isResponse ? new Response(this, head, contents) : new Message(this, head, contents);
    if (contents.isOpen) UNREAD.register(received, contents);
    return received;
  }

  /** @internal A response has begun: whoever waits for it gets it, or else whoever listens. False: nobody does. */
  responded(response: Response): boolean {
    const waited = this.#answers.settle(UUID.bytesOf(response.parentId), response);
    const heard = this.emit('response', response);
    return waited || heard;
  }

  /** @internal A file of a message begins. */
  file(number: number, transfer: number, index: number): void {
    const contents = this.#open.get(number);
    if (contents === undefined) this.#link.worker.endAnswer(transfer, false);
    else contents.file(index, transfer);
  }

  /** @internal The sender of a message gave it up. */
  aborted(number: number): void {
    const contents = this.#open.get(number);
    this.#open.delete(number);
    contents?.abort();
  }

  /** @internal */
  fastReplied(fields: Buffer): void {
    const { code, id } = readFastReply(fields);
    this.#answers.settle(id, code);
    if (this.listenerCount('fastReply') > 0) this.emit('fastReply', UUID.ofBytes(id), code);
  }

  /** @internal A message that is sent in parts has begun. */
  began(fields: Buffer): void {
    const { id, transfers } = readBegan(fields);
    const sending = this.#sendings.get(id);
    if (sending !== undefined) sending.begin(transfers);
    else for (const transfer of transfers) this.#link.worker.endAnswer(transfer, false);
  }

  /** @internal A message, by the bytes of its id, could not be sent, or not to its end. */
  refused(id: string): void {
    const error = notSent();
    this.#answers.fail(id, error);
    this.#sendings.get(id)?.fail(error);
    this.#written.fail(id, error);
  }

  /** @internal Everything that was sent before the last note is written. */
  noted(): void {
    this.#written.noted();
  }

  /** @internal The other side sends nothing more: no answers, and where that `isCut`, not the rest of what has begun. */
  inputEnded(isCut: boolean): void {
    this.#ended = true;
    const error = closed();
    this.#answers.failAll(error);
    if (isCut) for (const contents of [...this.#open.values()]) contents.fail(error);
  }

  /** @internal Its socket is gone. */
  ended(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#isClosing = true;
    this.#ended = true;
    const error = closed();
    this.#answers.failAll(error);
    for (const sending of [...this.#sendings.values()]) sending.fail(error);
    for (const contents of [...this.#open.values()]) contents.fail(error);
    this.#sendings.clear();
    this.#open.clear();
    this.#written.end(error);
    this.emit('close');
  }

  #send(producer: Producer, expectsResponse: boolean): Request {
    checkProducer(producer);
    if (this.#isClosing) throw closed();
    const id = UUID.random();
    const key = UUID.bytesOf(id);
    const { action, parentId, data, files, hasStream } = producer;
    const outgoing = { id, parentId, expectsResponse, action };
    const bytes = data?.length ?? 0;
    if (files.length === 0 && !hasStream && bytes <= WHOLE_BYTES) {
      const isTaken = this.#tell(OPERATION_SOCKETY_SEND, writeSend(outgoing), data);
      const number = this.#written.count();
      return this.#request(id, null, {
        isSent: () => isTaken && this.#written.has(number),
        sent: () => (isTaken ? this.#whenWritten(number, key) : quiet(Promise.reject(notSent()))),
      });
    }
    const sending = new Sending(this.#origin, this.#pace, producer, expectsResponse);
    this.#sendings.set(key, sending);
    if (!this.#tell(OPERATION_SOCKETY_BEGIN, writeBegin(outgoing, hasStream, bytes, files))) sending.fail(notSent());
    let isSent = false;
    const sent = quiet(
      this.#inParts(sending, key).then(() => {
        isSent = true;
      }),
    );
    return this.#request(id, sending.stream, { isSent: () => isSent, sent: () => sent });
  }

  async #inParts(sending: Sending, key: string): Promise<void> {
    try {
      await sending.done;
    } finally {
      this.#sendings.delete(key);
    }
    await this.#whenWritten(this.#written.count(), key);
  }

  #whenWritten(number: number, key: string): Promise<void> {
    return quiet(this.#closed ? Promise.reject(closed()) : this.#written.wait(number, key));
  }

  #request(
    id: UUID,
    stream: Request['stream'],
    sending: { isSent: () => boolean; sent: () => Promise<void> },
  ): Request {
    const answer = (timeoutMs: number | undefined) =>
      quiet(this.#ended ? Promise.reject(closed()) : this.#answers.next(UUID.bytesOf(id), timeoutMs));
    return new Request({ ...sending, answer }, id, stream);
  }

  #keep(bytes: number): void {
    this.#kept += bytes;
    const { worker, socketId } = this.#link;
    if (!this.#isHeld && this.#kept > MOST_KEPT) {
      this.#isHeld = true;
      worker.hold(socketId, STOP, 0);
    } else if (this.#isHeld && this.#kept <= MOST_KEPT / 2) {
      this.#isHeld = false;
      if (!this.#closed) worker.release(socketId, STOP, 0);
    }
  }

  /** In the order of what handlers `send`. False: too much waits, or the socket is gone. */
  #tell(operation: number, fields: Buffer, payload?: Buffer): boolean {
    this.#link.flush();
    return this.#link.worker.tell(this.#link.socketId, operation, fields, payload);
  }
}

function notSent(): SocketyError {
  return new SocketyError('ERR_SOCKETY_NOT_SENT', 'The message could not be sent.');
}

/** @throws {TypeError} also for drafts that were not called */
function checkProducer(producer: unknown): asserts producer is Producer {
  if (producer instanceof Producer) return;
  if (producer instanceof Draft) throw new TypeError("Raw Draft's factory should be called to build the producer.");
  if (producer instanceof ResponseDraft) {
    throw new TypeError("Raw ResponseDraft's factory should be called to build the producer.");
  }
  throw new TypeError("argument 'producer' must be the result of calling a Draft");
}

/** Drops what nobody read of messages that nobody has any more. */
const UNREAD = new FinalizationRegistry<Contents>((contents) => {
  contents.dropUnread();
});

/** Bytes of contents that wait here for somebody who reads them; above it nothing more of the connection is read. */
const MOST_KEPT = 16 * 1024 * 1024;

const NO_FIELDS = Buffer.alloc(0);

/** Longer data goes in parts, as fast as the peer takes it. */
const WHOLE_BYTES = 1024 * 1024;

/** RFC 6455 7.4.1. */
const NORMAL = 1000;
