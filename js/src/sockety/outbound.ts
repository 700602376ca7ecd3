/**
 * Sends on one connection, whole messages or messages in parts, and knows which were written. Does not know answers.
 */

import { DONE, quiet } from '../log/quiet.js';
import {
  OPERATION_SOCKETY_BEGIN,
  OPERATION_SOCKETY_CUT,
  OPERATION_SOCKETY_FAST_REPLY,
  OPERATION_SOCKETY_FILE,
  OPERATION_SOCKETY_HEARTBEAT,
  OPERATION_SOCKETY_NOTE,
  OPERATION_SOCKETY_SEND,
  OPERATION_SOCKETY_SEND_SHARED,
} from '../worker/kinds.generated.js';
import type { RecordBuffer } from '../worker/record.js';
import { LONGEST } from '../worker/tells.js';
import type { Origin } from './contents.js';
import { DiskReads } from './disk-reads.js';
import { FileTransfer } from './file-transfer.js';
import type { Link } from './link.js';
import { Pace } from './pace.js';
import { Producer } from './producer.js';
import { FAST_REPLY_BYTES, readBegan, sendBytes, writeBegin, writeFastReply, writeSend } from './record-fields.js';
import { Sending } from './sending.js';
import type { Parts } from './sockety-request.js';
import { UUID } from './uuid.js';
import { type Held, Whole } from './whole.js';
import { Written } from './written.js';

/** See the module. Ids are the bytes of a UUID. */
export class Outbound {
  readonly #link: Link;
  readonly #origin: Origin;
  readonly #pace: Pace;
  readonly #written: Written;
  readonly #whole: Whole;
  readonly #reads: DiskReads;
  /** Called with the id of a message for which there is no room. */
  readonly #tooMuch: (id: string) => void;
  /** Messages that are being sent in parts, by their ids. */
  readonly #sendings = new Map<string, Sending>();

