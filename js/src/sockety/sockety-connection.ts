/** One connection that speaks Sockety: what is sent on it, what is waited for, and what came. Owns no socket. */

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
import type { ConnectionEvents } from './connection-events.js';
import type { Origin } from './contents.js';
import { DiskSaves } from './disk-saves.js';
import { checkProducer } from './draft.js';
import { Kept } from './kept.js';
import type { Link } from './link.js';
import { Contents, Message, Response } from './message.js';
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
import { Request } from './sockety-request.js';
import { UUID } from './uuid.js';
import { Waiters } from './waiters.js';

/** Who has a connection. */
export interface Keeper {
  /** Gives up one that has no socket yet. */
  hangUp?(): void;
  /** It is over, however it ended. */
  ended?(): void;
}

/** See the module. */
export class Connection extends EventEmitter<ConnectionEvents> {
  /** There is none before its socket is there. */
  #link: Link | undefined;
  #peer: PeerInfo | undefined;
  readonly #answers = new Answers();
  #origin: Origin | undefined;
  #outbound: Outbound | undefined;
  #kept: Kept | undefined;
  /** Messages whose contents are still coming, by their numbers. */
  readonly #open = new Map<number, Contents>();
  #isReady = false;
  readonly #whenReady = new Waiters();
  readonly #whenClosed = new Waiters();
  #closed = false;
  /** It is closed, or will be as soon as everything is written. */
  #isClosing = false;
  /** The other side sends nothing more. */
  #ended = false;

  readonly #keeper: Keeper;

  /** @internal */
  constructor(keeper: Keeper = {}) {
    super();
    this.#keeper = keeper;
  }

  /** The id of its socket, as handlers get it; 0 while there is none. */
  get socketId(): number {
    return this.#link?.socketId ?? 0;
  }

  /** The address of the other side; undefined on a unix socket, and before it is reached. */
  get remoteAddress(): string | undefined {
    return this.#peer?.remoteAddress;
  }

  /** Its port; undefined on a unix socket, and before it is reached. */
  get remotePort(): number | undefined {
    return this.#peer?.remotePort;
  }

  /** Whether it speaks TLS. */
  get encrypted(): boolean {
    return this.#peer?.encrypted ?? false;
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
    return this.#link?.maxDataSize ?? 0;
  }

  /**
   * Resolves when the header of the other side has come.
   *
   * @throws {SocketyError} (as a rejection) ERR_SOCKETY_CLOSED, or why it could not be connected
   */
  ready(): Promise<this> {
    if (this.#isClosing) {
      return quiet(Promise.reject(new SocketyError('ERR_SOCKETY_CLOSED', 'The connection is already closed')));
    }
    if (this.#isReady) return Promise.resolve(this);
    return quiet(this.#whenReady.wait().then(() => this));
  }

  /**
   * Sends a message or a response, and says that an answer is expected. Never waits.
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
   * Sends a message or a response that expects no answer; a stream of it is ended at once. Resolves when its last byte was
   * handed to the kernel, which does not mean that the other side has it.
   *
   * @throws {SocketyError} ERR_SOCKETY_CLOSED, ERR_SOCKETY_NOT_READY; as a rejection also ERR_SOCKETY_NOT_SENT, and what a file
   *   failed with
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
   * Sends nothing more, and ends it when everything that was sent is written; the other side is told before. With `force` it ends
   * at once. Resolves when it has ended.
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

  /** @internal Answers a message or a response, by the bytes of its id, with a number from 0 to 4095. */
  fastReply(id: string, code: number): Promise<void> {
    if (this.#isClosing || this.#outbound === undefined) return quiet(Promise.reject(closed()));
    this.#outbound.fastReply(id, code);
    return DONE;
  }

  // What the native side tells.

  /** @internal Its socket is there. */
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

  /** @internal The header of the other side has come. So many bytes may wait for it. `tell` tells others before it is an event. */
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

  /** @internal A response has begun: whoever waits for it gets it, or else whoever listens. False: nobody does. */
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

  /** @internal The sender of a message gave it up. */
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

  /** @internal A file of the file system was sent, all of it, or could not be. */
  fileSent(transfer: number, problem: string): void {
    this.#outbound?.fileSent(transfer, problem);
  }

  /** @internal More of a file was written to the file system, or could not be. */
  fileSaved(fields: Buffer, problem: string): void {
    this.#origin?.saves.saved(readLong(fields, 0), readLong(fields, 8), fields[16] === 1, problem);
  }

  /** @internal The native side could not be told something: too much waits, or the socket is gone. */
  untold(operation: number, fields: RecordBuffer): void {
    if (operation === OPERATION_SOCKETY_NOTE) this.#outbound?.noteRefused();
    else if (operation === OPERATION_SOCKETY_CUT) this.#link?.gateway.close(this.#link.socketId, NORMAL);
    else if (operation === OPERATION_SOCKETY_FILE) this.#outbound?.fileRefused(readLong(fields, 0), notSent());
    else if (operation === OPERATION_SOCKETY_SAVE) this.#origin?.saves.refused(readLong(fields, 0));
    else if (fields.length >= FAST_REPLY_BYTES) this.refused(readRefused(fields));
  }

  /** @internal A message, by the bytes of its id, could not be sent, or not to its end. */
  refused(id: string, error: Error = notSent()): void {
    this.#answers.fail(id, error);
    this.#outbound?.refused(id, error);
  }

  /** @internal Everything that was sent before the last note is written. */
  noted(): void {
    this.#outbound?.noted();
  }

  /** @internal The other side sends nothing more: no answers, and where that `isCut`, not the rest of what has begun. */
  inputEnded(isCut: boolean): void {
    this.#ended = true;
    const error = closed();
    this.#answers.failAll(error);
    if (isCut) for (const contents of [...this.#open.values()]) contents.fail(error);
  }

  /** @internal So many signs of life came. */
  heartbeats(count: number): void {
    for (let index = 0; index < count && this.listenerCount('heartbeat') > 0; index++) this.emit('heartbeat');
  }

  /** @internal Something went wrong; without a listener nothing happens. */
  failed(error: Error): void {
    if (this.listenerCount('error') > 0) this.emit('error', error);
  }

  /** @internal Its socket is gone, or none came of it; `why`, if it is a failure. */
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
    // before listeners are called, which may throw
    this.#keeper.ended?.();
    this.#whenClosed.resolve();
    try {
      if (why !== undefined) this.failed(why);
    } finally {
      this.emit('close');
    }
  }

  /**
   * Whether something may be sent.
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

  // What requests ask.

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

/** RFC 6455 7.4.1. */
const NORMAL = 1000;
