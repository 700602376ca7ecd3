/** The options of a listener that speaks RESP, and the plan that the native side gets. Types only. */

/** Options of a listener with `protocol: 'resp'`. */
export interface RespOptions {
  /** The Redis protocol, for clients of Redis that publish, subscribe and use the keys. */
  protocol: 'resp';
  /** The password of the user `default`, who may do everything. Without it and without `users`, nobody is asked for one. */
  password?: string;
  /** Users with what they may do. */
  users?: RespUser[];
  /**
   * What WebSocket clients receive of what is published with `PUBLISH`: `'auto'` (default) is a text where it is valid
   * UTF-8, else binary; with `'text'` other bytes are refused.
   */
  publishAs?: 'auto' | 'text' | 'binary';
  /**
   * Whether to listen without any password where other machines can connect. Default false: without `password` and
   * `users` the address has to be one of loopback, or a unix socket.
   */
  allowAnyone?: boolean;
}

/** A user of a listener with `protocol: 'resp'`. */
export interface RespUser {
  /** Given with `AUTH name password`. */
  name: string;
  /** Given with it, and not empty. */
  password: string;
  /**
   * Patterns, as in `PSUBSCRIBE`, of the channels that the user may publish to and subscribe to. The user may subscribe to
   * a pattern only if it is one of these. Default: all.
   */
  channels?: string[];
  /** Patterns of the keys that the user may read and write. Default: all. */
  keys?: string[];
  /** Names of the commands that the user may use: `'publish'`, `'client'`, `'client|id'`. Default: all. */
  commands?: string[];
}

/** What the native side is told. */
export interface RespPlan {
  password?: string;
  users: RespUser[];
  publishAs: 'auto' | 'text' | 'binary';
}
