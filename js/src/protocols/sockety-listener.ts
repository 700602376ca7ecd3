/** The options and handlers of a listener for Sockety, and the plan that the native side gets. Types only. */

import type { Message } from '../sockety/sockety-connection.js';

/** Options of a listener with `protocol: 'sockety'`. */
export interface SocketyOptions {
  /** Messages and responses of Sockety over TCP, a unix socket or TLS. */
  protocol: 'sockety';
  /**
   * The form of publications and of what is sent to a socket. With `'message'` each is a message whose data is a
   * MessagePack array: the channel (nil for data that was sent to the socket itself), the payload, and the pattern if
   * the client is subscribed to one. With `'raw'` the data is the payload alone. Default `'message'`.
   */
  publishForm?: SocketyPublishForm;
  /** The action of these messages: at most 1024 bytes of UTF-8. Default `'publish'`. */
  publishAction?: string;
  /**
   * How many messages a client may send at the same time, each on its own channel of the connection: 1 to 4096. Default
   * 4096.
   */
  maxReceivedChannels?: number;
  /** How many messages are sent to a client at the same time: 1 to 4096. Default 4096. */
  maxWritableChannels?: number;
  /**
   * Whether a channel on which a message to the client was aborted is used again. If the client is sockety-js, that
   * ends its process; Millrace as a client frees such channels. Default false: the channel is used again only after the
   * client has aborted a message itself, which sockety-js never does.
   */
  reuseAbortedChannels?: boolean;
  /**
   * Whether the size of a file may differ from the announced size. Default false: such a file closes the connection.
   */
  allowFilesSizeMismatch?: boolean;
  /** Whether the gateway announces to clients that it is going to close a connection. Default true. */
  sendGoAway?: boolean;
}

/** The form of publications: see `publishForm`. */
export type SocketyPublishForm = 'message' | 'raw';

/** Handlers of a worker module for listeners with `protocol: 'sockety'`. */
export interface SocketyHandlers<Token = Uint8Array> {
  /**
   * Called when a message of Sockety begins. Messages of one connection come in order, but the next one does not wait
   * for a promise, so a handler may wait for answers. Contents that were not requested when the handler is done are
   * dropped. Without this handler, a message closes its connection with 1011.
   */
  handleSocketyMessage?(message: Message, socketId: number, token?: Token): void | Promise<void>;
}

/** The options in the form of the native side. */
export type SocketyPlan = Omit<SocketyOptions, 'protocol'>;