  constructor(link: Link, origin: Origin, tooMuch: (id: string) => void) {
    this.#link = link;
    this.#origin = origin;
    this.#pace = new Pace((transfer) => link.worker.wantRoom(transfer));
    this.#tooMuch = tooMuch;
    this.#reads = new DiskReads((fields, path) => {
      link.tells.tell(link.socketId, OPERATION_SOCKETY_FILE, fields, path);
    });
    this.#whole = new Whole(() => this.#written.ask());
    const note = (): void => {
      this.#whole.noting();
      this.#tell(OPERATION_SOCKETY_NOTE, NO_FIELDS);
    };
    this.#written = new Written(note, () => this.#whole.firstHeld);
  }

  /** Whether a message is sent in one piece. Must be asked exactly once for each message. */
  isWhole({ data, fixed, files, hasStream }: Producer): boolean {
    if (files.length > 0 || hasStream) return false;
    if (data === undefined || data.length <= WHOLE_BYTES) return true;
    return fixed?.isKept(this.#link.worker) ?? false;
  }

  /** Sends a message that `isWhole`. Returns its number, for `whenWritten`. */
  sendWhole(producer: Producer, id: string, expectsResponse: boolean): number {
    const number = this.#written.count();
    const fieldBytes = sendBytes(producer.action);
    const bytes = fieldBytes + (producer.data === undefined ? 0 : producer.data.length);
    if (!this.#whole.isHolding && this.#whole.mayTell(bytes)) {
      this.#tellWhole(producer, fieldBytes, id, expectsResponse);
    } else {
      const kept = keeping(producer);
      this.#hold(id, { number, bytes, tell: () => this.#tellWhole(kept, fieldBytes, id, expectsResponse) });
    }
    return number;
  }

  #tellWhole(producer: Producer, fieldBytes: number, id: string, expectsResponse: boolean): void {
    const { tells, socketId, worker } = this.#link;
    const { action, data, fixed, parentId } = producer;
    const bytes = data === undefined ? 0 : data.length;
    const outgoing = { id, parentId: parentId && UUID.bytesOf(parentId), expectsResponse, action };
    if (fieldBytes + bytes <= LONGEST) {
      const at = tells.place(socketId, OPERATION_SOCKETY_SEND, fieldBytes, bytes);
      writeSend(tells.buffer, at, outgoing);
      if (data !== undefined) tells.pay(at, fieldBytes, data);
    } else {
      const fields = Buffer.allocUnsafe(fieldBytes) as RecordBuffer;
      writeSend(fields, 0, outgoing);
      if (fixed !== undefined) {
        tells.tellShared(socketId, OPERATION_SOCKETY_SEND_SHARED, fields, fixed.numberOf(worker));
        return;
      }
      tells.tell(socketId, OPERATION_SOCKETY_SEND, fields, data);
    }
  }

  /** Queues an instruction. If the queue is full, the message `id` fails. */
  #hold(id: string, held: Held): void {
    if (!this.#whole.hold(held)) this.#tooMuch(id);
  }

  /** Sends a message in parts. */
  sendParts(producer: Producer, id: string, expectsResponse: boolean): Parts {
    const { action, data, parentId, files, hasStream } = producer;
    FileTransfer.use(files);
    const sending = new Sending(this.#origin, this.#pace, this.#reads, producer, expectsResponse);
    this.#sendings.set(id, sending);
    const outgoing = { id, parentId: parentId && UUID.bytesOf(parentId), expectsResponse, action };
    const begin = (): void =>
      this.#tell(OPERATION_SOCKETY_BEGIN, writeBegin(outgoing, hasStream, data?.length ?? 0, files));
    if (this.#whole.isHolding) this.#hold(id, { number: this.#written.count(), bytes: 0, tell: begin });
    else begin();
    const parts = { isSent: false, sent: DONE, stream: sending.stream };
    parts.sent = quiet(
      this.#inParts(sending, id).then(() => {
        parts.isSent = true;
      }),
    );
    return parts;
  }

  async #inParts(sending: Sending, id: string): Promise<void> {
    try {
      await sending.done;
    } finally {
      this.#sendings.delete(id);
    }
    await this.whenWritten(this.#written.count(), id, undefined);
  }

  /** Answers a message with a number from 0 to 4095. */
  fastReply(id: string, code: number): void {
    const { tells, socketId } = this.#link;
    const at = tells.place(socketId, OPERATION_SOCKETY_FAST_REPLY, FAST_REPLY_BYTES, 0);
    writeFastReply(tells.buffer, at, code, id);
    this.#whole.told(FAST_REPLY_BYTES);
    this.#written.count();
  }

  /** Sends a heartbeat. Returns its number. */
  heartbeat(): number {
    this.#tell(OPERATION_SOCKETY_HEARTBEAT, ONCE);
    return this.#written.count();
  }

  /** Ends the connection at once. */
  cut(): void {
    this.#tell(OPERATION_SOCKETY_CUT, NO_FIELDS);
  }

  /** Resolves when everything that was sent so far is written or has failed. */
  async allWritten(): Promise<void> {
    await Promise.allSettled([...this.#sendings.values()].map((sending) => sending.done));
    await this.whenWritten(this.#written.count(), '', undefined).catch(() => undefined);
  }

  isWritten(number: number, id: string): boolean {
    return this.#written.has(number, id);
  }

  /** The error of a message that could not be sent. Undefined: it was sent, or may still be. */
  failureOf(id: string): Error | undefined {
    return this.#written.failureOf(id);
  }

  /** Resolves with `value` when the message with this number is written. */
  whenWritten<T>(number: number, id: string, value: T): Promise<T> {
    return this.#written.wait(number, id, value);
  }

  // What the native side reports.

  /** Sets how many bytes may wait for the peer. */
  limit(outboxBytes: number): void {
    this.#pace.limit(outboxBytes);
    this.#whole.limit(outboxBytes);
  }

  /** A message that is sent in parts has begun. */
  began(fields: RecordBuffer): void {
    const { id, transfers } = readBegan(fields);
    const sending = this.#sendings.get(id);
    if (sending !== undefined) sending.begin(transfers);
    else for (const transfer of transfers) this.#link.worker.endAnswer(transfer, false);
  }

  /** A message could not be sent, or not completely. */
  refused(id: string, error: Error): void {
    this.#sendings.get(id)?.fail(error);
    this.#written.fail(id, error);
  }

  /** The native side has sent a file, or failed to. */
  fileSent(transfer: number, problem: string): void {
    this.#reads.sent(transfer, problem);
  }

  /** The native side could not be told to send a file. */
  fileRefused(transfer: number, error: Error): void {
    this.#reads.refused(transfer, error);
  }

  /** Everything before the last note is written. */
  noted(): void {
    this.#written.noted();
    this.#whole.noted();
  }

  /** A note could not be sent. */
  noteRefused(): void {
    this.#written.refused();
  }

  /** The connection is closed. */
  end(error: Error): void {
    for (const sending of [...this.#sendings.values()]) sending.fail(error);
    this.#sendings.clear();
    this.#whole.end();
    this.#written.end(error);
  }

  /** Sends an instruction, in order with what handlers `send`. */
  #tell(operation: number, fields: Buffer): void {
    this.#link.tells.tell(this.#link.socketId, operation, fields);
  }
}

/** The same message with a copy of data that the application may change. */
function keeping(producer: Producer): Producer {
  const { action, data, fixed, parentId } = producer;
  if (data === undefined || fixed !== undefined) return producer;
  return new Producer(action, parentId, { data: Buffer.from(data), fixed, files: undefined, hasStream: false });
}

const NO_FIELDS = Buffer.alloc(0);
const ONCE = Buffer.from([1, 0, 0, 0]);

/** Longer data is sent in parts, as fast as the peer takes it, unless the native side keeps it. */
const WHOLE_BYTES = 64 * 1024;
