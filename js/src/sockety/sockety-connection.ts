/**
 * One Sockety connection: sends messages, waits for answers, and reports what arrives. Owns no socket.
 *
 * Over 400 lines because `Message`, `Response`, `Request` and the events are here, too. These types name each other: a
 * message has its connection, `send` returns a request, and that is answered by a response.
 */

import { EventEmitter } from 'node:events';
import { DONE, nothing, quiet } from '../log/quiet.js';
import {
  OPERATION_SOCKETY_CUT,
  OPERATION_SOCKETY_FILE,
  OPERATION_SOCKETY_NOTE,
  OPERATION_SOCKETY_SAVE,
} from '../worker/kinds.generated.js';
import type { PeerInfo } from '../worker/peer.js';
import type { RecordBuffer, SocketEvent } from '../worker/record.js';
import { Answers } from './answers.js';
import type { Origin } from './contents.js';
import { DiskSaves } from './disk-saves.js';
import { checkProducer } from './draft.js';
import { Kept } from './kept.js';
import type { Link } from './link.js';
import { Received } from './message.js';
import { Contents } from './message-contents.js';
import { Outbound } from './outbound.js';
import { Heartbeat, type Producer, Series } from './producer.js';
import {
  FAST_REPLY_BYTES,
  type Head,
  hasContents,
  idOfFastReply,
  readFastReply,
  readId,
  readLong,
  readRefused,
} from './record-fields.js';
import { closed, notSent, SocketyError } from './sockety-errors.js';
import { SentRequest } from './sockety-request.js';
import { UUID } from './uuid.js';
import { Waiters } from './waiters.js';

/** The owner of a connection. */
export interface Keeper {
  /** Gives up a connection that has no socket yet. */
  hangUp?(): void;
  /** The connection has ended, for whatever reason. */
  ended?(): void;
}

/** The events of a `Connection`. */
export interface ConnectionEvents {
  /** The header of the other side has arrived, so that `send` can be used. */
  connect: [];
  /**
   * A message has begun. Only on connections of servers and clients; in a worker, messages go to
   * `handleSocketyMessage`.
   */
  message: [message: Message];
  /** A response has begun. Also emitted for responses that a request waits for. */
  response: [response: Response];
  /** A fast reply has arrived. Also emitted for replies that a request waits for. */
  fastReply: [id: UUID, code: number];
  /** The other side is going to disconnect soon. */
  goAway: [];
  /** A heartbeat has arrived. */
  heartbeat: [];
  /** The other side was silent for too long. `close` follows. */
  timeout: [];
  /** An error of the connection, after which `close` follows, or of a handler. Without a listener it is ignored. */
  error: [error: Error];
  /** The connection has ended, for whatever reason. */
  close: [];
}

/** See the module. */
export class Connection extends EventEmitter<ConnectionEvents> {
  /** Undefined until the connection has a socket. */
  #link: Link | undefined;
  #peer: PeerInfo | undefined;
  readonly #answers = new Answers<Response | number>();
  #origin: Origin | undefined;
  #outbound: Outbound | undefined;
  #kept: Kept | undefined;
  /** Messages whose contents have not arrived completely, by their numbers. */
  readonly #open = new Map<number, Contents>();
  #isReady = false;
  readonly #whenReady = new Waiters();
  readonly #whenClosed = new Waiters();
  #closed = false;
  /** Whether it is closed, or will be as soon as everything is written. */
  #isClosing = false;
  /** Whether the other side sends nothing more. */
  #ended = false;

  readonly #keeper: Keeper;

  /** @internal */
  constructor(keeper: Keeper = {}) {
    super();
    this.#keeper = keeper;
  }

  /** The id of its socket, as handlers get it. 0 while it has none. */
  get socketId(): number {
    return this.#link?.socketId ?? 0;
  }

  /** The address of the other side. Undefined on a unix socket, and before the connection is established. */
  get remoteAddress(): string | undefined {
    return this.#peer?.remoteAddress;
  }

