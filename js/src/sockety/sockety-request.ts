/** A message or response that was sent: its id, whether it is written, and answers to it. */

import type { Writable } from 'node:stream';
import { quiet } from '../log/quiet.js';
import { UUID } from './uuid.js';

/** The connection of a request. Ids are given as bytes. */
export interface RequestOwner<Answer> {
  /** Whether the message with this number is written. */
  isWritten(number: number, id: string): boolean;
  /** Resolves with `value` when that message is written. */
  whenWritten<T>(number: number, id: string, value: T): Promise<T>;
  answer(id: string, timeoutMs: number | undefined): Promise<Answer>;
}

/** A message that is sent in parts. */
export interface Parts {
  isSent: boolean;
  readonly sent: Promise<void>;
  readonly stream: Writable | null;
}

/** See the module. `Request` is beside `Connection`, because an answer names its connection. */
export abstract class SentRequest<Answer> {
  readonly #owner: RequestOwner<Answer>;
  readonly #id: string;
  readonly #number: number;
  readonly #parts: Parts | undefined;

  /** @internal */
  constructor(owner: RequestOwner<Answer>, id: string, number: number, parts: Parts | undefined) {
    this.#owner = owner;
    this.#id = id;
    this.#number = number;
    this.#parts = parts;
  }

  /** The id of the message or response that was sent. */
  get id(): UUID {
    return UUID.ofBytes(this.#id);
  }

  /** The stream to write to. Null: the draft has no stream. */
  get stream(): Writable | null {
    return this.#parts === undefined ? null : this.#parts.stream;
  }

  /** Whether all of it, including its stream and files, was handed to the kernel. */
  isSent(): boolean {
    return this.#parts === undefined ? this.#owner.isWritten(this.#number, this.#id) : this.#parts.isSent;
  }

  /**
   * Resolves when `isSent` is true.
   *
   * @throws {SocketyError} (as a rejection) ERR_SOCKETY_CLOSED, ERR_SOCKETY_NOT_SENT, or the error of one of its files
   */
  sent(): Promise<this> {
    return this.#parts === undefined
      ? this.#owner.whenWritten(this.#number, this.#id, this)
      : quiet(this.#parts.sent.then(() => this));
  }

  /**
   * Resolves with the next answer after this call: a response, or the number of a fast reply. Each call waits for one
   * answer, so call it in the same tick as `send`.
   *
   * @param timeoutMs how long to wait, in milliseconds; default: until the connection ends
   * @throws {SocketyError} (as a rejection) ERR_SOCKETY_CLOSED, ERR_SOCKETY_NOT_SENT, ERR_SOCKETY_TIMEOUT
   */
  response(timeoutMs?: number): Promise<Answer> {
    return this.#owner.answer(this.#id, timeoutMs);
  }
}
