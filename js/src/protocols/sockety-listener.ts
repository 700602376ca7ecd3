/** The options and handlers of a listener for Sockety, and the plan that the native side gets. Types only. */

import type { Message } from '../sockety/sockety-connection.js';

/** Options of a listener with `protocol: 'sockety'`. */
export interface SocketyOptions {
  /** Messages and responses of Sockety over TCP, a unix socket or TLS. */
  protocol: 'sockety';
  /**
   * What a publication, and what is sent to a socket, looks like: a message. With `'message'` its data is MessagePack: an array
   * of the channel, or nil for what was sent to the socket itself, the payload, and the pattern, if the client is subscribed to
   * one. With `'raw'` its data is the payload. Default `'message'`.
   */
  publishForm?: SocketyPublishForm;
  /** The action of such a message: at most 1024 bytes of UTF-8. Default `'publish'`. */
  publishAction?: string;
  /** Messages that a client may have under way at the same time, each on a channel of the wire: 1 to 4096. Default 4096. */
  maxReceivedChannels?: number;
  /** Messages that are sent to a client at the same time, at most: 1 to 4096. Default 4096. */
  maxWritableChannels?: number;
  /**
   * Whether a channel on which a message to the client was given up is used again. Where the client is sockety-js, that ends its
   * process; Millrace frees such channels. Default false: only once the client has given up one of its own, as sockety-js never does.
   */
  reuseAbortedChannels?: boolean;
  /** Whether files may have other sizes than were announced. Default false: that closes the connection. */
  allowFilesSizeMismatch?: boolean;
  /** Whether clients are told before the gateway closes a connection. Default true. */
  sendGoAway?: boolean;
}

/** What a publication looks like. */
export type SocketyPublishForm = 'message' | 'raw';

/** Handlers of a worker module for listeners with `protocol: 'sockety'`. */
export interface SocketyHandlers<Token = Uint8Array> {
  /**
   * A message of Sockety has begun. Messages of one connection come in order, but the next one does not wait for a promise: a
   * handler may wait for answers. Contents that nobody asked for when the handler is done are dropped. Without this handler a
   * message closes its connection with 1011.
   */
  handleSocketyMessage?(message: Message, socketId: number, token?: Token): void | Promise<void>;
}

/** What the native side is told. */
export type SocketyPlan = Omit<SocketyOptions, 'protocol'>;