  /** The port of the other side. Undefined on a unix socket, and before the connection is established. */
  get remotePort(): number | undefined {
    return this.#peer?.remotePort;
  }

  /** Whether the connection uses TLS. */
  get encrypted(): boolean {
    return this.#peer?.encrypted ?? false;
  }

  /** Whether the connection has ended. */
  get closed(): boolean {
    return this.#closed;
  }

  /** @internal Whether the other side sends nothing more. */
  get hasEnded(): boolean {
    return this.#ended;
  }

  /** @internal */
  get maxDataSize(): number {
    return this.#link?.maxDataSize ?? 0;
  }

  /**
   * Resolves when the header of the other side has arrived.
   *
   * @throws {SocketyError} (as a rejection) ERR_SOCKETY_CLOSED, or the error because of which it could not connect
   */
  ready(): Promise<this> {
    if (this.#isClosing) {
      return quiet(Promise.reject(new SocketyError('ERR_SOCKETY_CLOSED', 'The connection is already closed')));
    }
    if (this.#isReady) return Promise.resolve(this);
    return quiet(this.#whenReady.wait().then(() => this));
  }

  /**
   * Sends a message or a response that expects an answer. Never waits.
   *
   * @throws {SocketyError} ERR_SOCKETY_CLOSED, ERR_SOCKETY_NOT_READY
   */
  send(producer: Producer): Request {
    checkProducer(producer);
    const outbound = this.#check();
    const id = UUID.randomBytes();
    return outbound.isWhole(producer)
      ? new Request(this, id, outbound.sendWhole(producer, id, true), undefined)
      : new Request(this, id, 0, outbound.sendParts(producer, id, true));
  }

  /**
   * Sends a message or a response that expects no answer. A stream in it is ended at once. Resolves when its last byte
   * was handed to the kernel, which does not mean that the other side has received it.
   *
   * @throws {SocketyError} ERR_SOCKETY_CLOSED, ERR_SOCKETY_NOT_READY; as a rejection also ERR_SOCKETY_NOT_SENT, and the
   *   error of a file
   */
  pass(producer: Producer | Series | Heartbeat): Promise<void> {
    if (producer instanceof Series) {
      return quiet(Promise.all(producer.producers.map((one) => this.pass(one))).then(nothing));
    }
    if (producer instanceof Heartbeat) {
      const outbound = this.#check();
      return outbound.whenWritten(outbound.heartbeat(), '', undefined);
    }
    checkProducer(producer);
    const outbound = this.#check();
    const id = UUID.randomBytes();
    return outbound.isWhole(producer)
      ? outbound.whenWritten(outbound.sendWhole(producer, id, false), id, undefined)
      : outbound.sendParts(producer, id, false).sent;
  }

  /**
   * Closes the connection when everything that was sent is written, and announces that to the other side. Nothing more
   * can be sent. With `force` it closes at once. Resolves when the connection has ended.
   */
  close(force = false): Promise<void> {
    if (this.#closed) return Promise.resolve();
    const whenClosed = this.#whenClosed.wait();
    const isFirst = !this.#isClosing;
    this.#isClosing = true;
    if (this.#link === undefined) {
      this.#keeper.hangUp?.();
      process.nextTick(() => this.ended(undefined));
    } else if (force) {
      this.#outbound?.cut();
    } else if (isFirst) {
      this.#closeWhenWritten(this.#link);
    }
    return whenClosed;
  }

  async #closeWhenWritten(link: Link): Promise<void> {
    await this.#outbound?.allWritten();
    link.replies.flush();
    if (!this.#closed) link.gateway.close(link.socketId, NORMAL);
  }

  /** @internal Answers the message or response with this id, given as bytes, with a number from 0 to 4095. */
  fastReply(id: string, code: number): Promise<void> {
    if (this.#isClosing || this.#outbound === undefined) return quiet(Promise.reject(closed()));
    this.#outbound.fastReply(id, code);
    return DONE;
  }

  // What the native side reports.

  /** @internal The connection has a socket. */
  opened(link: Link, peer?: PeerInfo): this {
    this.#link = link;
    this.#peer = peer;
    const { worker, transfers, socketId } = link;
    this.#kept = new Kept(worker, socketId);
    const tell = (fields: Buffer, path: Buffer) => link.tells.tell(socketId, OPERATION_SOCKETY_SAVE, fields, path);
    const saves = new DiskSaves(tell, worker);
    this.#origin = { worker, transfers, saves, kept: (bytes) => this.#kept?.add(bytes) };
    this.#outbound = new Outbound(link, this.#origin, (id) => this.refused(id));
    return this;
  }

  /**
   * @internal The header of the other side has arrived. `outboxBytes` may wait for it. `tell` is called before the
   *   event is emitted.
   */
  becomesReady(outboxBytes: number, tell: () => void = nothing): void {
    if (this.#isReady || this.#closed) return;
    this.#isReady = true;
    this.#outbound?.limit(outboxBytes);
    this.#whenReady.resolve();
    tell();
    this.emit('connect');
  }

  /** @internal A message or a response has begun. */
  receive(head: Head, payload: Buffer): Message | Response {
    const contents = hasContents(head) ? this.#contents(head, payload) : Contents.NONE;
    const received = head.isResponse ? new Response(this, head, contents) : new Message(this, head, contents);
    if (contents.isOpen) contents.dropWith(received);
    return received;
  }

  #contents(head: Head, payload: Buffer): Contents {
    const { number } = head;
    const contents = new Contents(this.#origin as Origin, head, payload, () => this.#open.delete(number));
    if (contents.isOpen) this.#open.set(number, contents);
    return contents;
  }

  /**
   * @internal A response has begun. It goes to the request that waits for it, and to listeners. Returns false if there
   *   is neither.
   */
  responded(response: Response): boolean {
    const waited = this.#answers.settle(UUID.bytesOf(response.parentId), response);
    const heard = this.listenerCount('response') > 0 && this.emit('response', response);
    return waited || heard;
  }

  /** @internal A file of a message begins. */
  file(number: number, transfer: number, index: number): void {
    const contents = this.#open.get(number);
    if (contents === undefined) this.#link?.worker.endAnswer(transfer, false);
    else contents.file(index, transfer);
  }

  /** @internal The sender aborted a message. */
  aborted(number: number): void {
    const contents = this.#open.get(number);
    this.#open.delete(number);
    contents?.abort();
  }

  /** @internal */
  fastReplied(event: SocketEvent): void {
    const code = readFastReply(event);
    const at = idOfFastReply(event);
    this.#answers.settleAt(event.buffer, at, code);
    if (this.listenerCount('fastReply') > 0) this.emit('fastReply', UUID.ofBytes(readId(event.buffer, at)), code);
  }

  /** @internal A message that is sent in parts has begun. */
  began(fields: RecordBuffer): void {
    this.#outbound?.began(fields);
  }

  /** @internal The native side has sent a file, or failed to. */
  fileSent(transfer: number, problem: string): void {
    this.#outbound?.fileSent(transfer, problem);
  }

  /** @internal The native side has written more of a file, or failed to. */
  fileSaved(fields: Buffer, problem: string): void {
    this.#origin?.saves.saved(readLong(fields, 0), readLong(fields, 8), fields[16] === 1, problem);
  }

  /** @internal An instruction could not be delivered: the native side has too much to do, or the socket is closed. */
  untold(operation: number, fields: RecordBuffer): void {
    if (operation === OPERATION_SOCKETY_NOTE) this.#outbound?.noteRefused();
    else if (operation === OPERATION_SOCKETY_CUT) this.#link?.gateway.close(this.#link.socketId, NORMAL);
    else if (operation === OPERATION_SOCKETY_FILE) this.#outbound?.fileRefused(readLong(fields, 0), notSent());
    else if (operation === OPERATION_SOCKETY_SAVE) this.#origin?.saves.refused(readLong(fields, 0));
    else if (fields.length >= FAST_REPLY_BYTES) this.refused(readRefused(fields));
  }

  /** @internal The message with this id, given as bytes, could not be sent, or not completely. */
  refused(id: string, error: Error = notSent()): void {
    this.#answers.fail(id, error);
    this.#outbound?.refused(id, error);
  }

  /** @internal Everything before the last note is written. */
  noted(): void {
    this.#outbound?.noted();
  }

  /**
   * @internal The other side sends nothing more, so no answers will arrive. If the input was cut off, open contents
   *   will not be completed either.
   */
  inputEnded(isCut: boolean): void {
    this.#ended = true;
    const error = closed();
    this.#answers.failAll(error);
    if (isCut) for (const contents of [...this.#open.values()]) contents.fail(error);
  }

  /** @internal So many heartbeats have arrived. */
  heartbeats(count: number): void {
    for (let index = 0; index < count && this.listenerCount('heartbeat') > 0; index++) this.emit('heartbeat');
  }

  /** @internal Emits `error` if it has a listener. */
  failed(error: Error): void {
    if (this.listenerCount('error') > 0) this.emit('error', error);
  }

  /** @internal The socket is closed, or the connection could not get one. `why`: the error, if there is one. */
  ended(why: Error | undefined): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#isClosing = true;
    this.#ended = true;
    this.#kept?.end();
    const error = closed();
    this.#whenReady.reject(why ?? error);
    this.#answers.failAll(error);
    for (const contents of [...this.#open.values()]) contents.fail(error);
    this.#open.clear();
    this.#outbound?.end(error);
    // before calling listeners, which may throw
    this.#keeper.ended?.();
    this.#whenClosed.resolve();
    try {
      if (why !== undefined) this.failed(why);
    } finally {
      this.emit('close');
    }
  }

  /**
   * Checks that something may be sent.
   *
   * @throws {SocketyError} ERR_SOCKETY_CLOSED, ERR_SOCKETY_NOT_READY
   */
  #check(): Outbound {
    if (this.#isClosing) throw closed();
    if (!this.#isReady || this.#outbound === undefined) {
      throw new SocketyError('ERR_SOCKETY_NOT_READY', 'The connection is not established yet.');
    }
    return this.#outbound;
  }

  // What requests ask for.

  /** @internal */
  isWritten(number: number, id: string): boolean {
    return this.#outbound?.isWritten(number, id) ?? false;
  }

  /** @internal */
  whenWritten<T>(number: number, id: string, value: T): Promise<T> {
    const outbound = this.#outbound;
    return this.#closed || outbound === undefined
      ? quiet(Promise.reject(closed()))
      : outbound.whenWritten(number, id, value);
  }

  /** @internal */
  answer(id: string, timeoutMs: number | undefined): Promise<Response | number> {
    const failure = this.#ended ? closed() : this.#outbound?.failureOf(id);
    return failure === undefined ? this.#answers.next(id, timeoutMs) : quiet(Promise.reject(failure));
  }
}

/** A received message. */
export class Message extends Received<Connection, Request> {
  /** The action, which tells the receiver what to do with the message. */
  readonly action: string;

  constructor(connection: Connection, head: Head, contents: Contents) {
    super(connection, head, contents);
    this.action = head.action;
  }
}

/** A received response. */
export class Response extends Received<Connection, Request> {
  readonly #parentId: string;

  constructor(connection: Connection, head: Head, contents: Contents) {
    super(connection, head, contents);
    this.#parentId = head.parentId;
  }

  /** The id of the message that it answers. */
  get parentId(): UUID {
    return UUID.ofBytes(this.#parentId);
  }
}

/** A message or a response that was sent with `send`. It tells when that is written, and waits for answers. */
export class Request extends SentRequest<Response | number> {}

/** RFC 6455 7.4.1. */
const NORMAL = 1000;
