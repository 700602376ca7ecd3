/** What was sent, as its sender sees it: its id, whether it is on its way, and answers to it. */

import type { Writable } from 'node:stream';

import type { Response } from './message.js';
import { quiet } from './quiet.js';
import type { UUID } from './uuid.js';

/** What a request asks of its connection. */
export interface RequestOwner {
  isSent(): boolean;
  sent(): Promise<void>;
  answer(timeoutMs: number | undefined): Promise<Response | number>;
}

/** See the module. */
export class Request {
  /** Of the message or response that was sent. */
  readonly id: UUID;
  /** What is written here is streamed; null: the draft says nothing of a stream. */
  readonly stream: Writable | null;
  readonly #owner: RequestOwner;

  /** @internal */
  constructor(owner: RequestOwner, id: UUID, stream: Writable | null) {
    this.id = id;
    this.stream = stream;
    this.#owner = owner;
  }

  /** Whether all of it, stream and files included, was handed to the kernel. */
  isSent(): boolean {
    return this.#owner.isSent();
  }

  /**
   * Resolves when `isSent`.
   *
   * @throws {SocketyError} (as a rejection) ERR_SOCKETY_CLOSED, ERR_SOCKETY_NOT_SENT, or what one of its files failed with
   */
  sent(): Promise<this> {
    return quiet(this.#owner.sent().then(() => this));
  }

  /**
   * The next answer that comes after this call: a response, or the number of a fast reply. Each call waits for one answer, so
   * call it in the same tick as `send`.
   *
   * @param timeoutMs how long to wait; default: until the connection ends
   * @throws {SocketyError} (as a rejection) ERR_SOCKETY_CLOSED, ERR_SOCKETY_TIMEOUT
   */
  response(timeoutMs?: number): Promise<Response | number> {
    return this.#owner.answer(timeoutMs);
  }
}
