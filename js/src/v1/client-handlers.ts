/** The handlers for clients of `millrace.v1`. Types only. */

import type { Position } from '../gateway/positions.js';
import type { Data, Name } from '../gateway/target.js';

/**
 * What `handleSubscribe` answers: whether the client is subscribed. `member` is what the other members of a channel with
 * presence see of it, a value that JSON has.
 */
export type SubscribeAnswer =
  | boolean
  | {
      /** What others see of the client in place of its own `info`. */
      member?: unknown;
    };

/** What `handlePublish` answers: whether it is published, or what is published instead. */
export type PublishAnswer =
  | boolean
  | {
      /** Text or bytes as they are; other values travel as JSON. */
      data: Data | object;
    };

/** Where a client wants to begin, and what it says of itself. */
export interface SubscribeRequest {
  /** The position behind which the client wants to go on. Undefined: it gave none. */
  since: Position | undefined;
  /** What the client says of itself: a value from JSON. Undefined: nothing. */
  info: unknown;
}

/**
 * Handlers for clients of the subprotocol `millrace.v1`. Each is bounded by `handlerTimeoutMs`. One that throws answers its
 * client with the code `failed`, one that takes too long with `timeout`, and one that throws a `CallError` with the code of
 * that; the connection stays. A pending one holds up only what the same client wants of the same channel.
 */
export interface ClientHandlers<Token = Uint8Array> {
  /**
   * Called when a client wants to subscribe itself to a channel whose terms have `clients.subscribe`. False denies it. Where a
   * worker has this handler, a client may read the history of a channel only while it is subscribed to it.
   *
   * @param channel the channel's name; bytes if it is not UTF-8
   */
  handleSubscribe?(
    channel: Name,
    socketId: number,
    token: Token | undefined,
    request: SubscribeRequest,
  ): SubscribeAnswer | Promise<SubscribeAnswer>;
  /**
   * Called when a client wants to publish in a channel whose terms have `clients.publish`. False denies it, and `{ data }`
   * publishes something else.
   *
   * @param channel the channel's name; bytes if it is not UTF-8
   * @param data a string or bytes, as the client sent it
   */
  handlePublish?(
    channel: Name,
    data: string | Uint8Array,
    socketId: number,
    token?: Token,
  ): PublishAnswer | Promise<PublishAnswer>;
  /**
   * Called when a client calls a method. The client gets what it returns: text and bytes as they are, other values as JSON,
   * and nothing for undefined. Several calls of a client may be pending at once.
   *
   * @param params a string or bytes, as the client sent it; `millrace/client` sends everything but bytes as JSON
   */
  handleCall?(method: string, params: string | Uint8Array, socketId: number, token?: Token): unknown;
}
