/** What was sent, as its sender sees it: its id, whether it is on its way, and answers to it. */

import type { Writable } from 'node:stream';
import { quiet } from '../log/quiet.js';
import { UUID } from './uuid.js';

/** What a request asks of its connection. Ids are the bytes of a UUID. */
export interface RequestOwner<Answer> {
  /** Whether what was sent under this number is written. */
  isWritten(number: number, id: string): boolean;
  /** Resolves with `value` when it is. */
  whenWritten<T>(number: number, id: string, value: T): Promise<T>;
  answer(id: string, timeoutMs: number | undefined): Promise<Answer>;
}

/** Something that is sent in parts. */
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

  /** Of the message or response that was sent. */
  get id(): UUID {
    return UUID.ofBytes(this.#id);
  }

  /** What is written here is streamed; null: the draft says nothing of a stream. */
  get stream(): Writable | null {
    return this.#parts === undefined ? null : this.#parts.stream;
  }

  /** Whether all of it, stream and files included, was handed to the kernel. */
  isSent(): boolean {
    return this.#parts === undefined ? this.#owner.isWritten(this.#number, this.#id) : this.#parts.isSent;
  }

  /**
   * Resolves when `isSent`.
   *
   * @throws {SocketyError} (as a rejection) ERR_SOCKETY_CLOSED, ERR_SOCKETY_NOT_SENT, or what one of its files failed with
   */
  sent(): Promise<this> {
    return this.#parts === undefined
      ? this.#owner.whenWritten(this.#number, this.#id, this)
      : quiet(this.#parts.sent.then(() => this));
  }

  /**
   * The next answer that comes after this call: a response, or the number of a fast reply. Each call waits for one answer, so
   * call it in the same tick as `send`.
   *
   * @param timeoutMs how long to wait; default: until the connection ends
   * @throws {SocketyError} (as a rejection) ERR_SOCKETY_CLOSED, ERR_SOCKETY_NOT_SENT, ERR_SOCKETY_TIMEOUT
   */
  response(timeoutMs?: number): Promise<Answer> {
    return this.#owner.answer(this.#id, timeoutMs);
  }
}
